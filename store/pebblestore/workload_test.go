package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// workload is a set of writers, each of which takes steps, again and again: it commits to two tasks and puts a
// blob; and each deleteEvery-th step deletes the second task, which begins anew with the next. It keeps
// count so that a log found later can be judged: what was acknowledged must be there, whole; what was only
// tried, whole or not at all; and nothing else.
type workload struct {
	writers, steps int
	blobSize       int

	mu    sync.Mutex
	tried []int // by writer: steps begun
	acked []int // by writer: steps that returned nil
}

const deleteEvery = 3

// commits gives how many of the first n steps are commits.
func commits(n int) int { return n - n/deleteEvery }

// since gives how many of them are commits after the last deletion.
func since(n int) int { return n % deleteEvery }

func newWorkload(writers, steps, blobSize int) *workload {
	return &workload{
		writers: writers, steps: steps, blobSize: blobSize,
		tried: make([]int, writers), acked: make([]int, writers),
	}
}

// run runs all writers until each is done or was refused, and gives the first refusal.
func (w *workload) run(log *Log) error {
	errs := make([]error, w.writers)
	var all sync.WaitGroup
	for writer := range w.writers {
		all.Go(func() {
			for n := 1; n <= w.steps && errs[writer] == nil; n++ {
				w.count(w.tried, writer)
				errs[writer] = w.step(log, writer, n)
				if errs[writer] == nil {
					w.count(w.acked, writer)
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// step takes a writer's n-th step, from 1.
func (w *workload) step(log *Log, writer, n int) error {
	if n%deleteEvery == 0 {
		return log.Delete(context.Background(), w.tasks(writer)[1], uint64(2*since(n-1)))
	}
	return log.Commit(context.Background(), w.commit(writer, n))
}

func (w *workload) count(counts []int, writer int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts[writer]++
}

// counts gives a copy of one of the counts.
func (w *workload) counts(counts []int) []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]int(nil), counts...)
}

func (w *workload) tasks(writer int) []string {
	return []string{fmt.Sprintf("w%d/a", writer), fmt.Sprintf("w%d/b", writer)}
}

// commit gives the commit that is a writer's n-th step. What it writes is numbered by the step.
func (w *workload) commit(writer, n int) store.Commit {
	var c store.Commit
	for i, before := range []int{commits(n - 1), since(n - 1)} {
		c.Appends = append(c.Appends, store.Append{
			Task:     w.tasks(writer)[i],
			Expected: uint64(2 * before),
			Fence:    uint64(n),
			Records:  [][]byte{w.data(writer, 2*n-1, 100), w.data(writer, 2*n, 100)},
			Index:    fmt.Append(nil, n),
			Label:    fmt.Sprint("step", n),
		})
	}
	c.Blobs = []store.Blob{
		{Task: w.tasks(writer)[0], Key: "latest", Value: fmt.Append(nil, n)},
		{Task: w.tasks(writer)[1], Key: fmt.Sprint(n), Value: w.data(writer, n, w.blobSize)},
	}
	return c
}

// data gives bytes that do not compress and tell what they belong to.
func (w *workload) data(writer, n, size int) []byte {
	out := fmt.Appendf(nil, "%d/%d:", writer, n)
	for x := uint32(writer*1000003 + n); len(out) < size; {
		x = x*1664525 + 1013904223
		out = append(out, byte(x>>24))
	}
	return out
}

// check opens a copy of the directory and judges it against counts that were taken about when the copy was.
func (w *workload) check(t *testing.T, fs vfs.FS, acked, tried []int) {
	t.Helper()
	log, err := Open("dir", Options{FS: fs})
	require.NoError(t, err)
	for writer := range w.writers {
		w.checkWriter(t, log, writer, acked[writer], tried[writer])
	}
	heads, err := log.List(t.Context(), store.Query{})
	require.NoError(t, err)
	for _, h := range heads { // and it can be written to
		c := store.Commit{Appends: []store.Append{
			{Task: h.Task, Expected: h.Last, Fence: h.Fence, Records: [][]byte{{1}}},
		}}
		require.NoError(t, log.Commit(t.Context(), c))
	}
	require.NoError(t, log.Close())
}

// checkWriter finds out how many of a writer's steps are there, from what they left, and checks all of it.
func (w *workload) checkWriter(t *testing.T, log *Log, writer, acked, tried int) {
	t.Helper()
	a, b := w.tasks(writer)[0], w.tasks(writer)[1]
	h, err := log.Head(t.Context(), a)
	if err != nil {
		require.ErrorIs(t, err, store.ErrNotFound)
	}
	found := int(h.Fence) // the step of the last commit
	if _, err := log.Head(t.Context(), b); errors.Is(err, store.ErrNotFound) && since(found) == deleteEvery-1 {
		found++ // and the deletion
	}
	require.GreaterOrEqual(t, found, acked, "an acknowledged step is lost")
	require.LessOrEqual(t, found, tried)
	w.checkTask(t, log, writer, a, steps(1, found))
	w.checkTask(t, log, writer, b, steps(found-since(found)+1, found))
	latest, err := log.Blob(t.Context(), a, "latest")
	if found > 0 {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(h.Fence), string(latest))
	} else {
		require.ErrorIs(t, err, store.ErrNotFound)
	}
	for n := 1; n <= found+1; n++ {
		blob, err := log.Blob(t.Context(), b, fmt.Sprint(n))
		if n <= found-since(found) || n == found+1 {
			require.ErrorIs(t, err, store.ErrNotFound)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, w.data(writer, n, w.blobSize), blob)
	}
}

// steps gives the steps from first to last that are commits.
func steps(first, last int) []int {
	var found []int
	for n := first; n <= last; n++ {
		if n%deleteEvery != 0 {
			found = append(found, n)
		}
	}
	return found
}

// checkTask checks that a task holds what the steps wrote and nothing else.
func (w *workload) checkTask(t *testing.T, log *Log, writer int, task string, steps []int) {
	t.Helper()
	got, err := log.Head(t.Context(), task)
	if len(steps) == 0 {
		require.ErrorIs(t, err, store.ErrNotFound)
		return
	}
	require.NoError(t, err)
	last := steps[len(steps)-1]
	want := store.Head{
		Task: task, Last: uint64(2 * len(steps)), Fence: uint64(last), Index: fmt.Append(nil, last), Label: fmt.Sprint("step", last),
	}
	require.Equal(t, want, got)
	records, err := log.Read(t.Context(), task, 0, 0)
	require.NoError(t, err)
	require.Len(t, records, 2*len(steps))
	for i, n := range steps {
		require.Equal(t, w.data(writer, 2*n-1, 100), records[2*i].Data)
		require.Equal(t, w.data(writer, 2*n, 100), records[2*i+1].Data)
	}
}
