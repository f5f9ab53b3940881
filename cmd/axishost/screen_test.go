package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/axishost/axishost/host"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "größe": 5, "首都": 4, "🙂": 2, "👍🏽": 2, "🇩🇪": 2, "e\u0301": 1, "שלום": 4, "…": 1,
	} {
		assert.Equal(t, want, width(text), "%q", text)
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text    string
		columns int
		want    string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcd…"},
		{"首都北京", 8, "首都北京"},
		{"首都北京", 7, "首都北…"},
		{"首都北京", 6, "首都…"}, // not half a character
		{"ae\u0301e\u0301e\u0301", 3, "ae\u0301…"},
		{"🙂🙂", 1, "…"},
		{"abc", 1, "…"},
	} {
		assert.Equal(t, test.want, cut(test.text, test.columns), "%q in %d", test.text, test.columns)
		assert.LessOrEqual(t, width(cut(test.text, test.columns)), test.columns)
	}
}

// TestIsolate: what stands beside text from right to left stays where it is.
func TestIsolate(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                "plain",
		"首都 größe":             "首都 größe",
		"goal שלום עולם 12":    "goal <שלום עולם> 12",
		"שלום in 5 ms: مرحبا!": "<שלום> in 5 ms: <مرحبا>!",
		"שָׁ, x":               "<שָׁ>, x",
		"a ٣٤ b":               "a <٣٤> b",
		"\\u202e is no letter": "\\u202e is no letter",
	} {
		got := isolate(text)
		assert.Equal(t, want, strings.NewReplacer("\u2068", "<", "\u2069", ">").Replace(got))
		assert.Equal(t, width(text), width(got), "isolation takes no room")
	}
}

// TestTableOnATerminal: whatever is in the cells, columns stand below each other, and no line is longer than
// the terminal is wide.
func TestTableOnATerminal(t *testing.T) {
	tasks := []host.Summary{
		{ID: "01m8ppees35bkwnnfn4ty7n7ec", Phase: "succeeded", Model: "gpt-4o", Task: "a task"},
		{ID: "01m8ppees35bkwnnfn4ty7n7ed", Phase: "failed", Model: "模型🙂", Task: "首都是哪里？🙂"},
		{ID: "01m8ppees35bkwnnfn4ty7n7ee", Phase: "failed", Recipe: "boxed", Model: "דגם", Task: "שלום עולם 12"},
	}
	print := func(s screen) []string {
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		table := &table{screen: s, models: map[string]cell{}}
		for i := range tasks {
			table.measure(table.row(&tasks[i]))
		}
		table.choose()
		for i := range tasks {
			table.write(w, table.row(&tasks[i]))
		}
		_ = w.Flush()
		return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	}
	whole := print(screen{})
	for i, line := range whole {
		assert.Equal(t, width(whole[0])-width("a task"), width(line)-width(tasks[i].Task), "%q", line)
		assert.NotContains(t, line, "\u2068", "in a pipe nothing is added")
	}
	for columns := minColumns; columns < 100; columns++ {
		for _, line := range print(screen{terminal: true, columns: columns}) {
			assert.LessOrEqual(t, width(line), columns, "%q", line)
			assert.Equal(t, strings.Count(line, "\u2068"), strings.Count(line, "\u2069"), "%q", line)
		}
	}
	for columns, want := range map[int]string{
		// The id is 26 columns wide, the phase 9, the time 19, the recipe 5 and the model 6.
		20: "01m8ppees35bkwnnfn4…",
		40: "01m8ppees35bkwnnfn4ty7n7ec  succeeded  …",
		63: "01m8ppees35bkwnnfn4ty7n7ec  succeeded  a task",
		84: "01m8ppees35bkwnnfn4ty7n7ec  succeeded  1970-01-01T00:00:00  a task",
		91: "01m8ppees35bkwnnfn4ty7n7ec  succeeded  1970-01-01T00:00:00  -      a task",
		99: "01m8ppees35bkwnnfn4ty7n7ec  succeeded  1970-01-01T00:00:00  -      gpt-4o  a task",
	} {
		assert.Equal(t, want, print(screen{terminal: true, columns: columns})[0], "%d", columns)
	}
	assert.Contains(t, print(screen{terminal: true})[2], "\u2068דגם\u2069")
}
