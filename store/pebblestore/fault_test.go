package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

var errDisk = errors.New("the disk is on fire")

// The n-th change of the file system fails, for every n there is; in one run it alone, in the other all that
// follow too; with each error that a disk gives.
func TestEveryFault(t *testing.T) {
	for name, fault := range map[string]fault{
		"on fire":   {errDisk, "", ""},
		"full":      {syscall.ENOSPC, "free some space", "the disk is full: free some space, then open the log again"},
		"read-only": {syscall.EROFS, "make it writable", "the disk takes no writes: make it writable, then open the log again"},
	} {
		for _, lasting := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, lasting %v", name, lasting), func(t *testing.T) {
				failed, points := 0, int64(0)
				for {
					reached, refused := fault.run(t, points+1, lasting)
					if !reached {
						break
					}
					points++
					if refused {
						failed++
					}
				}
				t.Logf("%d write points, %d faults were felt, 0 losses", points, failed)
				assert.Greater(t, failed, 50, "most faults are felt")
			})
		}
	}
}

// fault is an error of the disk, and what a person has to be told of it.
type fault struct {
	err                  error
	whenOpening, running string
}

// run runs a workload on a disk whose n-th change fails, and judges what is on the disk afterwards. It says
// whether there was an n-th change, and whether the log refused anything because of it.
func (f fault) run(t *testing.T, n int64, lasting bool) (reached, refused bool) {
	var changes atomic.Int64
	mem := vfs.NewCrashableMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
			return nil
		}
		if i := changes.Add(1); i == n || lasting && i > n {
			return fmt.Errorf("change %d, %s: %w", i, op.Path, f.err)
		}
		return nil
	}))
	w := newWorkload(2, 4, 90<<10) // enough for the engine to change its write-ahead log
	log, err := Open("dir", Options{FS: fs})
	if err != nil {
		require.ErrorIs(t, err, f.err, "change %d", n)
		require.Contains(t, err.Error(), f.whenOpening)
		require.NotContains(t, err.Error(), "\n")
		refused = true
	} else {
		refused = f.runUntilRefused(t, log, w)
	}
	acked, tried := w.counts(w.acked), w.counts(w.tried)
	w.check(t, crash(mem, unsynced[n%3], uint64(n)), acked, tried)
	w.check(t, mem, acked, tried)
	return changes.Load() >= n, refused
}

// runUntilRefused runs the workload, and checks that after one refusal there are only refusals.
func (f fault) runUntilRefused(t *testing.T, log *Log, w *workload) (refused bool) {
	err := w.run(log)
	if err == nil {
		err = log.Compact(t.Context())
	}
	if err != nil {
		require.ErrorIs(t, err, store.ErrFailed)
		require.ErrorIs(t, err, f.err)
		require.Contains(t, err.Error(), f.running)
		require.NotContains(t, err.Error(), "\n")
		requireFailed(t, log)
	}
	closed := log.Close()
	if err != nil || closed != nil {
		require.ErrorIs(t, closed, store.ErrFailed)
		require.ErrorIs(t, log.Close(), store.ErrFailed)
		requireFailed(t, log)
		return true
	}
	return false
}

// requireFailed checks that every method refuses, with the cause.
func requireFailed(t *testing.T, log *Log) {
	t.Helper()
	all := calls()
	all["Compact"] = func(ctx context.Context, log *Log) error { return log.Compact(ctx) }
	for name, call := range all {
		err := call(context.Background(), log)
		require.ErrorIs(t, err, store.ErrFailed, name)
		require.NotContains(t, err.Error(), "\n")
	}
}

// calls are the methods of a log, each with arguments that need task t to be read.
func calls() map[string]func(context.Context, *Log) error {
	return map[string]func(context.Context, *Log) error{
		"Head":   func(ctx context.Context, log *Log) error { _, err := log.Head(ctx, "t"); return err },
		"Read":   func(ctx context.Context, log *Log) error { _, err := log.Read(ctx, "t", 0, 0); return err },
		"Blob":   func(ctx context.Context, log *Log) error { _, err := log.Blob(ctx, "t", "k"); return err },
		"List":   func(ctx context.Context, log *Log) error { _, err := log.List(ctx, store.Query{}); return err },
		"Watch":  func(ctx context.Context, log *Log) error { _, err := log.Watch(ctx, "t", 0); return err },
		"Delete": func(ctx context.Context, log *Log) error { return log.Delete(ctx, "t", 3) },
		"Commit": func(ctx context.Context, log *Log) error { return log.Commit(ctx, append1("t", 3, "r")) },
	}
}

// faultyDisk fails the operations that match, while it is on.
func faultyDisk(mem *vfs.MemFS, match func(errorfs.Op) bool) (vfs.FS, *errorfs.Toggle) {
	toggle := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if match(op) {
			return errDisk
		}
		return nil
	})}
	return errorfs.Wrap(mem, toggle), toggle
}

func TestFailedSync(t *testing.T) {
	fs, fault := faultyDisk(vfs.NewMem(), isLogSync)
	log, err := Open("dir", Options{FS: fs})
	require.NoError(t, err)
	require.NoError(t, log.Commit(t.Context(), append1("t", 0, "r")))
	watched := make(chan error, 1)
	go func() {
		_, err := log.Watch(context.Background(), "t", 1)
		watched <- err
	}()
	fault.On()
	err = log.Commit(t.Context(), append1("t", 1, "r"))
	require.EqualError(t, err, "store: failed: the disk is on fire")
	require.ErrorIs(t, <-watched, store.ErrFailed)
	fault.Off()
	requireFailed(t, log)
	require.ErrorIs(t, log.Close(), store.ErrFailed)

	log, err = Open("dir", Options{FS: fs}) // the directory is free, and whole
	require.NoError(t, err)
	_, err = log.Head(t.Context(), "t")
	require.NoError(t, err)
	require.NoError(t, log.Close())
}

func TestFailedRead(t *testing.T) {
	fs, fault := faultyDisk(vfs.NewMem(), func(op errorfs.Op) bool {
		return op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst")
	})
	for name, call := range calls() {
		t.Run(name, func(t *testing.T) {
			log, err := Open(name, Options{FS: fs})
			require.NoError(t, err)
			c := append1("t", 0, "r")
			c.Blobs = []store.Blob{{Task: "t", Key: "k"}}
			require.NoError(t, log.Commit(t.Context(), c))
			require.NoError(t, log.db.Flush())
			fault.On()
			defer fault.Off()
			require.ErrorIs(t, call(t.Context(), log), store.ErrFailed)
			requireFailed(t, log)
			require.ErrorIs(t, log.Close(), store.ErrFailed)
		})
	}
}

// What the engine calls fatal, or tells of its background work, ends no process.
func TestEngineFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		happen func(f *fuse)
		want   string
	}{
		"fatal": {
			func(f *fuse) { engineLog{f}.Fatalf("invariant %d broken\nstack", 7) },
			"store: failed: engine: invariant 7 broken",
		},
		"background": {
			func(f *fuse) { f.events().BackgroundError(errDisk) },
			"store: failed: engine in the background: the disk is on fire",
		},
	} {
		t.Run(name, func(t *testing.T) {
			log, err := Open("dir", Options{FS: vfs.NewMem()})
			require.NoError(t, err)
			watched := make(chan error, 1)
			go func() {
				_, err := log.Watch(context.Background(), "t", 0)
				watched <- err
			}()
			tc.happen(log.fuse)
			tc.happen(log.fuse) // the first counts
			require.EqualError(t, <-watched, tc.want)
			requireFailed(t, log)
			require.EqualError(t, log.Close(), tc.want)
		})
	}
}
