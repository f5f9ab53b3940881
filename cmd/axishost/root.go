package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/axishost/axishost/host/config"
	"github.com/spf13/cobra"
)

// app is what all commands share.
type app struct {
	*terminal
	storeDir string
	json     bool
	told     level // how much is told beside results and errors
}

func newRoot(t *terminal) *cobra.Command {
	a := &app{terminal: t}
	root := &cobra.Command{
		Use:   "axishost",
		Short: "Run long-horizon AI agents as bounded, recoverable, auditable execution",
		Long: `axishost runs an AI agent as an explicit state machine over an append-only log. What is particular to
one kind of agent is a recipe: a WebAssembly module, run in a sandbox.

Environment:
  OPENAI_API_KEY       key of the model's endpoint; it is taken from here only, and never stored
  OPENAI_BASE_URL      address of the endpoint, with its /v1
  OPENAI_MODEL         the model that is asked
  AXISHOST_STORE       directory of the event log
  AXISHOST_STORE_WAIT  how long to wait for another process that has it (default 20s)
  AXISHOST_KEY_FILE    key file that the event log is encrypted with (axishost keygen)
  AXISHOST_CACHE       directory of compiled plugins
  AXISHOST_CONFIG      configuration file
  AXISHOST_<KEY>       one of the configuration's keys, its dots as underscores: AXISHOST_CONVERSATION_MAX_TURNS=20
  XDG_DATA_HOME        where the event log is kept, in axishost, unless AXISHOST_STORE says so (default ~/.local/share)
  XDG_CACHE_HOME       where compiled plugins are kept, in axishost/plugins, unless AXISHOST_CACHE says so (default ~/.cache)
  NO_COLOR             not empty: no colour on a terminal` + exitHelp(allExits()...),
		Example: `  axishost run --recipe boxed.wasm --tool calc.wasm "What is 17 * 23?"
  axishost tasks list
  axishost tasks show last`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // RunE says what is wrong with them
		RunE:          group,
	}
	root.SetVersionTemplate(versionLine())
	root.SetIn(t.in)
	root.SetOut(t.out)
	root.SetErr(t.err)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&a.storeDir, "store", "", "`directory` of the event log (default $AXISHOST_STORE, $XDG_DATA_HOME/axishost, ~/.local/share/axishost)")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print results as JSON, for machines")
	_ = root.MarkPersistentFlagDirname("store")
	root.AddCommand(a.runCommand(), a.resumeCommand(), a.approveCommand(), a.tasksCommand(), a.statsCommand(), a.doctorCommand(), a.keygenCommand(), a.pluginCommand(), a.abiCommand(), a.manCommand(), a.versionCommand())
	root.SetHelpCommand(helpCommand())
	root.SetHelpFunc(a.showHelp)
	addCompletion(root)
	return root
}

// group is a command that only has commands below it: it shows them, and knows no other.
func group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	text := fmt.Sprintf("unknown command %q; ", args[0])
	if near := nearCommand(cmd, args[0]); near != "" {
		text += "did you mean " + near + "? "
	}
	return usage(errors.New(text + "see " + cmd.CommandPath() + " --help"))
}

// nearCommand gives the command below cmd that was meant, probably: one that the word begins, or that is spelled
// nearly so; empty when there is none.
func nearCommand(cmd *cobra.Command, word string) string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		if word != "" && strings.HasPrefix(c.Name(), word) {
			return c.Name()
		}
		names = append(names, c.Name())
	}
	return config.Near(word, names)
}

// one makes an argument check for a command that takes one argument, called name.
func one(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usage(fmt.Errorf("%s is missing; usage: %s", name, cmd.UseLine()))
		case len(args) > 1:
			quotes := ""
			if cmd.Name() == "run" {
				quotes = ": put it in quotes"
			}
			return usage(fmt.Errorf("there is one %s, and %d arguments were given%s; usage: %s", name, len(args), quotes, cmd.UseLine()))
		}
		return nil
	}
}

// some makes an argument check for a command that takes one argument or more, called name.
func some(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(fmt.Errorf("%s is missing; usage: %s", name, cmd.UseLine()))
		}
		return nil
	}
}

// none is the argument check of a command that takes no arguments.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("%s takes no arguments, and got %q; usage: %s", cmd.CommandPath(), args[0], cmd.UseLine()))
	}
	return nil
}

// directory of the event log.
func (a *app) storePath() (string, error) {
	if a.storeDir != "" {
		return a.storeDir, nil
	}
	if dir := os.Getenv("AXISHOST_STORE"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "axishost"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", usage(errors.New("there is no home directory to keep the event log in: set --store or AXISHOST_STORE"))
	}
	return filepath.Join(home, ".local", "share", "axishost"), nil
}

// cachePath is the directory of compiled plugins; empty keeps them in memory.
func cachePath() string {
	if dir := os.Getenv("AXISHOST_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "axishost", "plugins")
}
