package main

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	concurrentLists = flag.Int("concurrent.n", 100, "processes of TestConcurrentLists")
	concurrentRuns  = flag.Int("concurrent.runs", 50, "processes of TestConcurrentRuns")
)

// all starts so many commands at the same time, and gives what they did.
func (s *shell) all(n int, words func(i int) string) []said {
	done := make([]said, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { done[i] = s.start(words(i)) })
	}
	running.Wait()
	return done
}

// TestConcurrentLists: very many processes read one store at the same time, while no other has it and while a
// task is being run. Each gets the whole list.
func TestConcurrentLists(t *testing.T) {
	s := newShell(t)
	s.succeeds("run --model script:one.yaml one --store store")
	s.succeeds("run --model script:one.yaml two --store store")
	lists := func(tasks int) {
		begun := time.Now()
		var slowest time.Duration
		refused := 0
		for _, r := range s.all(*concurrentLists, func(int) string { return "tasks list --json --store store" }) {
			slowest = max(slowest, r.took)
			if r.code != 0 {
				refused++
				t.Logf("exit %d after %v: %s", r.code, r.took, r.err)
				continue
			}
			require.Equal(t, tasks, strings.Count(r.out, `"id":`), r.out)
		}
		require.Zero(t, refused)
		t.Logf("%d lists in %v, the slowest %v", *concurrentLists, time.Since(begun), slowest)
	}
	lists(2)
	ended, interrupt, _ := s.hanging("run --model m three --store store")
	lists(3)
	interrupt()
	require.Equal(t, exitInterrupted, ended().code)
	s.whole("store", 3)
}

// TestConcurrentRuns: very many processes run a task each on one new store.
func TestConcurrentRuns(t *testing.T) {
	s := newShell(t)
	begun := time.Now()
	for _, r := range s.all(*concurrentRuns, func(i int) string { return fmt.Sprintf("run --model script:one.yaml task%d --store store", i) }) {
		require.Zero(t, r.code, r.err)
		require.Equal(t, "done\n", r.out)
	}
	t.Logf("%d runs in %v", *concurrentRuns, time.Since(begun))
	s.whole("store", *concurrentRuns)
}
