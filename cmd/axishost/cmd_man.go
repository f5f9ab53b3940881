package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a directory",
		Long: `man writes a manual page for each command into DIR, which it makes where it is missing: axishost.1,
axishost-run.1 and so on. They say what --help says, and are the same bytes on every day and machine. With --json it
prints an array of the names of the files.` + exitHelp(exitSucceeded, exitUsage),
		Example: `  axishost man ~/.local/share/man/man1
  axishost man man && man ./man/axishost-run.1`,
		Args: one("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.man(cmd.Root(), args[0]) },
	}
}

func (a *app) man(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usage(fmt.Errorf("directory %s cannot be made: %w", dir, cause(err)))
	}
	written := []string{}
	for _, cmd := range documented(root) {
		name := pageName(cmd) + ".1"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(manPage(cmd)), 0o644); err != nil {
			return writingError(filepath.Join(dir, name), err)
		}
		written = append(written, name)
	}
	if a.json {
		return a.printJSON(written)
	}
	fmt.Fprintf(a.err, "%s in %s\n", count(len(written), "manual page"), dir)
	return nil
}

// documented gives a command and those below it, but for help, which explains itself.
func documented(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			all = append(all, documented(c)...)
		}
	}
	return all
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage writes a command's page. It is written by hand: what cobra brings for it goes through Markdown, which
// runs the lists of exit codes and of the environment together, puts a date in, and takes three more modules.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	name := pageName(cmd)
	fmt.Fprintf(&b, ".TH %s 1 \"\" axishost axishost\n", roff(strings.ToUpper(name)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", roffLine(cmd.UseLine()))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, ".br\n%s\n", roffLine(cmd.CommandPath()+" COMMAND"))
	}
	description, exits, _ := strings.Cut(cmd.Long, "\n\nExit codes:\n")
	description, environment, _ := strings.Cut(description, "\n\nEnvironment:\n")
	b.WriteString(".SH DESCRIPTION\n")
	paragraphs(&b, description)
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range documented(cmd)[1:] {
			if c.Parent() == cmd {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(c.Name()), roffLine(c.Short))
			}
		}
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	options(&b, "OPTIONS", cmd.NonInheritedFlags())
	options(&b, "GLOBAL OPTIONS", cmd.InheritedFlags())
	literal(&b, "EXAMPLES", cmd.Example)
	variables(&b, environment)
	literal(&b, "EXIT STATUS", exits)
	also := neighbours(cmd)
	fmt.Fprintf(&b, ".SH SEE ALSO\n")
	for i, page := range also {
		fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(page), []string{",", ""}[max(0, i-len(also)+2)])
	}
	return b.String()
}

// neighbours are the pages of the command above, of those below, and of those beside.
func neighbours(cmd *cobra.Command) []string {
	around := cmd.Commands()
	if cmd.HasParent() {
		around = append(append(around, cmd.Parent()), cmd.Parent().Commands()...)
	}
	var also []string
	for _, c := range around {
		if c != cmd && (c.IsAvailableCommand() || !c.HasParent()) && c.Name() != "help" {
			also = append(also, pageName(c))
		}
	}
	slices.Sort(also)
	return also
}

// variables writes the lines of the environment, a name and what it is for.
func variables(b *strings.Builder, lines string) {
	if lines == "" {
		return
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for line := range strings.Lines(lines) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(name), roffLine(strings.TrimSpace(text)))
	}
}

// paragraphs writes text as it stands in --help: lines that are indented keep their form.
func paragraphs(b *strings.Builder, text string) {
	kept := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case indented && !kept:
			b.WriteString(".PP\n.EX\n")
		case !indented && kept:
			b.WriteString(".EE\n")
		}
		kept = indented
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roffLine(line) + "\n")
	}
	if kept {
		b.WriteString(".EE\n")
	}
}

func literal(b *strings.Builder, title, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(b, ".SH %s\n.EX\n", title)
	for line := range strings.Lines(text) {
		b.WriteString(roffLine(strings.TrimSuffix(line, "\n")) + "\n")
	}
	b.WriteString(".EE\n")
}

func options(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value, text := pflag.UnquoteUsage(f)
		if value != "" {
			value = " " + value
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR%s\n%s\n", roff(name), roff(value), roffLine(text))
	})
}

// roff escapes what the formatter would act upon. Dashes are to be found and copied as dashes.
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
}

// roffLine escapes a line, which is no request, whatever it begins with.
func roffLine(line string) string {
	if strings.HasPrefix(line, ".") {
		return `\&` + roff(line)
	}
	return roff(line)
}
