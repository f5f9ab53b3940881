package host

import (
	"context"
	"testing"

	"github.com/axishost/axishost/host/control"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
	"github.com/axishost/axishost/store/sealed"
	"github.com/stretchr/testify/require"
)

// keyed is a task without plugins that is submitted with a key.
func keyed(key string) Submission {
	sub := bare()
	sub.Key = key
	return sub
}

// commitBeside puts a record into a side log.
func commitBeside(t testing.TB, log store.Log, id string, fence uint64, record string) error {
	t.Helper()
	head, err := open(t, log, nil, Events{}).sideHead(t.Context(), id)
	require.NoError(t, err)
	return log.Commit(t.Context(), store.Commit{Appends: []store.Append{sideAppend(head, fence, []byte(record))}})
}

// sideLogStores are logs in which side logs have to work: the encrypted one is another process's.
func sideLogStores(t *testing.T) map[string]store.Log {
	dir, disk := t.TempDir(), &lent{Log: memstore.New()}
	share := func() store.Log {
		log, err := control.Open(t.Context(), control.Options{Dir: dir, Open: disk.open(nil), Version: "test"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, log.Close()) })
		return log
	}
	share()
	encrypted, err := sealed.Open(t.Context(), share(), sealed.Options{Key: newKey(t)})
	require.NoError(t, err)
	return map[string]store.Log{"memory": newLog(t), "encrypted, over the socket": encrypted}
}

// TestSideLogsAreNoTasks: whatever lists tasks leaves side logs out, whatever is asked for a task by such an id says that
// there is none, and a check reads them.
func TestSideLogsAreNoTasks(t *testing.T) {
	for name, log := range sideLogStores(t) {
		t.Run(name, func(t *testing.T) {
			h := open(t, log, &fakeModel{replies: []any{says("four")}}, Events{})
			r, err := h.Run(t.Context(), keyed("k"))
			require.NoError(t, err)
			require.NoError(t, commitBeside(t, log, "~other-file", 1, "one"))
			require.NoError(t, commitBeside(t, log, "~other-file", 2, "two"))

			requireOnlyTask(t, h, r.Task)
			for _, id := range []string{"~", "~other-file", keyLog + keyDigest("k"), "~store"} {
				requireNoTask(t, h, id)
			}
			report, err := h.Check(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, report.Damage)
			require.Equal(t, 1, report.Tasks)
			require.Equal(t, 2, report.SideLogs)
			require.NoError(t, h.Delete(t.Context(), r.Task, false))
			heads, err := log.List(t.Context(), store.Query{})
			require.NoError(t, err)
			require.Len(t, heads, 2, "the log of the key, which says nobody, and the other")
			require.Equal(t, store.Head{Task: "~other-file", Last: 2, Fence: 2, Index: []byte("two")}, heads[1])
		})
	}
}

// requireOnlyTask: by whatever way tasks are listed, there is this one.
func requireOnlyTask(t *testing.T, h *Host, id string) {
	t.Helper()
	for _, q := range []Query{{}, {Last: 1}, {Last: 9}, {Phases: append(Phases(), "")}, {Since: noon.AddDate(-50, 0, 0)}, {Until: noon.AddDate(20_000, 0, 0)}} {
		tasks, err := h.List(t.Context(), q)
		require.NoError(t, err)
		require.Len(t, tasks, 1)
		require.Equal(t, id, tasks[0].ID)
		counted, err := h.Stats(t.Context(), q, nil, nil)
		require.NoError(t, err)
		require.EqualValues(t, 1, counted.Tasks.All)
		require.Empty(t, counted.Damage)
	}
	tasks, err := h.List(t.Context(), Query{Prefix: "~"})
	require.NoError(t, err)
	require.Empty(t, tasks)
	last, err := h.Find(t.Context(), "last")
	require.NoError(t, err)
	require.Equal(t, id, last.ID)
}

// requireNoTask: nothing that is done with a task can be done with this id.
func requireNoTask(t *testing.T, h *Host, id string) {
	t.Helper()
	nothing := func(*Event) error { return nil }
	for name, do := range map[string]func() error{
		"find":    func() error { _, err := h.Find(t.Context(), id); return err },
		"read":    func() error { return h.Read(t.Context(), id, 0, nothing) },
		"follow":  func() error { return h.Follow(t.Context(), id, 0, nothing) },
		"stopped": func() error { _, err := h.Stopped(t.Context(), id); return err },
		"resume":  func() error { _, err := h.Resume(t.Context(), id); return err },
		"cancel":  func() error { _, err := h.Cancel(t.Context(), id, "no"); return err },
		"decide":  func() error { _, err := h.DecideOutcome(t.Context(), id, Outcome{}); return err },
		"delete":  func() error { return h.Delete(t.Context(), id, true) },
	} {
		require.ErrorIs(t, do(), ErrNoTask, "%s %s", name, id)
	}
}

