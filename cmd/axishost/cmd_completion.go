package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addCompletion adds cobra's command for completions, which knows its own arguments no better than to show its
// help for a shell that there is no script for.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Short = "Print the completion script of a shell"
		cmd.Long = "completion prints the script that makes a shell complete commands, flags and tasks; each shell's command says how to use it." + exitHelp(exitSucceeded, exitUsage)
		cmd.Example = "  source <(axishost completion bash)\n  axishost completion fish | source"
		cmd.Args, cmd.RunE = cobra.ArbitraryArgs, group
		for _, shell := range cmd.Commands() {
			shell.Short = "Print the completion script of " + shell.Name()
			shell.Args = none
			shell.Long = strings.NewReplacer("#### ", "", "\t", "    ").Replace(strings.TrimSpace(shell.Long)) + exitHelp(exitSucceeded, exitUsage)
			shell.Example = "  axishost completion " + shell.Name() + " >" + map[string]string{
				"bash": "~/.local/share/bash-completion/completions/axishost", "zsh": "~/.zsh/completions/_axishost",
				"fish": "~/.config/fish/completions/axishost.fish", "powershell": "axishost.ps1",
			}[shell.Name()]
		}
	}
}

// plainUsage takes the back quotes out of the descriptions of flags. In help they mark what a value is called;
// completions show the descriptions as they are.
func plainUsage(cmd *cobra.Command) {
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	cmd.Flags().VisitAll(plain)
	cmd.PersistentFlags().VisitAll(plain)
	for _, c := range cmd.Commands() {
		plainUsage(c)
	}
}

// completes tells whether a shell asks what could come next.
func completes(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// helpCommand is cobra's, which takes a command that there is not for no error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show a command's help",
		Long:  "help shows the help of a command, as --help does." + exitHelp(exitSucceeded, exitUsage),
		Example: `  axishost help
  axishost help tasks list`,
		ValidArgsFunction: completeCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return group(found, rest)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

func completeCommand(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, c := range found.Commands() {
		if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), prefix) {
			names = append(names, c.Name()+"\t"+c.Short)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
