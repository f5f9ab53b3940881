package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// whole is a commit of two records, a fence, an index with a label, and a blob.
func whole(task string) store.Commit {
	c := fenced(task, 0, 3, task+"1", task+"2")
	c.Appends[0].Index, c.Appends[0].Label = []byte("index"), "label"
	c.Blobs = blob(task, "k", "value of "+task).Blobs
	return c
}

// requireWhole checks that all of a task is there.
func requireWhole(t *testing.T, log store.Log, task string) {
	t.Helper()
	requireRecords(t, log, task, task+"1", task+"2")
	requireBlob(t, log, task, "k", "value of "+task)
	h, err := log.Head(t.Context(), task)
	require.NoError(t, err)
	requireSameHead(t, store.Head{Task: task, Last: 2, Fence: 3, Index: []byte("index"), Label: "label"}, h)
}

// requireGone checks that nothing is left of a task.
func requireGone(t *testing.T, log store.Log, task string) {
	t.Helper()
	_, err := log.Read(t.Context(), task, 0, 0)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = log.Head(t.Context(), task)
	require.ErrorIs(t, err, store.ErrNotFound)
	requireNoBlob(t, log, task, "k")
	heads, err := log.List(t.Context(), store.Query{From: task, Before: task + "!"})
	require.NoError(t, err)
	require.Empty(t, heads)
}

// neighbours are ids of which "a" is a prefix, or which lie beside it.
var neighbours = []string{"A", "a!", "a/b", "a/b/c", "aa", "a~", "b"}

func testDelete(t *testing.T, f Factory) {
	t.Run("takes all of a task and nothing else", func(t *testing.T) {
		log := f.open(t)
		for _, task := range append([]string{"a"}, neighbours...) {
			commit(t, log, whole(task))
		}
		require.NoError(t, log.Delete(t.Context(), "a", 2))
		requireGone(t, log, "a")
		for _, task := range neighbours {
			requireWhole(t, log, task)
		}
		require.Equal(t, "a! a/b a/b/c aa a~", listed(t, log, store.Query{Prefix: "a"}))
		require.NoError(t, log.Delete(t.Context(), "a/b", 2))
		requireGone(t, log, "a/b")
		requireWhole(t, log, "a/b/c")
	})
	t.Run("refused", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, whole("t"), blob("blobs", "k", "v"))
		for _, expected := range []uint64{0, 1, 3, 1<<64 - 1} {
			require.ErrorIs(t, log.Delete(t.Context(), "t", expected), store.ErrConflict)
		}
		for _, task := range []string{"u", "", "a b", "t\x00", "blobs"} {
			require.ErrorIs(t, log.Delete(t.Context(), task, 0), store.ErrNotFound)
			require.ErrorIs(t, log.Delete(t.Context(), task, 2), store.ErrNotFound)
		}
		requireWhole(t, log, "t")
		requireBlob(t, log, "blobs", "k", "v")
		require.NoError(t, log.Delete(t.Context(), "t", 2))
		require.ErrorIs(t, log.Delete(t.Context(), "t", 2), store.ErrNotFound, "again")
	})
	t.Run("a writer who goes on has a conflict", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, whole("t"))
		require.NoError(t, log.Delete(t.Context(), "t", 2))
		require.ErrorIs(t, log.Commit(t.Context(), fenced("t", 2, 3, "x")), store.ErrConflict)
		requireGone(t, log, "t")
	})
}

func testDeleteForGood(t *testing.T, f Factory) {
	t.Run("the id can be used again", func(t *testing.T) {
		log := f.open(t)
		for range 3 {
			commit(t, log, whole("t"))
			requireWhole(t, log, "t")
			require.NoError(t, log.Delete(t.Context(), "t", 2))
			requireGone(t, log, "t")
		}
		commit(t, log, fenced("t", 0, 0, "new")) // fence, index, label and blobs begin anew, too
		requireRecords(t, log, "t", "new")
		h, err := log.Head(t.Context(), "t")
		require.NoError(t, err)
		requireSameHead(t, store.Head{Task: "t", Last: 1}, h)
		requireNoBlob(t, log, "t", "k")
	})
	t.Run("it is as durable as a commit", func(t *testing.T) {
		if !f.Durable {
			t.Skip("the backend is not durable")
		}
		dir := t.TempDir()
		log := f.openIn(t, dir)
		commit(t, log, whole("a"), whole("a!"), whole("b"))
		require.NoError(t, log.Close())
		log = f.openIn(t, dir)
		require.NoError(t, log.Delete(t.Context(), "a", 2))
		require.NoError(t, log.Delete(t.Context(), "b", 2))
		commit(t, log, whole("b"))
		for range 2 {
			require.NoError(t, log.Close())
			log = f.openIn(t, dir)
			requireGone(t, log, "a")
			requireWhole(t, log, "a!")
			requireWhole(t, log, "b")
		}
	})
}

func testCompact(t *testing.T, f Factory) {
	log := f.open(t)
	require.NoError(t, log.Compact(t.Context()), "of an empty log")
	for _, task := range append([]string{"a"}, neighbours...) {
		commit(t, log, whole(task))
	}
	require.NoError(t, log.Delete(t.Context(), "a", 2))
	commit(t, log, blob("b", "k", "old"), blob("b", "k", "value of b"))
	for range 2 {
		require.NoError(t, log.Compact(t.Context()))
		requireGone(t, log, "a")
		for _, task := range neighbours {
			requireWhole(t, log, task)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, log.Compact(ctx), context.Canceled)
	commit(t, log, whole("a"))
	requireWhole(t, log, "a")
}
