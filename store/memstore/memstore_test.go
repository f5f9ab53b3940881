package memstore_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
	"github.com/axishost/axishost/store/storetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Factory{
		Open: func(*testing.T, string) store.Log { return memstore.New() },
	})
}

// The suite cannot know whether its watchers wait already; here they do.
func TestWatchThatWaits(t *testing.T) {
	commit := store.Commit{Appends: []store.Append{{Task: "t", Records: [][]byte{{1}}}}}
	for name, tc := range map[string]struct {
		event func(log store.Log, cancel func()) error
		want  error
	}{
		"a commit wakes it": {func(log store.Log, _ func()) error { return log.Commit(context.Background(), commit) }, nil},
		"Close wakes it":    {func(log store.Log, _ func()) error { return log.Close() }, store.ErrClosed},
		"its ctx ends it":   {func(_ store.Log, cancel func()) error { cancel(); return nil }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := memstore.New()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				woken := make(chan error, 1)
				go func() {
					_, err := log.Watch(ctx, "t", 0)
					woken <- err
				}()
				synctest.Wait()
				require.Empty(t, woken)
				require.NoError(t, tc.event(log, cancel))
				require.ErrorIs(t, <-woken, tc.want)
			})
		})
	}
}
