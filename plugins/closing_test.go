package plugins

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// spinner is a plugin whose hook and tool log a line, and go on for ever, as its initialiser does where initialize says so.
func spinner(t *testing.T, started func(), initialize bool) *Plugin {
	t.Helper()
	m := small("spinning")
	spin := pt.Code(pt.Const(1), pt.Const(0), pt.Const(8), pt.Call(fnLog), pt.Drop(), pt.Forever())
	m.Hook("refusal", spin, pt.Const(0))
	m.Hook("tool_call", spin, pt.Const(0))
	if initialize {
		m.Func("_initialize", nil, nil, spin)
	}
	m.Manifest(strings.Replace(toolManifest(""), `"kind": "tools"`, `"kind": "both", "hooks": ["refusal"]`, 1))
	return load(t, m.Bytes(), Options{Events: Events{Log: func(string, abi.LogLevel, string) { started() }}})
}

// isClosed checks that err says that the plugin was closed, and blames nobody.
func isClosed(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, ErrClosed)
	var fault *CallError
	assert.NotErrorAs(t, err, &fault)
	assert.EqualError(t, err, `plugin "small": closed`)
}

// bothCalls are the ways to ask a plugin.
func bothCalls(p *Plugin) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"hook": func(ctx context.Context) error { _, err := p.Hook(ctx, abi.HookRefusal, nil); return err },
		"tool": func(ctx context.Context) error { _, err := p.CallTool(ctx, act(""), nil); return err },
	}
}

// TestCloseDuringCalls: Close ends what is under way, in calls and in initialisers, and is not told as their fault.
func TestCloseDuringCalls(t *testing.T) {
	for _, initialize := range []bool{false, true} {
		var started, ended sync.WaitGroup
		p := spinner(t, started.Done, initialize)
		for _, call := range bothCalls(p) {
			started.Add(1)
			ended.Go(func() { isClosed(t, call(context.Background())) })
		}
		started.Wait()
		require.NoError(t, p.Close())
		ended.Wait()
	}
}

// TestCloseWithWaitingCalls: so it does for those that wait for an instance.
func TestCloseWithWaitingCalls(t *testing.T) {
	var ended sync.WaitGroup
	begun := make(chan struct{}, 100)
	p := spinner(t, func() { begun <- struct{}{} }, false)
	for range 2 * cap(p.hooks.slots) {
		ended.Go(func() {
			_, err := p.Hook(context.Background(), abi.HookRefusal, nil)
			isClosed(t, err)
		})
	}
	for range cap(p.hooks.slots) {
		<-begun
	}
	require.NoError(t, p.Close())
	ended.Wait()
}

func TestCallsAfterClose(t *testing.T) {
	m := small("")
	m.Hook("refusal", pt.Const(0))
	m.Hook("tool_call", pt.Const(0))
	m.Manifest(strings.Replace(toolManifest(""), `"kind": "tools"`, `"kind": "both", "hooks": ["refusal"]`, 1))
	for _, used := range []bool{false, true} {
		p := load(t, m.Bytes(), Options{})
		if used {
			_, err := p.Hook(t.Context(), abi.HookRefusal, nil)
			require.NoError(t, err)
		}
		require.NoError(t, p.Close())
		for name, call := range bothCalls(p) {
			t.Run(name, func(t *testing.T) {
				for range 5 { // more often than the pool has room
					isClosed(t, call(t.Context()))
				}
			})
		}
		require.NoError(t, p.Close(), "again")
	}
}

// TestCloseHammer: calls that end by themselves, and Close at any moment of theirs.
func TestCloseHammer(t *testing.T) {
	m := small(`{"keywords": ["1"]}`)
	m.Hook("refusal", say(len(`{"keywords": ["1"]}`)))
	m.Manifest(manifest("refusal"))
	for range long(200, 20) {
		p := load(t, m.Bytes(), Options{})
		var ended sync.WaitGroup
		for range 4 {
			ended.Go(func() {
				for {
					if _, err := p.Hook(context.Background(), abi.HookRefusal, nil); err != nil {
						isClosed(t, err)
						return
					}
				}
			})
		}
		_, err := p.Hook(t.Context(), abi.HookRefusal, nil)
		assert.NoError(t, err)
		assert.NoError(t, p.Close())
		ended.Wait()
	}
}
