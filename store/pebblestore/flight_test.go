package pebblestore

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// slowDisk is a file system whose write-ahead log syncs wait, once hold is called, until release.
type slowDisk struct {
	vfs.FS
	gate  atomic.Pointer[chan struct{}]
	syncs atomic.Int32 // of the write-ahead log, finished or waiting
}

func newSlowDisk() *slowDisk {
	d := &slowDisk{}
	d.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if isLogSync(op) {
			d.syncs.Add(1)
			if gate := d.gate.Load(); gate != nil {
				<-*gate
			}
		}
		return nil
	}))
	return d
}

func isLogSync(op errorfs.Op) bool {
	sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData
	return sync && strings.HasSuffix(op.Path, ".log")
}

func (d *slowDisk) hold() {
	gate := make(chan struct{})
	d.gate.Store(&gate)
}

func (d *slowDisk) release() {
	close(*d.gate.Swap(nil))
}

func append1(task string, expected uint64, record string) store.Commit {
	return store.Commit{Appends: []store.Append{{Task: task, Expected: expected, Records: [][]byte{[]byte(record)}}}}
}

// start begins a commit, and gives its error once it has ended.
func start(log *Log, c store.Commit) <-chan error {
	return asError(func() error { return log.Commit(context.Background(), c) })
}

func ended[T any](c <-chan T) bool {
	synctest.Wait()
	return len(c) > 0
}

func TestNothingUnsyncedIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newSlowDisk()
		log, err := Open("dir", Options{FS: disk})
		require.NoError(t, err)
		first := append1("old", 0, "one")
		first.Appends[0].Index = []byte("index one")
		first.Blobs = []store.Blob{{Task: "old", Key: "k", Value: []byte("v1")}, {Task: "old", Key: "l"}}
		require.NoError(t, log.Commit(t.Context(), first))

		disk.hold()
		second := append1("old", 1, "two")
		second.Appends[0].Index, second.Appends[0].Fence = []byte("index two"), 3
		second.Appends = append(second.Appends, append1("new", 0, "one").Appends...)
		second.Blobs = []store.Blob{{Task: "old", Key: "k", Value: []byte("v2")}, {Task: "new", Key: "k"}}
		committed := start(log, second)
		require.False(t, ended(committed))
		seen, err := log.engineHead("old")
		require.NoError(t, err)
		require.Equal(t, uint64(2), seen.Last, "the engine shows it: else this test tests nothing")
		requireOnlyFirst(t, log)

		blob := make(chan string, 1)
		go func() {
			value, err := log.Blob(context.Background(), "old", "k")
			blob <- fmt.Sprint(string(value), err)
		}()
		watched := make(chan uint64, 1)
		go func() {
			last, _ := log.Watch(context.Background(), "new", 0)
			watched <- last
		}()
		require.False(t, ended(blob))
		require.False(t, ended(watched))

		disk.release()
		require.NoError(t, <-committed)
		require.Equal(t, "v2<nil>", <-blob)
		require.Equal(t, uint64(1), <-watched)
		h, err := log.Head(t.Context(), "old")
		require.NoError(t, err)
		require.Equal(t, store.Head{Task: "old", Last: 2, Fence: 3, Index: []byte("index two")}, h)
		require.NoError(t, log.Close())
	})
}

