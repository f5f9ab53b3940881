// Package yamldepth bounds how deep a YAML text is nested, before it is parsed.
package yamldepth

import (
	"bytes"
	"fmt"
)

// Max is how deep a text may be nested, brackets and indentation together. The YAML library's memory grows with
// the square of it (40 kB of brackets took 667 MB), and no configuration or script comes near.
const Max = 500

// Check returns an error for a text that is nested deeper than [Max].
func Check(text []byte) error {
	if depth(text) > Max {
		return fmt.Errorf("nested deeper than %d", Max)
	}
	return nil
}

// depth estimates how deep YAML is nested, from above: open brackets, and indentation with the marks of lists
// and keys in it.
func depth(text []byte) int {
	most, open := 0, 0
	for line := range bytes.Lines(text) {
		most = max(most, len(line)-len(bytes.TrimLeft(line, " -?\t")))
		for _, c := range line {
			switch c {
			case '[', '{':
				open++
				most = max(most, open)
			case ']', '}':
				open = max(0, open-1)
			}
		}
	}
	return most
}
