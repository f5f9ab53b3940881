package plugins

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// TestHammer calls hooks and tools of one plugin from 16 goroutines, some of which fault or are cancelled: each
// gets its own answer, from the same image.
func TestHammer(t *testing.T) {
	p := load(t, behave(t), Options{Events: Events{Log: func(string, abi.LogLevel, string) {}}})
	calls := full(60, 8)
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			for n := range calls {
				hammer(t, p, worker, n)
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, len(p.hooks.slots), cap(p.hooks.slots))
	assert.Len(t, p.hooks.slots, len(p.hooks.idle), "nothing is in use")
}

func hammer(t *testing.T, p *Plugin, worker, n int) {
	ctx := context.Background()
	switch (worker + n) % 6 {
	case 0:
		_, err := p.Hook(ctx, abi.HookRefusal, []byte("panic on purpose"))
		assert.ErrorContains(t, err, "on purpose")
	case 1:
		out, err := p.CallTool(ctx, act("count"), nil)
		assert.NoError(t, err)
		assert.Equal(t, "1", out.Result)
	case 2:
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		_, err := p.Hook(canceled, abi.HookRefusal, []byte("count"))
		assert.ErrorIs(t, err, context.Canceled)
	case 3:
		answer, err := p.Hook(ctx, abi.HookRefusal, []byte("count"))
		assert.NoError(t, err)
		assert.JSONEq(t, `{"keywords": ["1"]}`, string(answer.Output))
	default:
		text := fmt.Sprint(worker, n)
		answer, err := p.Hook(ctx, abi.HookRefusal, []byte("echo "+text))
		assert.NoError(t, err)
		assert.JSONEq(t, fmt.Sprintf(`{"keywords": [%q]}`, text), string(answer.Output))
	}
}

// TestPoolIsBounded: with all instances in use a call waits for one, and no longer than its context.
func TestPoolIsBounded(t *testing.T) {
	p := load(t, behave(t), Options{})
	var taken []*instance
	for range cap(p.hooks.slots) {
		i, err := p.hooks.get(t.Context())
		require.NoError(t, err)
		taken = append(taken, i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Hook(ctx, abi.HookRefusal, []byte("count"))
	require.ErrorIs(t, err, context.Canceled)
	assert.EqualError(t, err, `plugin "behave": context canceled`)
	p.opts.HookTimeout = time.Millisecond
	_, err = p.Hook(t.Context(), abi.HookRefusal, []byte("count"))
	assert.EqualError(t, err, `plugin "behave": refusal found no free instance in 1ms (limits.hook_timeout_ms)`)
	p.opts.HookTimeout = time.Minute

	got := make(chan string)
	go func() { got <- words(t, p, "count") }()
	p.hooks.put(taken[0])
	assert.JSONEq(t, `{"keywords": ["1"]}`, <-got, "a call that waits gets what comes back")
	go func() { got <- words(t, p, "count") }()
	p.hooks.discard(taken[1])
	assert.JSONEq(t, `{"keywords": ["1"]}`, <-got)
	for _, i := range taken[2:] {
		p.hooks.put(i)
	}
}

// TestAnswerAtTheDeadline: an instance whose context ended as it answered is not used again, since it may be
// closed at any moment.
func TestAnswerAtTheDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := small("")
	// Logs, at which the context is cancelled, and answers.
	m.Hook("direct_final", pt.Const(1), pt.Const(0), pt.Const(0), pt.Call(fnLog), pt.Drop(), pt.Const(0))
	m.Manifest(manifest("direct_final"))
	p := load(t, m.Bytes(), Options{Events: Events{Log: func(string, abi.LogLevel, string) { cancel() }}})
	_, err := p.Hook(ctx, abi.HookDirectFinal, nil)
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
	assert.Empty(t, p.hooks.slots, "the instance is gone")
}

func TestCloseLeavesNothing(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	i, err := Inspect(behave(t))
	require.NoError(t, err)
	p, err := Load(t.Context(), i, Options{CacheDir: filepath.Join(scratch(), "cache")})
	require.NoError(t, err)
	words(t, p, "count")
	_, err = p.CallTool(t.Context(), act("count"), nil)
	require.NoError(t, err)
	_, err = p.Hook(t.Context(), abi.HookRefusal, []byte("panic"))
	require.Error(t, err)
	require.NoError(t, p.Close())
	assert.Empty(t, p.hooks.slots)
	goleak.VerifyNone(t, ignore)
}
