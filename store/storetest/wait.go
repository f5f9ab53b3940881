package storetest

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// seen is what a Watch returned.
type seen struct {
	last uint64
	err  error
}

// watching calls Watch in a goroutine. Whether the call waits by the time of the next step is up to the
// scheduler; the outcome has to be the same.
func watching(ctx context.Context, log store.Log, task string, after uint64) <-chan seen {
	out := make(chan seen, 1)
	go func() {
		last, err := log.Watch(ctx, task, after)
		out <- seen{last, err}
	}()
	return out
}

func testWatch(t *testing.T, f Factory) {
	t.Run("returns at once what is there", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("t", 0, "1", "2", "3"))
		for _, after := range []uint64{0, 1, 2} {
			last, err := log.Watch(t.Context(), "t", after)
			require.NoError(t, err)
			require.Equal(t, uint64(3), last)
		}
	})
	t.Run("wakes when records come", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("t", 0, "1"))
		for seq := uint64(1); seq < 50; seq++ {
			first, second := watching(t.Context(), log, "t", seq), watching(t.Context(), log, "t", seq)
			commit(t, log, appends("t", seq, "next"))
			require.Equal(t, seen{seq + 1, nil}, <-first)
			require.Equal(t, seen{seq + 1, nil}, <-second)
		}
	})
	t.Run("the task need not exist", func(t *testing.T) {
		log := f.open(t)
		for _, id := range []string{"a", "b", "c", "d"} {
			got := watching(t.Context(), log, id, 0)
			commit(t, log, appends(id, 0, "1", "2"))
			require.Equal(t, seen{2, nil}, <-got)
		}
	})
	t.Run("goes on waiting for less than it asks for", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("t", 0, "r"))
		got := watching(t.Context(), log, "t", 3)
		commit(t, log, appends("other", 0, "1", "2", "3", "4"), blob("t", "k", "v"))
		for seq := uint64(1); seq < 3; seq++ {
			commit(t, log, appends("t", seq, "r"))
			select {
			case s := <-got:
				require.Fail(t, "returned early", "%v at %d", s, seq+1)
			default:
			}
		}
		commit(t, log, appends("t", 3, "r", "r"))
		require.Equal(t, seen{5, nil}, <-got)
	})
}

func testWatchEnds(t *testing.T, f Factory) {
	t.Run("a refused commit wakes nobody", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, fenced("t", 0, 2, "1"))
		ctx, cancel := context.WithCancel(t.Context())
		got := watching(ctx, log, "t", 1)
		require.Error(t, log.Commit(t.Context(), fenced("t", 1, 1, "x")))
		cancel()
		require.Equal(t, seen{0, context.Canceled}, <-got)
	})
	t.Run("ends with its ctx", func(t *testing.T) {
		log := f.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		got := watching(ctx, log, "t", 0)
		cancel()
		require.Equal(t, seen{0, context.Canceled}, <-got)
	})
	t.Run("a deletion ends it, of who has seen something", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("t", 0, "1", "2"))
		ctx, cancel := context.WithCancel(t.Context())
		for after := uint64(2); after < 40; after++ { // of the last one seen, and of more
			got, unseen := watching(t.Context(), log, "t", after), watching(ctx, log, "u", 0)
			require.NoError(t, log.Delete(t.Context(), "t", 2))
			require.ErrorIs(t, (<-got).err, store.ErrNotFound)
			require.Empty(t, unseen)
			commit(t, log, appends("t", 0, "1", "2"))
		}
		require.NoError(t, log.Delete(t.Context(), "t", 2))
		_, err := log.Watch(t.Context(), "t", 1)
		require.ErrorIs(t, err, store.ErrNotFound)
		unseen := watching(t.Context(), log, "t", 0)
		commit(t, log, appends("t", 0, "new"))
		require.Equal(t, seen{1, nil}, <-unseen)
		cancel()
	})
	t.Run("a deletion that is refused wakes nobody", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("t", 0, "1", "2"))
		got := watching(t.Context(), log, "t", 2)
		require.ErrorIs(t, log.Delete(t.Context(), "t", 1), store.ErrConflict)
		commit(t, log, appends("t", 2, "3"))
		require.Equal(t, seen{3, nil}, <-got)
	})
	t.Run("Close wakes it", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("t", 0, "1"))
		existing, missing := watching(t.Context(), log, "t", 1), watching(t.Context(), log, "u", 0)
		require.NoError(t, log.Close())
		require.ErrorIs(t, (<-existing).err, store.ErrClosed)
		require.ErrorIs(t, (<-missing).err, store.ErrClosed)
	})
}

func testClose(t *testing.T, f Factory) {
	t.Run("later calls are refused", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("t", 0, "1"), blob("t", "k", "v"))
		require.NoError(t, log.Close())
		for name, err := range callAll(t.Context(), log) {
			require.ErrorIs(t, err, store.ErrClosed, name)
		}
	})
	t.Run("again, and at the same time", func(t *testing.T) {
		log := f.open(t)
		var closers sync.WaitGroup
		for range 4 {
			closers.Go(func() { assert.NoError(t, log.Close()) })
		}
		closers.Wait()
		require.NoError(t, log.Close())
	})
	t.Run("calls under way are finished", func(t *testing.T) {
		dir := t.TempDir()
		log := f.openIn(t, dir)
		acknowledged := make([]uint64, 8)
		var writers sync.WaitGroup
		started := make(chan struct{}, len(acknowledged))
		for i := range acknowledged {
			writers.Go(func() {
				task := string(rune('a' + i))
				for {
					err := log.Commit(t.Context(), appends(task, acknowledged[i], "r"))
					if err != nil {
						assert.ErrorIs(t, err, store.ErrClosed)
						return
					}
					if acknowledged[i]++; acknowledged[i] == 1 {
						started <- struct{}{}
					}
				}
			})
		}
		for range acknowledged {
			<-started
		}
		require.NoError(t, log.Close())
		writers.Wait()
		if !f.Durable {
			return
		}
		log = f.openIn(t, dir)
		for i, last := range acknowledged {
			requireHead(t, log, string(rune('a'+i)), last, 0, "")
		}
	})
}

func testContext(t *testing.T, f Factory) {
	log := f.open(t)
	commit(t, log, appends("t", 0, "1"), blob("t", "k", "v"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range callAll(ctx, log) {
		require.ErrorIs(t, err, context.Canceled, name)
	}
	requireRecords(t, log, "t", "1")
	requireBlob(t, log, "t", "k", "v")
	commit(t, log, appends("t", 1, "2"))
}

// callAll calls every method but Close, each so that it would succeed on a log whose task t has one record
// and a blob k, and gives the errors.
func callAll(ctx context.Context, log store.Log) map[string]error {
	errs := make(map[string]error)
	c := appends("t", 1, "new")
	c.Blobs = blob("t", "k", "new").Blobs
	errs["Commit"] = log.Commit(ctx, c)
	_, errs["Read"] = log.Read(ctx, "t", 0, 0)
	_, errs["Blob"] = log.Blob(ctx, "t", "k")
	_, errs["Head"] = log.Head(ctx, "t")
	_, errs["List"] = log.List(ctx, store.Query{})
	_, errs["Watch"] = log.Watch(ctx, "t", 0)
	errs["Delete"] = log.Delete(ctx, "t", 1)
	errs["Compact"] = log.Compact(ctx)
	return errs
}