// TestSideAppend: a side log is what its newest record says, to whoever has seen that alone.
func TestSideAppend(t *testing.T) {
	log := newLog(t)
	h := open(t, log, nil, Events{})
	none, err := h.sideHead(t.Context(), "~x")
	require.NoError(t, err)
	require.Equal(t, store.Head{Task: "~x"}, none)
	put := func(head store.Head, fence uint64, record string) error {
		return log.Commit(t.Context(), store.Commit{Appends: []store.Append{sideAppend(head, fence, []byte(record))}})
	}
	require.NoError(t, put(none, 4, "a"))
	first, err := h.sideHead(t.Context(), "~x")
	require.NoError(t, err)
	require.Equal(t, "a", string(first.Index))
	require.ErrorIs(t, put(none, 4, "b"), store.ErrConflict)
	require.ErrorIs(t, put(first, 3, "b"), store.ErrFenced)
	require.NoError(t, put(first, 4, "b"))
	require.ErrorIs(t, put(first, 4, "c"), store.ErrConflict)
}

// TestCheckOfSideLogs: what is wrong with a side log is told of as its own damage, and what it was checked beside stays as
// it is.
func TestCheckOfSideLogs(t *testing.T) {
	id := keyLog + keyDigest("k")
	for name, d := range map[string]struct {
		do         func(t *testing.T, log store.Log, task string)
		task, what string
	}{
		"another index": {func(t *testing.T, log store.Log, _ string) { appendRaw(t, log, id, "", nil, []byte("x")) },
			id, "its newest record, 2 of 2, is not what lists have of it"},
		"no record of a key": {func(t *testing.T, log store.Log, _ string) { require.NoError(t, commitBeside(t, log, id, 1<<60, "x")) },
			id, "it is not the record of a key: "},
		"a newer form": {func(t *testing.T, log store.Log, _ string) {
			require.NoError(t, commitBeside(t, log, id, 1<<60, "\x83\x02\x61a\x61b"))
		}, id, "has form 2, and this axishost knows 1"},
		"not there": {func(t *testing.T, log store.Log, _ string) { require.NoError(t, log.Delete(t.Context(), id, 1)) },
			"", "it has a key, and " + id + " does not say so"},
		"of a task that is not there": {func(t *testing.T, log store.Log, _ string) {
			require.NoError(t, commitBeside(t, log, id, 1<<60, "\x83\x01\x61a\x61b"))
		}, "", "it has a key, and " + id + " does not say so"},
	} {
		t.Run(name, func(t *testing.T) {
			log := newLog(t)
			h := open(t, log, &fakeModel{replies: []any{says("four")}}, Events{})
			r, err := h.Run(t.Context(), keyed("k"))
			require.NoError(t, err)
			d.do(t, log, r.Task)
			report, err := h.Check(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, report.Damage, 1)
			if d.task == "" {
				d.task = r.Task
			}
			require.Equal(t, d.task, report.Damage[0].Task)
			require.Contains(t, report.Damage[0].What, d.what)
		})
	}
}

// TestCheckOfAChangingSideLog: one that goes, and one that comes again, between the list and the look is no damage.
func TestCheckOfAChangingSideLog(t *testing.T) {
	for _, again := range []bool{false, true} {
		inner := newLog(t)
		require.NoError(t, commitBeside(t, inner, "~x", 1, "a"))
		log := &listedLog{inner, func() {
			require.NoError(t, inner.Delete(t.Context(), "~x", 1))
			if again {
				require.NoError(t, commitBeside(t, inner, "~x", 2, "b"))
			}
		}}
		report, err := open(t, log, nil, Events{}).Check(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, report.Damage)
	}
}

// listedLog changes after it was listed.
type listedLog struct {
	store.Log
	then func()
}

func (l *listedLog) List(ctx context.Context, q store.Query) ([]store.Head, error) {
	heads, err := l.Log.List(ctx, q)
	l.then()
	return heads, err
}
