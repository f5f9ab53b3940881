package host

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// TestSharing hammers one plugin: it is loaded once however many take it at a time, loadings that fail and takers that
// give up spoil nothing for others, and what nobody uses is gone.
func TestSharing(t *testing.T) {
	all, tool := newSharing(), trivialTool(t)
	var loads atomic.Int64
	var users sync.WaitGroup
	for n := range 32 {
		users.Go(func() {
			for round := range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				if (n+round)%5 == 0 {
					cancel()
				}
				s, err := all.take(ctx, shareKey{digest: tool.Digest}, func(s *sharedPlugin) (err error) {
					loads.Add(1)
					if (n+round)%7 == 0 {
						return errors.New("bad luck")
					}
					s.Plugin, err = plugins.Load(ctx, tool, plugins.Options{})
					return err
				})
				if err == nil {
					_, err = s.CallTool(t.Context(), abi.ToolInput{Tool: "act", Arguments: []byte("{}")}, nil)
					assert.NoError(t, err, "it is open while it is used")
					all.leave(s)
				}
				cancel()
			}
		})
	}
	users.Wait()
	assert.Empty(t, all.loaded)
	t.Logf("%d loadings for %d takers", loads.Load(), 32*20)
}

// TestTasksShareAPlugin: tasks with the same plugin have it together, with other limits they do not.
func TestTasksShareAPlugin(t *testing.T) {
	h := open(t, newLog(t), nil, Events{})
	config := bare().Config
	tool := given(nil, []*plugins.Inspection{trivialTool(t)})
	var loaded [3]*loaded
	for n := range loaded {
		if n == 2 {
			config.Limits.ToolTimeout--
		}
		var err error
		loaded[n], err = h.load(t.Context(), tool, nil, &config)
		require.NoError(t, err)
	}
	assert.Same(t, loaded[0].byTool["act"], loaded[1].byTool["act"])
	assert.NotSame(t, loaded[0].byTool["act"], loaded[2].byTool["act"])
	for _, l := range loaded {
		l.close()
	}
	assert.Empty(t, h.sharing.loaded)
}

// TestLoadingAgain: who waits for another's loading that fails loads for itself.
func TestLoadingAgain(t *testing.T) {
	all, tool := newSharing(), trivialTool(t)
	begun, fail := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := all.take(context.Background(), shareKey{}, func(*sharedPlugin) error {
			close(begun)
			<-fail
			return context.Canceled
		})
		done <- err
	}()
	<-begun
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := all.take(ended, shareKey{}, nil)
	require.ErrorIs(t, err, context.Canceled, "it does not wait longer than its caller does")
	got := make(chan *sharedPlugin, 1)
	go func() {
		s, err := all.take(context.Background(), shareKey{}, func(s *sharedPlugin) (err error) {
			s.Plugin, err = plugins.Load(context.Background(), tool, plugins.Options{})
			return err
		})
		assert.NoError(t, err)
		got <- s
	}()
	close(fail)
	require.ErrorIs(t, <-done, context.Canceled)
	all.leave(<-got)
	assert.Empty(t, all.loaded)
}

// TestHooksWaitTheirTurn: a recipe that hangs in some tasks takes all of its instances and their whole time; the others'
// hooks wait for them, and do not fail for having waited.
func TestHooksWaitTheirTurn(t *testing.T) {
	m := pt.New()
	ifInput, end := []byte{0x04, 0x40}, []byte{0x0b}
	m.Hook("direct_final", pt.Local(0), ifInput, pt.Forever(), end, pt.Const(int64(abi.CodeNoDecision)))
	m.Manifest(`{"abi": {"major": 1, "minor": 0}, "name": "slow", "version": "1.0.0", "kind": "recipe", "hooks": ["direct_final"]}`)
	recipe, err := plugins.Inspect(m.Bytes())
	require.NoError(t, err)
	const limit = 200 * time.Millisecond
	all := newSharing()
	s, err := all.take(t.Context(), shareKey{}, func(s *sharedPlugin) (err error) {
		s.Plugin, err = plugins.Load(t.Context(), recipe, plugins.Options{HookTimeout: limit})
		return err
	})
	require.NoError(t, err)
	defer all.leave(s)
	var tasks sync.WaitGroup
	for range 3 * runtime.GOMAXPROCS(0) {
		tasks.Go(func() {
			_, err := s.Hook(t.Context(), abi.HookDirectFinal, []byte("hang"))
			var fault *plugins.CallError
			if assert.ErrorAs(t, err, &fault) {
				assert.Contains(t, err.Error(), "did not finish in", "each hook had its time")
			}
		})
	}
	tasks.Go(func() {
		_, err := s.Hook(t.Context(), abi.HookDirectFinal, nil)
		assert.NoError(t, err)
	})
	tasks.Wait()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range cap(s.turns) {
		s.turns <- struct{}{}
	}
	_, err = s.Hook(ended, abi.HookDirectFinal, nil)
	require.ErrorIs(t, err, context.Canceled)
	for range cap(s.turns) {
		<-s.turns
	}
}
