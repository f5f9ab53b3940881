package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWrapHelp(t *testing.T) {
	const text = `one two
three four five

Title:
  KEY    what it is and more of it
  OTHER  short

end`
	assert.Equal(t, `one two three four
five

Title:
  KEY    what it
         is and
         more of
         it
  OTHER  short

end`, wrapHelp(text, 18))
	assert.Equal(t, "a-word-that-is-too-long\nfor it", wrapHelp("a-word-that-is-too-long for it", 10))
}

// TestHelpIsNoWiderThanItMay: nothing but examples and usage lines, which are to be copied, is wider than what help
// is wrapped to, and nothing is lost.
func TestHelpIsNoWiderThanItMay(t *testing.T) {
	root := newRoot(&terminal{})
	for _, cmd := range documented(root) {
		for _, columns := range []int{40, helpColumns, maxHelpColumns} {
			text := helpText(cmd, columns)
			for line := range strings.Lines(strings.Replace(text, cmd.Example, "", 1)) {
				line = strings.TrimSuffix(line, "\n")
				if columns >= helpColumns && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "  axishost") {
					assert.LessOrEqual(t, width(line), columns, "%s: %q", cmd.CommandPath(), line)
				}
			}
			assert.Equal(t, strings.Fields(cmd.Long), strings.Fields(text)[:len(strings.Fields(cmd.Long))])
			assert.Contains(t, text, cmd.Example)
		}
	}
}
