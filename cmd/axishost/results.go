package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/axishost/axishost/plugins"
	"golang.org/x/term"
)

// results is standard output. It remembers the first write that did not work, so that a full disk is an
// error of every command without each of them asking after each line.
type results struct {
	file *os.File
	err  error
}

func (r *results) Write(b []byte) (int, error) {
	n, err := r.file.Write(b)
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("writing the result: %w", err)
	}
	return n, err
}

// Fd is the file's descriptor.
func (r *results) Fd() uintptr { return r.file.Fd() }

func isTerminal(w io.Writer) bool {
	f, isFile := w.(interface{ Fd() uintptr })
	return isFile && term.IsTerminal(int(f.Fd()))
}

// printAnswer writes a task's answer: the very bytes for a program or a file that reads them; on a terminal
// with control characters escaped, since a model may have been talked into any of them.
func (a *app) printAnswer(answer string) {
	if isTerminal(a.out) {
		answer = strings.Join(printableLines(answer), "\n")
	}
	fmt.Fprintln(a.out, strings.TrimSuffix(answer, "\n"))
}

// printableLines makes foreign text of several lines fit to be shown.
func printableLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		cells := strings.Split(strings.TrimSuffix(line, "\r"), "\t") // tabs do no harm
		for n, cell := range cells {
			cells[n] = plugins.Printable(cell, len(cell))
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return lines
}

// printJSON writes a value as one line of JSON.
func (a *app) printJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	a.printLine(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return nil
}

// printLine writes a line of JSON. Control and formatting characters are written as JSON's own escapes, which
// mean the same to what parses them and nothing to a terminal.
func (a *app) printLine(line []byte) {
	var out strings.Builder
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		switch {
		case unicode.IsPrint(r):
			out.Write(line[:n])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		line = line[n:]
	}
	fmt.Fprintln(a.out, out.String())
}
