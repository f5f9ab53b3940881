package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// runLine is the command line of a run again, with another model.
func (a *app) runLine(f *runFlags, model, task string) string {
	words := append([]string{a.program(), "run"}, a.globalWords()...)
	if f.recipe != "" {
		words = append(words, "--recipe", f.recipe)
	}
	for _, t := range f.tools {
		words = append(words, "--tool", t)
	}
	for _, grant := range f.allow {
		words = append(words, "--allow", grant)
	}
	if f.key != "" {
		words = append(words, "--key", f.key)
	}
	words = append(append(words, f.proof.words()...), "--model", model)
	if f.config != "" {
		words = append(words, "--config", f.config)
	}
	for _, s := range f.sets {
		words = append(words, "--set", s)
	}
	if strings.HasPrefix(task, "-") && task != "-" {
		words = append(words, "--")
	}
	return shellLine(append(words, task))
}

// resumeLine is the command line that goes on with a task. What the task has not pinned goes with it: where
// its model is. An address with a password in it does not, for the line may end up in a log.
func (a *app) resumeLine(f *modelFlags, id string) string {
	words := append([]string{a.anywhereProgram(), "resume"}, a.anywhereWords()...)
	if config := f.config; config != "" {
		words = append(words, "--config", absolute(config))
	} else if config = os.Getenv("AXISHOST_CONFIG"); config != "" && !filepath.IsAbs(config) {
		words = append(words, "--config", absolute(config))
	}
	if f.another && f.model != "" {
		words = append(words, "--model", pinnedName(f.model))
	}
	for _, s := range f.sets {
		named := f.another && strings.HasPrefix(s, "model.name=")
		if named || strings.HasPrefix(s, "model.base_url=") && !strings.Contains(s, "@") {
			words = append(words, "--set", s)
		}
	}
	return shellLine(append(words, id))
}

// globalWords are the global flags as they were given.
func (a *app) globalWords() []string { return a.global(a.storeDir) }

// anywhereWords are the global flags so that they mean the same in another directory.
func (a *app) anywhereWords() []string {
	dir := a.storeDir
	if env := os.Getenv("AXISHOST_STORE"); dir == "" && !filepath.IsAbs(env) {
		dir = env
	}
	if dir == "" {
		return a.global("")
	}
	return a.global(absolute(dir))
}

func (a *app) global(storeDir string) []string {
	var words []string
	if storeDir != "" {
		words = append(words, "--store", storeDir)
	}
	if a.json {
		words = append(words, "--json")
	}
	return words
}

// anywhereProgram is the program so that it is found from another directory.
func (a *app) anywhereProgram() string {
	if name := a.program(); strings.ContainsRune(name, os.PathSeparator) {
		return absolute(name)
	}
	return a.program()
}

// absolute makes a path one that means the same in every directory: a line that is printed may be called from
// another one.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellQuote(w)
	}
	return strings.Join(quoted, " ")
}

// shellQuote writes a word as a shell reads it back, on one line and without a character that a terminal
// would act upon.
func shellQuote(s string) string {
	plain, printable := s != "", utf8.ValidString(s)
	for _, r := range s {
		plain = plain && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@,+=", r)
		printable = printable && unicode.IsPrint(r)
	}
	switch {
	case plain:
		return s
	case printable:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	default:
		return ansiQuote(s)
	}
}

// ansiQuote writes a word as $'...' has it, which bash, zsh and ksh read.
func ansiQuote(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
			b.WriteRune(r)
		case r < 0x80 || n == 1: // three digits always, so that one that follows is not taken for a fourth
			fmt.Fprintf(&b, `\%03o`, s[0])
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		s = s[n:]
	}
	b.WriteByte('\'')
	return b.String()
}
