package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// Factory makes the logs under test.
type Factory struct {
	// Open opens the log in dir: an empty directory that exists, or one in which a log of this factory was
	// closed. It ends the test when it cannot. A backend in memory does not look at dir. The suite closes
	// the log.
	Open func(t *testing.T, dir string) store.Log
	// Durable: a log that is opened where another was closed holds what was committed to that.
	Durable bool
}

// Run runs the suite.
func Run(t *testing.T, f Factory) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, Factory)
	}{
		{"Commit", testCommit},
		{"CommitBytes", testCommitBytes},
		{"CommitRefused", testCommitRefused},
		{"CommitInvalid", testCommitInvalid},
		{"Read", testRead},
		{"ReadMissing", testReadMissing},
		{"Blob", testBlob},
		{"Head", testHead},
		{"List", testList},
		{"ListSelects", testListSelects},
		{"Label", testLabel},
		{"Delete", testDelete},
		{"DeleteForGood", testDeleteForGood},
		{"Compact", testCompact},
		{"Watch", testWatch},
		{"WatchEnds", testWatchEnds},
		{"Close", testClose},
		{"Context", testContext},
		{"Race", testRace},
		{"Model", testModel},
		{"Reopen", testReopen},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, f) })
	}
}

// open opens an empty log, which ends with the test.
func (f Factory) open(t *testing.T) store.Log {
	t.Helper()
	return f.openIn(t, t.TempDir())
}

func (f Factory) openIn(t *testing.T, dir string) store.Log {
	t.Helper()
	log := f.Open(t, dir)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	return log
}

// records makes the bytes of records from strings.
func records(data ...string) [][]byte {
	out := make([][]byte, len(data))
	for i, d := range data {
		out[i] = []byte(d)
	}
	return out
}

// appends is a commit of one append without a fence.
func appends(task string, expected uint64, data ...string) store.Commit {
	return store.Commit{Appends: []store.Append{{Task: task, Expected: expected, Records: records(data...)}}}
}

// fenced is appends with a fence.
func fenced(task string, expected, fence uint64, data ...string) store.Commit {
	c := appends(task, expected, data...)
	c.Appends[0].Fence = fence
	return c
}

// labelled is appends with an index and a label.
func labelled(task string, expected uint64, index, label string) store.Commit {
	c := appends(task, expected, "r")
	c.Appends[0].Index, c.Appends[0].Label = []byte(index), label
	return c
}

// blob is a commit of one blob.
func blob(task, key, value string) store.Commit {
	return store.Commit{Blobs: []store.Blob{{Task: task, Key: key, Value: []byte(value)}}}
}

// commit commits all of cs, which the log must accept.
func commit(t *testing.T, log store.Log, cs ...store.Commit) {
	t.Helper()
	for _, c := range cs {
		require.NoError(t, log.Commit(t.Context(), c))
	}
}

// requireRecords checks that the task holds exactly the records, numbered from 1.
func requireRecords(t *testing.T, log store.Log, task string, data ...string) {
	t.Helper()
	got, err := log.Read(t.Context(), task, 0, 0)
	if len(data) == 0 {
		require.ErrorIs(t, err, store.ErrNotFound)
		return
	}
	require.NoError(t, err)
	want := make([]store.Record, len(data))
	for i, d := range data {
		want[i] = store.Record{Seq: uint64(i) + 1, Data: []byte(d)}
	}
	require.Equal(t, want, got)
}

// requireHead checks all of a task's head.
func requireHead(t *testing.T, log store.Log, task string, last, fence uint64, index string) {
	t.Helper()
	h, err := log.Head(t.Context(), task)
	require.NoError(t, err)
	requireSameHead(t, store.Head{Task: task, Last: last, Fence: fence, Index: []byte(index)}, h)
}

// requireSameHead compares heads; an empty index and none are the same.
func requireSameHead(t require.TestingT, want, got store.Head) {
	require.Equal(t, string(want.Index), string(got.Index), "index of task %s", want.Task)
	want.Index, got.Index = nil, nil
	require.Equal(t, want, got)
}

// requireBlob checks a blob's value.
func requireBlob(t *testing.T, log store.Log, task, key, value string) {
	t.Helper()
	got, err := log.Blob(t.Context(), task, key)
	require.NoError(t, err)
	require.Equal(t, value, string(got))
}

// requireNoBlob checks that there is no such blob.
func requireNoBlob(t *testing.T, log store.Log, task, key string) {
	t.Helper()
	_, err := log.Blob(t.Context(), task, key)
	require.ErrorIs(t, err, store.ErrNotFound)
}

// requireNoTask checks that the log knows nothing of a task.
func requireNoTask(t *testing.T, log store.Log, task string) {
	t.Helper()
	requireRecords(t, log, task)
	_, err := log.Head(t.Context(), task)
	require.ErrorIs(t, err, store.ErrNotFound)
	heads, err := log.List(t.Context(), store.Query{Prefix: task})
	require.NoError(t, err)
	require.Empty(t, heads)
}
