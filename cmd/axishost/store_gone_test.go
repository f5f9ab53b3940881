package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStoreRemovedDuringRun: the directory goes while a task is being run. What runs ends, in whatever way: with
// its answer, or with one line.
func TestStoreRemovedDuringRun(t *testing.T) {
	s := newShell(t)
	ended, _, answer := s.hanging("run --model m one --store store")
	require.NoError(t, os.RemoveAll(s.path("store")))
	answer()
	s.endsSomehow(ended())
	s.succeeds("tasks list --store store")

	// The same with a second run, which has the store from the first.
	ended, _, answer = s.hanging("run --model m one --store other")
	second, _, answerSecond := s.hanging("run --model m two --store other")
	require.NoError(t, os.RemoveAll(s.path("other")))
	answer()
	s.endsSomehow(ended())
	answerSecond()
	s.endsSomehow(second())
}

// endsSomehow checks that a command whose store went away succeeded or was refused.
func (s *shell) endsSomehow(r said) {
	s.t.Helper()
	require.NotRegexp(s.t, innards, r.err)
	if r.code != 0 {
		r.refused(exitStore, ".")
	}
}
