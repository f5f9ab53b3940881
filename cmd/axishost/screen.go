package main

import (
	"io"
	"os"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
	"golang.org/x/text/unicode/bidi"
)

// screen is what a line is laid out for. The zero value is a file or a pipe, whose reader wants the whole line,
// and nothing in it that only a terminal understands.
type screen struct {
	terminal bool
	columns  int // 0: lines are not cut
}

// minColumns is the least that a line is cut to: in less there is nothing to read.
const minColumns = 20

func screenOf(w io.Writer) screen {
	if !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		return screen{}
	}
	s := screen{terminal: true}
	if columns, _, err := term.GetSize(int(w.(interface{ Fd() uintptr }).Fd())); err == nil && columns > 0 {
		s.columns = max(columns, minColumns)
	}
	return s
}

// whole is the same screen with lines that are not cut.
func (s screen) whole() screen { return screen{terminal: s.terminal} }

// fit makes a line, or the cell of one, such that it stays where it is put: cut to what there is room for, and
// with text from right to left kept apart from the rest.
func (s screen) fit(line string) string {
	if s.columns > 0 {
		line = cut(line, s.columns)
	}
	if s.terminal {
		line = isolate(line)
	}
	return line
}

// width is how many columns a text takes. It is printable already, and mostly ASCII.
func width(s string) int {
	if isASCII(s) {
		return len(s)
	}
	return uniseg.StringWidth(s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// cut leaves of a text what goes into so many columns, with an ellipsis where something is gone.
func cut(s string, columns int) string {
	if width(s) <= columns {
		return s
	}
	kept, used, state := 0, 0, -1
	for rest := s; rest != ""; {
		var cluster string
		var wide int
		cluster, rest, wide, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used+wide > columns-1 {
			break
		}
		used += wide
		kept += len(cluster)
	}
	return s[:kept] + "…"
}

// isolate puts each stretch of text from right to left between the characters that Unicode has for that
// (FSI and PDI), so that a terminal that reorders such text cannot take the numbers and words beside it along:
// a goal in Hebrew before a count would else turn the count over.
func isolate(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	done, from, to := 0, -1, 0
	end := func() {
		if from >= 0 {
			b.WriteString(s[done:from] + "\u2068" + s[from:to] + "\u2069")
			done, from = to, -1
		}
	}
	for i, r := range s {
		p, n := bidi.LookupRune(r)
		switch p.Class() {
		case bidi.R, bidi.AL, bidi.AN:
			if from < 0 {
				from = i
			}
			to = i + n
		case bidi.NSM: // belongs to the letter before it
			if from >= 0 && to == i {
				to = i + n
			}
		case bidi.L:
			end()
		}
	}
	end()
	return b.String() + s[done:]
}