// requireOnlyFirst checks that every method shows the first commit of TestNothingUnsyncedIsShown and no more.
func requireOnlyFirst(t *testing.T, log *Log) {
	ctx := t.Context()
	old := store.Head{Task: "old", Last: 1, Index: []byte("index one")}
	h, err := log.Head(ctx, "old")
	require.NoError(t, err)
	require.Equal(t, old, h)
	copy(h.Index, "XXXXX") // it is the caller's own, though the flight has it too
	heads, err := log.List(ctx, store.Query{})
	require.NoError(t, err)
	require.Equal(t, []store.Head{old}, heads)
	copy(heads[0].Index, "XXXXX")
	h, err = log.Head(ctx, "old")
	require.NoError(t, err)
	require.Equal(t, old, h)
	_, err = log.Head(ctx, "new")
	require.ErrorIs(t, err, store.ErrNotFound)

	records, err := log.Read(ctx, "old", 0, 0)
	require.NoError(t, err)
	require.Len(t, records, 1)
	_, err = log.Read(ctx, "new", 0, 0)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = log.Blob(ctx, "old", "l")
	require.NoError(t, err, "a blob that the commit does not put is not waited for")
	late := &lateCtx{Context: ctx, done: make(chan struct{})}
	close(late.done)
	_, err = log.Blob(late, "old", "k")
	require.ErrorIs(t, err, context.Canceled, "who waits for a blob can give up")
}

// A deletion that is not synced is not shown: what was there is, or the reader waits.
func TestDeletionIsNotShownUnsynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newSlowDisk()
		log, err := Open("dir", Options{FS: disk})
		require.NoError(t, err)
		c := append1("t", 0, "one")
		c.Appends[0].Index, c.Appends[0].Label = []byte("index"), "label"
		c.Blobs = []store.Blob{{Task: "t", Key: "k", Value: []byte("v")}}
		require.NoError(t, log.Commit(t.Context(), c))
		disk.hold()
		deleted := asError(func() error { return log.Delete(context.Background(), "t", 1) })
		require.False(t, ended(deleted))
		seen, err := log.engineHead("t")
		require.NoError(t, err)
		require.Zero(t, seen.Last, "the engine shows it: else this test tests nothing")

		want := store.Head{Task: "t", Last: 1, Index: []byte("index"), Label: "label"}
		h, err := log.Head(t.Context(), "t")
		require.NoError(t, err)
		require.Equal(t, want, h)
		heads, err := log.List(t.Context(), store.Query{})
		require.NoError(t, err)
		require.Equal(t, []store.Head{want}, heads)
		last, err := log.Watch(t.Context(), "t", 0)
		require.NoError(t, err)
		require.Equal(t, uint64(1), last)
		ctx, cancel := context.WithCancel(t.Context())
		patient, impatient := t.Context(), ctx
		var waiting, given []<-chan error
		for _, ctx := range []context.Context{patient, impatient} {
			read := asError(func() error { _, err := log.Read(ctx, "t", 0, 0); return err })
			blob := asError(func() error { _, err := log.Blob(ctx, "t", "k"); return err })
			watch := asError(func() error { _, err := log.Watch(ctx, "t", 1); return err })
			waiting, given = given, []<-chan error{read, blob, watch}
		}
		recreated := start(log, append1("t", 0, "new"))
		for _, c := range append(append(waiting, given...), recreated) {
			require.False(t, ended(c))
		}
		cancel()
		for _, c := range given {
			require.ErrorIs(t, <-c, context.Canceled)
		}
		disk.release()
		require.NoError(t, <-deleted)
		require.NoError(t, <-recreated)
		require.NoError(t, log.Delete(t.Context(), "t", 1))
		_, err = log.Head(t.Context(), "t")
		require.ErrorIs(t, err, store.ErrNotFound)
		require.NoError(t, log.Close())
		for _, c := range waiting {
			<-c // how far the task was when they looked again is not settled
		}
	})
}

// asError runs call and gives its error once it has ended.
func asError(call func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	return done
}

func TestCommitsOfDifferentTasksShareASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newSlowDisk()
		log, err := Open("dir", Options{FS: disk})
		require.NoError(t, err)
		disk.hold()
		before := disk.syncs.Load()
		const n = 20
		commits := make([]<-chan error, n)
		for i := range commits {
			commits[i] = start(log, append1(fmt.Sprint("t", i), 0, "r"))
			synctest.Wait()
		}
		disk.release()
		for _, c := range commits {
			require.NoError(t, <-c)
		}
		require.LessOrEqual(t, disk.syncs.Load()-before, int32(2), "the first, and all others together")
		require.NoError(t, log.Close())
	})
}

func TestCommitsOfOneTaskWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newSlowDisk()
		log, err := Open("dir", Options{FS: disk})
		require.NoError(t, err)
		disk.hold()
		first := start(log, append1("t", 0, "r"))
		require.False(t, ended(first))
		stale, next := start(log, append1("t", 0, "x")), start(log, append1("t", 1, "r"))
		ctx, cancel := context.WithCancel(t.Context())
		impatient := make(chan error, 1)
		go func() {
			c := append1("t", 1, "x")
			c.Blobs = []store.Blob{{Task: "a", Key: "k"}} // a task that it gets, before the one that it waits for
			impatient <- log.Commit(ctx, c)
		}()
		require.False(t, ended(stale), "a conflict with what is not synced is not yet one")
		require.False(t, ended(next))
		require.False(t, ended(impatient))
		cancel()
		require.ErrorIs(t, <-impatient, context.Canceled)
		free := start(log, append1("a", 0, "r"))
		require.False(t, ended(free), "it waits for the sync")
		disk.release()
		require.NoError(t, <-first)
		require.NoError(t, <-next)
		require.NoError(t, <-free)
		require.ErrorIs(t, <-stale, store.ErrConflict)
		require.NoError(t, log.Close())
		require.Empty(t, log.flights)
		require.Empty(t, log.watches)
	})
}

func TestWatchLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, err := Open("dir", Options{FS: vfs.NewMem()})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := log.Watch(ctx, "t", 0)
				done <- err
			}()
		}
		require.False(t, ended(done))
		require.Len(t, log.watches, 1, "those who watch a task share an entry")
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.ErrorIs(t, <-done, context.Canceled)
		require.Empty(t, log.watches)
		require.NoError(t, log.Close())
	})
}

// Close waits for a commit that waits for the disk.
func TestCloseFinishesACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newSlowDisk()
		log, err := Open("dir", Options{FS: disk})
		require.NoError(t, err)
		disk.hold()
		committed := start(log, append1("t", 0, "r"))
		require.False(t, ended(committed))
		closed := make(chan error, 1)
		go func() { closed <- log.Close() }()
		require.False(t, ended(closed))
		require.ErrorIs(t, log.Commit(t.Context(), append1("u", 0, "r")), store.ErrClosed)
		disk.release()
		require.NoError(t, <-committed)
		require.NoError(t, <-closed)
	})
}

// Close waits for any call, whatever it is doing.
func TestCloseWaitsForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, err := Open("dir", Options{FS: vfs.NewMem()})
		require.NoError(t, err)
		require.NoError(t, log.enter(t.Context()))
		closed := make(chan error, 1)
		go func() { closed <- log.Close() }()
		require.False(t, ended(closed))
		log.calls.Done()
		require.NoError(t, <-closed)
	})
}

func TestCloseWakesWhoWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, err := Open("dir", Options{FS: vfs.NewMem()})
		require.NoError(t, err)
		woken := make(chan error, 1)
		go func() {
			_, err := log.Watch(context.Background(), "t", 0)
			woken <- err
		}()
		require.False(t, ended(woken))
		require.NoError(t, log.Close())
		require.ErrorIs(t, <-woken, store.ErrClosed)
	})
}

// lateCtx ends after it was looked at once.
type lateCtx struct {
	context.Context
	done  chan struct{}
	looks atomic.Int32
}

func (c *lateCtx) Done() <-chan struct{} { return c.done }

func (c *lateCtx) Err() error {
	if c.looks.Add(1) > 1 {
		return context.Canceled
	}
	return nil
}

func TestCtxEndsJustBeforeTheWrite(t *testing.T) {
	log, err := Open("dir", Options{FS: vfs.NewMem()})
	require.NoError(t, err)
	require.ErrorIs(t, log.Commit(&lateCtx{Context: t.Context()}, append1("t", 0, "r")), context.Canceled)
	require.NoError(t, log.Commit(t.Context(), append1("t", 0, "r")))
	require.NoError(t, log.Close())
}
