package plugins

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// callError asks refusal and gives the fault that comes of it; the call after it must work.
func callError(t *testing.T, p *Plugin, input string) *CallError {
	t.Helper()
	_, err := p.Hook(t.Context(), abi.HookRefusal, []byte(input))
	var fault *CallError
	require.ErrorAs(t, err, &fault)
	assert.NotContains(t, err.Error(), "\n")
	assert.JSONEq(t, `{"keywords": ["1"]}`, words(t, p, "count"), "the next call works")
	return fault
}

// TestGuestDies lets a Go guest end its call in each way that a Go program has.
func TestGuestDies(t *testing.T) {
	p := load(t, behave(t), Options{})
	for name, tt := range map[string]struct {
		input string
		kind  FaultKind
		want  string
	}{
		"panic, lines":    {"panic one\ntwo\x1b[2J", FaultPanic, `refusal panicked: one\n\ttwo\x1b[2J`},
		"nil pointer":     {"nil", FaultPanic, `refusal panicked: runtime error: invalid memory address or nil pointer dereference`},
		"exit 0":          {"exit 0", FaultExit, `refusal exited with code 0 in the middle of the call`},
		"exit 3":          {"exit 3", FaultExit, `refusal exited with code 3 in the middle of the call`},
		"exit, explained": {"exit 1 no such\ntable", FaultExit, `refusal exited with code 1 in the middle of the call (it wrote: table)`},
	} {
		t.Run(name, func(t *testing.T) {
			fault := callError(t, p, tt.input)
			assert.Equal(t, tt.kind, fault.Kind)
			assert.Equal(t, "behave", fault.Plugin)
			assert.Equal(t, abi.HookRefusal, fault.Hook)
			assert.Contains(t, fault.Error(), tt.want)
			assert.True(t, strings.HasPrefix(fault.Error(), `plugin "behave": refusal `))
		})
	}
	t.Run("error with text", func(t *testing.T) {
		_, err := p.Hook(t.Context(), abi.HookStart, []byte(`{"task": "the task is too\nlong"}`))
		var fault *CallError
		require.ErrorAs(t, err, &fault)
		assert.Equal(t, abi.CodeFailed, fault.Code)
		assert.EqualError(t, err, `plugin "behave": start failed (failed): the task is too\nlong`)
	})
	t.Run("bad input", func(t *testing.T) {
		_, err := p.Hook(t.Context(), abi.HookStart, []byte(`not JSON`))
		var fault *CallError
		require.ErrorAs(t, err, &fault)
		assert.Equal(t, abi.CodeBadInput, fault.Code)
	})
}

func TestGrowthWithinTheCap(t *testing.T) {
	p := load(t, behave(t), Options{})
	for range 4 {
		assert.JSONEq(t, `{"keywords": ["10"]}`, words(t, p, "grow 10"))
		assert.JSONEq(t, `{"keywords": ["1"]}`, words(t, p, "count"))
	}
}

// TestCallersContext: what ends the caller's context is the caller's error, and no fault of the plugin.
func TestCallersContext(t *testing.T) {
	p := load(t, behave(t), Options{HookTimeout: time.Minute})
	reason := assert.AnError
	calls := map[string]func(ctx context.Context) error{
		"hook": func(ctx context.Context) error {
			_, err := p.Hook(ctx, abi.HookRefusal, []byte("loop"))
			return err
		},
		"tool": func(ctx context.Context) error { _, err := p.CallTool(ctx, act("loop"), nil); return err },
	}
	for name, call := range calls {
		check := func(t *testing.T, err, want error, text string) {
			t.Helper()
			require.ErrorIs(t, err, want)
			var fault *CallError
			assert.NotErrorAs(t, err, &fault)
			assert.EqualError(t, err, `plugin "behave": `+text)
			assert.JSONEq(t, `{"keywords": ["1"]}`, words(t, p, "count"))
		}
		t.Run(name+" canceled before", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			check(t, call(ctx), context.Canceled, "context canceled")
		})
		t.Run(name+" canceled meanwhile", func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := time.AfterFunc(20*time.Millisecond, func() { cancel(reason) })
			defer stop.Stop()
			check(t, call(ctx), reason, reason.Error())
		})
		t.Run(name+" deadline", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			check(t, call(ctx), context.DeadlineExceeded, "context deadline exceeded")
		})
	}
}

