package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// What help is wrapped to: the terminal's width, which it does not fill where that is more than is read at ease.
const (
	helpColumns    = 80 // where there is no terminal
	maxHelpColumns = 100
)

func helpWidth(w io.Writer) int {
	if s := screenOf(w); s.columns > 0 {
		return min(s.columns, maxHelpColumns)
	}
	return helpColumns
}

// showHelp is cobra's help, wrapped. Examples are not: they are to be copied.
func (a *app) showHelp(cmd *cobra.Command, _ []string) {
	fmt.Fprint(a.out, helpText(cmd, helpWidth(a.out)))
}

func helpText(cmd *cobra.Command, columns int) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	b.WriteString(wrapHelp(cmd.Long, columns))
	fmt.Fprintf(&b, "\n\nUsage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				b.WriteString(wrapLine(fmt.Sprintf("  %-*s %s", c.NamePadding(), c.Name(), c.Short), columns) + "\n")
			}
		}
	}
	if cmd.HasAvailableLocalFlags() {
		b.WriteString("\nFlags:\n" + cmd.LocalFlags().FlagUsagesWrapped(columns))
	}
	if cmd.HasAvailableInheritedFlags() {
		b.WriteString("\nGlobal Flags:\n" + cmd.InheritedFlags().FlagUsagesWrapped(columns))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n" + wrapHelp(fmt.Sprintf("Use %q for more about a command.", cmd.CommandPath()+" [command] --help"), columns) + "\n")
	}
	return b.String()
}

// wrapHelp fills paragraphs to so many columns. Lines that are indented stand by themselves, and go on below their
// last column.
func wrapHelp(text string, columns int) string {
	var out, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, wrapLine(strings.Join(paragraph, " "), columns))
			paragraph = nil
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		switch {
		case line == "":
			end()
			out = append(out, "")
		case strings.HasPrefix(line, " "):
			end()
			out = append(out, wrapLine(line, columns))
		default:
			paragraph = append(paragraph, line)
		}
	}
	end()
	return strings.Join(out, "\n")
}

// wrapLine breaks a line between words. What follows is indented as the text that comes after its last gap.
func wrapLine(line string, columns int) string {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if at := strings.LastIndex(line, "  "); at >= 0 && at < columns/2 {
		indent = at + 2
	}
	var lines []string
	current, words := line[:indent], strings.Fields(line[indent:])
	for i, word := range words {
		gap := " "
		if i == 0 || current == strings.Repeat(" ", indent) {
			gap = ""
		}
		if gap != "" && width(current)+1+width(word) > columns {
			lines = append(lines, current)
			current, gap = strings.Repeat(" ", indent), ""
		}
		current += gap + word
	}
	return strings.Join(slices.Concat(lines, []string{current}), "\n")
}
