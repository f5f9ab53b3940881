package main

import (
	"testing"
	"time"

	"github.com/axishost/axishost/host/stats"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStatsOfADamagedStore: a task that is damaged is named, the others are counted, and the exit code says so.
func TestStatsOfADamagedStore(t *testing.T) {
	s := newShell(t)
	wholeStore(s, 2)
	log, err := pebblestore.Open(s.path("whole"), pebblestore.Options{})
	require.NoError(t, err)
	heads, err := log.List(t.Context(), store.Query{Before: "~", Last: 1})
	require.NoError(t, err)
	head := heads[0]
	a := store.Append{Task: head.Task, Expected: head.Last, Fence: head.Fence, Records: [][]byte{[]byte("garbage")}, Index: head.Index, Label: head.Label}
	require.NoError(t, log.Commit(t.Context(), store.Commit{Appends: []store.Append{a}}))
	require.NoError(t, log.Close())

	text := s.run("stats --store whole")
	text.refused(exitStore, `^not counted, since damaged: 1 task; .*axishost doctor.*restore`)
	assert.Contains(t, text.out, "tasks         1: ended 1\n")
	assert.Regexp(t, `(?m)^damage   task `+head.Task+` event [0-9]+: `, text.out)
	object := s.run("stats --json --store whole")
	object.refused(exitStore, `^not counted`)
	assert.Regexp(t, `^\{"tasks":\{"all":1,.*"damage":\[\{"task":"`+head.Task+`","seq":[0-9]+,"what":"event .*"\}\]\}\n$`, object.out)
}

func TestFigures(t *testing.T) {
	for micros, want := range map[int64]string{
		0: "0.0 ms", 1_500: "1.5 ms", 9_900: "9.9 ms", 10_000: "10 ms", 999_999: "999 ms", 1_000_000: "1.0 s",
		59_940_000: "59.9 s", 3_723_400_000: "1h2m3s",
	} {
		assert.Equal(t, want, took(micros), time.Duration(micros)*time.Microsecond)
	}
	assert.Equal(t, ": b 3, - 1, a 1, c 1", each(stats.Counts{"a": 1, "b": 3, "c": 1, "": 1}))
	assert.Equal(t, `: a\x1b[2J 1`, each(stats.Counts{"a\x1b[2J": 1}))
	assert.Empty(t, each(nil)+facts(fact{"none", 0})+share(nil)+figure("none", 0, ": a"))
	assert.Equal(t, ": two 2", facts(fact{"one", 0}, fact{"two", 2}))
	assert.Equal(t, "denied        3: first 1,\n              second 2,\n              third 3\n",
		wrapFigures("denied        3: first 1, second 2, third 3\n", 26))
	assert.Equal(t, "  1\n", wrapFigures("  1\n", 2))
	assert.Equal(t, "a-word-that-is-too-long\n", wrapFigures("a-word-that-is-too-long\n", 5))
	assert.Empty(t, aligned([][]string{{"HEADER", "ALONE"}}, 9))
}
