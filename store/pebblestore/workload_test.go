package pebblestore

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// workload is a set of writers, each of which commits to two tasks and puts a blob, again and again. It keeps
// count so that a log found later can be judged: what was acknowledged must be there, whole; what was only
// tried, whole or not at all; and nothing else.
type workload struct {
	writers, commits int
	blobSize         int

	mu    sync.Mutex
	tried []int // by writer: commits begun
	acked []int // by writer: commits that returned nil
}

func newWorkload(writers, commits, blobSize int) *workload {
	return &workload{
		writers: writers, commits: commits, blobSize: blobSize,
		tried: make([]int, writers), acked: make([]int, writers),
	}
}

// run runs all writers until each is done or was refused, and gives the first refusal.
func (w *workload) run(log *Log) error {
	errs := make([]error, w.writers)
	var all sync.WaitGroup
	for writer := range w.writers {
		all.Go(func() {
			for n := 1; n <= w.commits && errs[writer] == nil; n++ {
				w.count(w.tried, writer)
				errs[writer] = log.Commit(context.Background(), w.commit(writer, n))
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

// commit gives a writer's n-th commit, from 1.
func (w *workload) commit(writer, n int) store.Commit {
	var c store.Commit
	for _, task := range w.tasks(writer) {
		c.Appends = append(c.Appends, store.Append{
			Task:     task,
			Expected: uint64(2 * (n - 1)),
			Fence:    uint64(n),
			Records:  [][]byte{w.data(writer, 2*n-1, 100), w.data(writer, 2*n, 100)},
			Index:    fmt.Append(nil, n),
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

func (w *workload) checkWriter(t *testing.T, log *Log, writer, acked, tried int) {
	t.Helper()
	a, b := w.tasks(writer)[0], w.tasks(writer)[1]
	h, err := log.Head(t.Context(), a)
	if err != nil {
		require.ErrorIs(t, err, store.ErrNotFound)
	}
	found := int(h.Last / 2)
	require.Zero(t, h.Last%2, "half a commit")
	require.GreaterOrEqual(t, found, acked, "an acknowledged commit is lost")
	require.LessOrEqual(t, found, tried)
	if found == 0 {
		_, err := log.Head(t.Context(), b)
		require.ErrorIs(t, err, store.ErrNotFound)
		return
	}
	for _, task := range []string{a, b} {
		want := store.Head{Task: task, Last: h.Last, Fence: uint64(found), Index: fmt.Append(nil, found)}
		got, err := log.Head(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, want, got)
		records, err := log.Read(t.Context(), task, 0, 0)
		require.NoError(t, err)
		require.Len(t, records, 2*found)
		for i, r := range records {
			require.Equal(t, w.data(writer, i+1, 100), r.Data)
		}
	}
	latest, err := log.Blob(t.Context(), a, "latest")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(found), string(latest))
	for n := 1; n <= found; n++ {
		blob, err := log.Blob(t.Context(), b, fmt.Sprint(n))
		require.NoError(t, err)
		require.Equal(t, w.data(writer, n, w.blobSize), blob)
	}
	_, err = log.Blob(t.Context(), b, fmt.Sprint(found+1))
	require.ErrorIs(t, err, store.ErrNotFound)
}