// TestSmallFaults gives what hand-made guests do, and the line that comes of it.
func TestSmallFaults(t *testing.T) {
	write := pt.Import{Module: abi.WASIModule, Name: "fd_write", Params: []byte{pt.I32, pt.I32, pt.I32, pt.I32}, Results: []byte{pt.I32}}
	imports := append(pt.Host(abi.FuncOutputWrite, abi.FuncErrorSet), write)
	const fnError, fnPrint = 1, 2
	fail := func(n int64) []byte {
		return pt.Code(pt.Const(-14), pt.Const(16), pt.Const(n), pt.Call(fnError), pt.Drop())
	}
	print := pt.Code(pt.Const(2), pt.Const(0), pt.Const(1), pt.Const(8), pt.Call(fnPrint), pt.Drop())
	for name, tt := range map[string]struct {
		text string // at 16, and the first vector of fd_write
		code []byte
		want string
	}{
		"division":            {"", pt.Code(pt.Const(1), pt.Const(0), []byte{0x6d}), "trapped: integer divide by zero"},
		"load out of bounds":  {"", pt.Code(pt.Const(-1), pt.Load8()), "trapped: out of bounds memory access"},
		"trap, having spoken": {"loading\ntable 7\n", pt.Code(print, pt.Unreachable()), "trapped: unreachable (it wrote: table 7)"},
		"Rust panic":          {"thread 'main' panicked at src/lib.rs:2:5:\nno table\nnote: run with `RUST_BACKTRACE=1`", pt.Code(print, pt.Unreachable()), `panicked: src/lib.rs:2:5:\nno table`},
		"Rust, no memory":     {"memory allocation of 9 bytes failed\n", pt.Code(print, pt.Unreachable()), "trapped: unreachable (it wrote: memory allocation of 9 bytes failed) (its memory is capped at 64 MiB: limits.memory_bytes in the manifest)"},
		"error with text":     {"no table", pt.Code(fail(8), pt.Const(-1)), "failed (invalid): no table"},
		"error, unknown code": {"", pt.Const(-77), "failed (code -77): it gave no reason (error_set was not called)"},
		"smallest code":       {"", pt.Const(-1 << 31), "failed (code -2147483648): it gave no reason (error_set was not called)"},
		"code 2":              {"", pt.Const(2), "gave bad output: return code 2 is not known"},
		"largest code":        {"", pt.Const(1<<31 - 1), "gave bad output: return code 2147483647 is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			m := pt.New(imports...)
			m.Hook("direct_final", tt.code)
			m.Data(0, pt.Code([]byte{16, 0, 0, 0, byte(len(tt.text)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, []byte(tt.text)))
			m.Manifest(manifest("direct_final"))
			_, err := load(t, m.Bytes(), Options{}).Hook(t.Context(), abi.HookDirectFinal, nil)
			assert.EqualError(t, err, `plugin "small": direct_final `+tt.want)
		})
	}
}

// TestErrorTextIsDropped: with 0 and 1 the text of error_set means nothing.
func TestErrorTextIsDropped(t *testing.T) {
	m := small("text")
	set := pt.Code(pt.Const(-14), pt.Const(0), pt.Const(4), pt.Call(fnErrorSet), pt.Drop())
	m.Hook("direct_final", set, say(4))
	m.Hook("refusal", set, pt.Const(0))
	m.Manifest(manifest("direct_final refusal"))
	p := load(t, m.Bytes(), Options{})
	answer, err := p.Hook(t.Context(), abi.HookDirectFinal, nil)
	require.NoError(t, err)
	assert.Equal(t, Answer{Decided: true, Output: []byte("text")}, answer)
	answer, err = p.Hook(t.Context(), abi.HookRefusal, nil)
	require.NoError(t, err)
	assert.Equal(t, Answer{}, answer)
}

// TestInitFaults: what goes wrong in _initialize is told by each call, hook or tool, in its own words.
func TestInitFaults(t *testing.T) {
	exit := pt.Import{Module: abi.WASIModule, Name: "proc_exit", Params: []byte{pt.I32}}
	for name, tt := range map[string]struct {
		code []byte
		want string
	}{
		"trap":   {pt.Unreachable(), "trapped: unreachable"},
		"exit 0": {pt.Code(pt.Const(0), pt.Call(0)), "exited with code 0 in the middle of the call"},
		"loop":   {pt.Forever(), "did not finish in 50ms and was stopped (limits.hook_timeout_ms)"},
	} {
		t.Run(name, func(t *testing.T) {
			m := pt.New(exit)
			m.Func("_initialize", nil, nil, tt.code)
			m.Hook("refusal", pt.Const(0))
			m.Hook("tool_call", pt.Const(0))
			m.Manifest(strings.Replace(toolManifest(""), `"kind": "tools"`, `"kind": "both", "hooks": ["refusal"]`, 1))
			p := load(t, m.Bytes(), Options{HookTimeout: 50 * time.Millisecond})
			for range 5 { // more often than the pool has room
				_, err := p.Hook(t.Context(), abi.HookRefusal, nil)
				assert.EqualError(t, err, `plugin "small": _initialize `+tt.want)
			}
			_, err := p.CallTool(t.Context(), act(""), nil)
			assert.EqualError(t, err, `plugin "small": _initialize `+tt.want)
		})
	}
}

// TestNoInstance: what keeps wazero from making an instance is not told as a fault of an initialiser.
func TestNoInstance(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(m *pt.Module)
		want   string
	}{
		"data past the end": {func(m *pt.Module) { m.Data(0, []byte("fits")); m.Data(abi.PageBytes-1, []byte("two")) },
			"data[1]: out of bounds memory access"},
		"data before the beginning": {func(m *pt.Module) { m.Data(-1, []byte("x")) }, "data[0]: out of bounds memory access"},
		"with an initialiser": {func(m *pt.Module) { m.Func("_initialize", nil, nil, nil); m.Data(-1, []byte("x")) },
			"data[0]: out of bounds memory access"},
	} {
		t.Run(name, func(t *testing.T) {
			p := load(t, plugin(tt.change), Options{})
			for range 5 { // more often than the pool has room
				_, err := p.Hook(t.Context(), abi.HookRefusal, nil)
				var fault *CallError
				require.ErrorAs(t, err, &fault)
				assert.Equal(t, FaultInstance, fault.Kind)
				assert.EqualError(t, err, `plugin "small" cannot be instantiated: `+tt.want)
			}
		})
	}
}

func TestFaultKindString(t *testing.T) {
	var names []string
	for k := range FaultInstance + 1 {
		names = append(names, k.String())
	}
	assert.Equal(t, []string{"unknown", "trap", "panic", "exit", "timeout", "failed", "bad_output", "undeclared", "instance"}, names)
}
