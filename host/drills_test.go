package host

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/axishost/axishost/host/control"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
	"github.com/axishost/axishost/store/sealed"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestCrashAtEveryCommitEncrypted is TestCrashAtEveryCommit below an encrypted store: the process dies before or
// after each commit of the log that holds what is encrypted.
func TestCrashAtEveryCommitEncrypted(t *testing.T) {
	s := &scenes()[0]
	if raced {
		s = &scenes()[1] // without a recipe
	}
	sub, key := s.sub(t), newKey(t)
	encrypted := func(inner store.Log) store.Log {
		log, err := sealed.Open(t.Context(), inner, sealed.Options{Key: key})
		require.NoError(t, err)
		return log
	}
	n, resumed := 1, 0
	for ; ; n++ {
		for _, after := range []bool{false, true} {
			inner, w := newLog(t), &world{}
			encrypted(inner) // the record that says how the store is kept is not the task's
			failing := &failingLog{Log: inner, left: n, after: after}
			_, err := open(t, encrypted(failing), &fakeModel{replies: s.replies}, w.events()).Run(t.Context(), sub)
			if failing.left > 0 {
				require.NoError(t, err)
				require.Greater(t, n, 7)
				t.Logf("%d commits, %d tasks resumed; losses 0, repeats 0", n-1, resumed)
				return
			}
			require.ErrorIs(t, err, errCrash)
			told, executed := w.seen()
			if s.aftermath(t, encrypted(inner), sub, told, executed) > 0 {
				resumed++
			}
		}
	}
}

// lent is a store that one process at a time has, and that outlives them.
type lent struct {
	store.Log
	taken atomic.Bool
}

// open gives the store to one process; commit, where it is set, stands in for its commits.
func (l *lent) open(commit func(ctx context.Context, c store.Commit) error) func() (store.Log, error) {
	return func() (store.Log, error) {
		if !l.taken.CompareAndSwap(false, true) {
			return nil, store.ErrInUse
		}
		return &loan{Log: l.Log, lent: l, commit: commit}, nil
	}
}

type loan struct {
	store.Log
	lent   *lent
	commit func(ctx context.Context, c store.Commit) error
}

func (l *loan) Commit(ctx context.Context, c store.Commit) error {
	if l.commit == nil {
		return l.Log.Commit(ctx, c)
	}
	return l.commit(ctx, c)
}

func (l *loan) Close() error {
	l.lent.taken.Store(false)
	return nil
}

// TestHolderGoesAtEveryCommit: the process that has the store ends or dies at each commit of a task that another
// process runs through it. That one takes the store over, and the task is as if nothing had happened.
func TestHolderGoesAtEveryCommit(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	s := &scenes()[1]
	sub := s.sub(t)
	for name, done := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			n := 1
			for holderGoes(t, s, sub, n, done) {
				n++
			}
			require.Greater(t, n, 8)
			t.Logf("%d commits, at each of which the holder went; losses 0, repeats 0", n-1)
		})
	}
	goleak.VerifyNone(t, leaks)
}

// holderGoes runs a task whose holder dies with the n-th commit, done or not, and closes its log. It gives false
// where there was no such commit.
func holderGoes(t *testing.T, s *scene, sub Submission, n int, done bool) bool {
	dir, disk := t.TempDir(), &lent{Log: memstore.New()}
	var holder *control.Log
	var commits atomic.Int64
	var gone sync.WaitGroup
	dying := disk.open(func(ctx context.Context, c store.Commit) error {
		if int(commits.Add(1)) != n {
			return disk.Log.Commit(ctx, c)
		}
		if done {
			_ = disk.Log.Commit(ctx, c)
		}
		gone.Go(func() { _ = holder.Close() })
		panic(http.ErrAbortHandler) // the answer is never sent
	})
	share := func(open func() (store.Log, error)) *control.Log {
		log, err := control.Open(t.Context(), control.Options{Dir: dir, Open: open, Version: "test"})
		require.NoError(t, err)
		return log
	}
	holder = share(dying)
	mine := share(disk.open(nil))
	w := &world{}
	h, err := Open(Options{Log: mine, Runners: mine, Model: &fakeModel{replies: s.replies}, CacheDir: cacheDir(), Events: w.events()})
	require.NoError(t, err)
	r, err := h.Run(t.Context(), sub)
	require.NoError(t, err, "commit %d", n)
	gone.Wait()
	require.Equal(t, s.answer, r.Answer)
	events := history(t, h, r.Task)
	told, executed := w.seen()
	require.Len(t, events, int(told))
	require.Equal(t, s.calls, count(events, event.TypeToolSucceeded))
	require.Equal(t, 1, count(events, event.TypeTaskSucceeded))
	require.Zero(t, count(events, event.TypeModelFailed))
	for operation := range operations(events) {
		require.Equal(t, 1, executed[operation])
	}
	require.NoError(t, mine.Close())
	require.NoError(t, holder.Close())
	return int(commits.Load()) >= n
}
