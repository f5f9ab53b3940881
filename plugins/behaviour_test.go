package plugins

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// misdeed is one way in which a guest misbehaves when it is called, and all that may come of it.
type misdeed struct {
	name string
	// A hand-made guest runs code, which leaves what the hook returns, and has text in memory, that many pages
	// of it, the globals that init sets, and those limits. The guest behave does what says tells it.
	code   []byte
	text   string
	pages  int
	init   []byte
	limits string
	says   string
	opts   Options

	// kind and want are the error, after the names of plugin and hook. Without them the call goes on, and
	// gives what it gives when nothing is amiss.
	kind FaultKind
	want string
	// heard is all that the log hears of a hand-made guest.
	heard []string
	// pushes tells that the guest pushes much at the host, which must not keep it, be it for a moment.
	pushes bool
}

// Where things stand in the memory of a hand-made guest.
const (
	atHookAnswer = 0
	atToolAnswer = 100
	atFound      = 140
	atPreview    = 210
	atChecked    = 280
	atMark       = 400
	atText       = 1000

	hookAnswer    = `{"keywords": ["fine"]}`
	toolAnswer    = `{"status": "ok", "result": "fine"}`
	foundAnswer   = `{"status": "found", "result": "fine"}`
	previewAnswer = `{"impact": "fine", "reversible": "no"}`
	checkedAnswer = `{"ok": true, "reason": "fine"}`
)

// Functions that a hand-made guest has beside those of small.
const (
	fnExit = fnHostCall + 1 + iota
	fnMarker
	fnDeep  // calls itself without end
	fnDepth // calls itself as often as it is told
)

const mib = 1 << 20

// again is code that runs body n times. Body leaves nothing.
func again(n int64, body ...[]byte) []byte {
	// Counts down in global 1, which the image has as 0.
	return pt.Code(pt.Const(n), pt.SetGlobal(1), []byte{0x03, 0x40}, pt.Code(body...),
		pt.Global(1), pt.Const(-1), pt.Add(), pt.SetGlobal(1), pt.Global(1), []byte{0x0d, 0, 0x0b})
}

// misdeeds are the behaviours that a host must stand, under the names that the project's list has for them.
func misdeeds() []misdeed {
	write := func(ptr, n int64) []byte { return pt.Code(pt.Const(ptr), pt.Const(n), pt.Call(fnOutputWrite)) }
	log := func(ptr, n int64) []byte { return pt.Code(pt.Const(2), pt.Const(ptr), pt.Const(n), pt.Call(fnLog)) }
	decide := func(text string) misdeed {
		return misdeed{text: text, code: pt.Code(write(atText, int64(len(text))), pt.Drop(), pt.Const(1)), kind: FaultBadOutput}
	}
	named := func(name, want string, m misdeed) misdeed { m.name, m.want = name, want; return m }
	forged := "done\n2026-11-30 ERROR axishost: disk full\r\x1b[2J\x1b]0;owned\x07\u202egnp\x00\u2028\xff"
	refused := func(limit string) []string { return []string{"output past the limit of " + limit + " was refused"} }
	return []misdeed{
		{name: "trap", code: pt.Unreachable(), kind: FaultTrap, want: "trapped: unreachable"},
		{name: "trap, having said why", text: "no table", kind: FaultTrap, want: "trapped: unreachable (its error text: no table)",
			code: pt.Code(pt.Const(-14), pt.Const(atText), pt.Const(8), pt.Call(fnErrorSet), pt.Drop(), pt.Unreachable())},
		{name: "panic", says: "panic no\ntable", kind: FaultPanic, want: `panicked: no\n\ttable`},
		{name: "infinite loop", code: pt.Code(pt.Forever(), pt.Const(0)), kind: FaultTimeout,
			opts: Options{HookTimeout: 100 * time.Millisecond, ToolTimeout: 100 * time.Millisecond},
			want: "did not finish in 100ms and was stopped (limits.hook_timeout_ms)"},
		{name: "out-of-range pointer", code: log(65536, 1), kind: FaultTrap,
			want: "trapped: out of bounds memory access: log was given 1 bytes at 65536 of 65536"},
		{name: "wrapping pointer", code: write(0xffffffff, 2), kind: FaultTrap,
			want: "trapped: out of bounds memory access: output_write was given 2 bytes at 4294967295 of 65536"},
		{name: "lying length", code: write(0, 0xffffffff), kind: FaultTrap,
			want: "trapped: out of bounds memory access: output_write was given 4294967295 bytes at 0 of 65536"},
		{name: "lying capacity", code: pt.Code(pt.Const(0), pt.Const(65535), pt.Const(2), pt.Call(fnInputRead)), kind: FaultTrap,
			want: "trapped: out of bounds memory access: input_read was given 2 bytes at 65535 of 65536"},

		{name: "100 MB of output", code: pt.Code(again(1600, write(0, 65536), pt.Drop()), pt.Const(1)), pushes: true, kind: FaultBadOutput, heard: refused("1 MiB"),
			want: "gave bad output: not a JSON object (output past the limit of 1 MiB was refused: limits.output_bytes in the manifest)"},
		{name: "100 MB of output at once", code: write(0, 100*mib), pages: 1600, limits: `"memory_bytes": 134217728`, pushes: true, heard: refused("1 MiB"),
			kind: FaultFailed, want: "failed (no_space): it gave no reason (error_set was not called)" +
				" (output past the limit of 1 MiB was refused: limits.output_bytes in the manifest)"},
		{name: "100 MB of output at once, unheeded", code: pt.Code(write(0, 100*mib), pt.Drop(), pt.Const(1)), pages: 1600,
			limits: `"memory_bytes": 134217728, "output_bytes": 2097152`, pushes: true, kind: FaultBadOutput, heard: refused("2 MiB"),
			want: "gave bad output: a decision without output (output past the limit of 2 MiB was refused: limits.output_bytes in the manifest)"},
		{name: "100 MB of output, by the operator's limit", code: pt.Code(again(1600, write(0, 65536), pt.Drop()), pt.Const(1)), pushes: true,
			opts: Options{OutputBytes: 131072}, kind: FaultBadOutput, heard: refused("128 KiB"),
			want: "gave bad output: not a JSON object (output past the limit of 128 KiB was refused: limits.plugin_output_bytes)"},
		{name: "10 MB log line", code: pt.Code(log(atText, 10*mib), pt.Drop()), text: strings.Repeat("x", 5000), pages: 161, pushes: true,
			heard: []string{strings.Repeat("x", 4096) + "… (10485760 bytes, cut off at 4096)"}},
		{name: "a million log lines", code: again(1_000_000, log(atText, 1), pt.Drop()), text: "x", pushes: true,
			heard: append(strings.Split(strings.Repeat("x", 100), ""), "999900 lines were dropped, past the limit of 100 in one call")},
		{name: "forged log lines", code: pt.Code(log(atText, int64(len(forged))), pt.Drop()), text: forged,
			heard: []string{`done\n2026-11-30 ERROR axishost: disk full\r\x1b[2J\x1b]0;owned\a\u202egnp\x00\u2028` + "\ufffd"}},

		{name: "error code without text", code: pt.Const(-14), kind: FaultFailed,
			want: "failed (failed): it gave no reason (error_set was not called)"},
		{name: "decision without output", code: pt.Const(1), kind: FaultBadOutput, want: "gave bad output: a decision without output"},
		named("invalid UTF-8", "gave bad output: text is not UTF-8", decide("{\"keywords\": [\"\xff\"]}")),
		named("invalid JSON", "gave bad output: not a JSON object", decide(`{"keywords": [`)),

		{name: "deep recursion", code: pt.Code(pt.Const(0), pt.Call(fnDeep)), kind: FaultTrap,
			want: "trapped: stack overflow: calls nested past the 50 MB of stack that a guest may use"},
		{name: "deep recursion that returns", code: pt.Code(pt.Const(1_000_000), pt.Call(fnDepth), pt.Drop())},
		{name: "deep recursion in Go", says: "recurse", kind: FaultPanic,
			want: "panicked: out of memory (its memory is capped at 32 MiB: limits.memory_bytes in the manifest)"},
		{name: "memory at its cap", code: pt.Code([]byte{0x03, 0x40}, pt.Const(1), []byte{0x40, 0}, pt.Const(-1), []byte{0x47, 0x0d, 0, 0x0b}, pt.Unreachable()),
			limits: `"memory_bytes": 1048576`, kind: FaultTrap,
			want: "trapped: unreachable (its memory is capped at 1 MiB: limits.memory_bytes in the manifest)"},
		{name: "memory at the operator's cap", code: pt.Code(pt.Const(7), []byte{0x40, 0}, pt.Drop(), pt.Unreachable()),
			limits: `"memory_bytes": 1048576`, opts: Options{MemoryBytes: 524288}, kind: FaultTrap,
			want: "trapped: unreachable (its memory is capped at 512 KiB: limits.plugin_memory_bytes)"},
		{name: "memory at its cap in Go", says: "grow 1000", kind: FaultPanic,
			want: "panicked: out of memory (its memory is capped at 32 MiB: limits.memory_bytes in the manifest)"},
		// 160 MB of table, of which the guest hears -1 and makes that its code.
		{name: "tables at their cap", code: pt.Code([]byte{0xd0, pt.FuncRef}, pt.Const(20_000_000), []byte{0xfc, 15, 0}), pushes: true, kind: FaultFailed,
			want: "failed (invalid): it gave no reason (error_set was not called)"},
		{name: "exit in the middle", code: pt.Code(pt.Const(0), pt.Call(fnExit), pt.Const(1)), kind: FaultExit,
			want: "exited with code 0 in the middle of the call"},
		// What _initialize was told is in global 2, and the hook fails with it.
		{name: "host call in _initialize", text: "config/1", code: pt.Global(2), kind: FaultFailed,
			init: pt.Code(pt.Const(atText), pt.Const(8), pt.Const(0), pt.Const(0), pt.Call(fnHostCall), []byte{0xa7}, pt.SetGlobal(2)),
			want: "failed (not_now): it gave no reason (error_set was not called)"},
	}
}

// guest makes the hand-made guest: it misbehaves when its input is long, and else answers that all is fine,
// having made sure that it starts from its image.
func (m misdeed) guest(t *testing.T) []byte {
	imports := pt.Host(abi.FuncInputRead, abi.FuncOutputWrite, abi.FuncErrorSet, abi.FuncLog, abi.FuncHostCall)
	imports = append(imports, pt.Import{Module: abi.WASIModule, Name: "proc_exit", Params: []byte{pt.I32}})
	w := &pt.Module{}
	for _, i := range imports {
		w.Import(i)
	}
	w.Memory(max(m.pages, 1))
	w.Export("memory", pt.KindMemory, 0)
	require.Equal(t, fnMarker, w.Func("axis_abi_v1", nil, nil, nil))
	require.Equal(t, fnDeep, w.Func("", []byte{pt.I32}, []byte{pt.I32}, pt.Code(pt.Local(0), pt.Call(fnDeep), pt.Const(1), pt.Add())))
	less := pt.Code(pt.Local(0), pt.Const(-1), pt.Add(), pt.Call(fnDepth), pt.Const(1), pt.Add())
	require.Equal(t, fnDepth, w.Func("", []byte{pt.I32}, []byte{pt.I32},
		pt.Code(pt.Local(0), []byte{0x04, pt.I32}, less, []byte{0x05}, pt.Const(0), []byte{0x0b})))
	w.Table(1)
	for range 3 {
		w.Global(pt.I32, true, pt.Const(0))
	}
	answer := func(ptr int64, text string) []byte {
		return pt.Code(pt.Const(ptr), pt.Const(int64(len(text))), pt.Call(fnOutputWrite), pt.Drop(), pt.Const(1))
	}
	hook := func(good []byte) []byte {
		unless := func(condition []byte) []byte { return pt.Code(condition, []byte{0x04, 0x40, 0x00, 0x0b}) }
		bad := m.code
		if m.kind == 0 {
			bad = pt.Code(bad, good)
		}
		return pt.Code(
			unless(pt.Global(0)), unless(pt.Code(pt.Const(atMark), pt.Load8())),
			pt.Local(0), pt.Const(200), []byte{0x4b, 0x04, 0x40}, // if in_len > 200
			pt.Const(1), pt.SetGlobal(0), pt.Const(atMark), pt.Const(1), pt.Store8(),
			bad, []byte{0x0f, 0x0b}, // return, end
			good)
	}
	w.Hook("refusal", hook(answer(atHookAnswer, hookAnswer)))
	for name, good := range map[abi.Hook][]byte{
		abi.HookToolCall: answer(atToolAnswer, toolAnswer), abi.HookToolCompensate: answer(atToolAnswer, toolAnswer),
		abi.HookToolReconcile: answer(atFound, foundAnswer), abi.HookToolPreview: answer(atPreview, previewAnswer),
		abi.HookToolCheck: answer(atChecked, checkedAnswer),
	} {
		w.Hook(string(name), hook(good))
	}
	if m.init != nil {
		w.Func("_initialize", nil, nil, m.init)
	}
	w.Data(atHookAnswer, []byte(hookAnswer))
	w.Data(atToolAnswer, []byte(toolAnswer))
	w.Data(atFound, []byte(foundAnswer))
	w.Data(atPreview, []byte(previewAnswer))
	w.Data(atChecked, []byte(checkedAnswer))
	w.Data(atText, []byte(m.text))
	w.Manifest(strings.Replace(toolManifest(allHooks), `"kind": "tools"`,
		fmt.Sprintf(`"kind": "both", "hooks": ["refusal"], "optional": ["config/1"], "limits": {%s}`, m.limits), 1))
	return w.Bytes()
}

// asked calls the plugin by hook or by tool, for good or for ill, and gives what it says.
type asked func(bad bool) (string, error)

func (m misdeed) ways(t *testing.T, p *Plugin) map[abi.Hook]asked {
	ctx := t.Context()
	long := map[bool]string{true: strings.Repeat("x", 300), false: ""}
	if m.says != "" {
		long = map[bool]string{true: m.says, false: "count"}
	}
	arguments := func(bad bool) json.RawMessage { return act(long[bad]).Arguments }
	return map[abi.Hook]asked{
		abi.HookRefusal: func(bad bool) (string, error) {
			answer, err := p.Hook(ctx, abi.HookRefusal, []byte(long[bad]))
			return string(answer.Output), err
		},
		abi.HookToolCall: func(bad bool) (string, error) {
			out, err := p.CallTool(ctx, act(long[bad]), nil)
			return out.Result, err
		},
		abi.HookToolReconcile: func(bad bool) (string, error) {
			out, err := p.Reconcile(ctx, abi.ReconcileInput{Tool: "act", Arguments: arguments(bad)}, nil)
			return out.Result, err
		},
		abi.HookToolCompensate: func(bad bool) (string, error) {
			out, err := p.Compensate(ctx, abi.CompensateInput{Tool: "act", Arguments: arguments(bad)}, nil)
			return out.Result, err
		},
		abi.HookToolPreview: func(bad bool) (string, error) {
			out, err := p.Preview(ctx, abi.PreviewInput{Tool: "act", Arguments: arguments(bad)})
			return out.Impact, err
		},
		abi.HookToolCheck: func(bad bool) (string, error) {
			out, err := p.Check(ctx, abi.CheckInput{Tool: "act", Stage: abi.CheckAfter, Arguments: arguments(bad)})
			return out.Reason, err
		},
	}
}

// spent is what a call allocates of Go's heap, linear memory included, and of it what is left after a collection.
func spent(call func()) (allocated, kept int64) {
	var before, after, later runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	runtime.GC()
	runtime.GC() // finalizers free in the next collection
	runtime.ReadMemStats(&later)
	return int64(after.TotalAlloc - before.TotalAlloc), int64(later.HeapAlloc) - int64(before.HeapAlloc)
}

// TestBehaviour lets guests misbehave, in hooks and in tools. Each time one line comes of it that names plugin,
// hook and limit; the host keeps nothing of what was pushed at it; and the next call starts from the image.
func TestBehaviour(t *testing.T) {
	for _, m := range misdeeds() {
		t.Run(m.name, func(t *testing.T) {
			var heard []string
			opts, name := m.opts, "small"
			opts.HookTimeout, opts.ToolTimeout = 0, 0
			opts.Events.Log = func(_ string, _ abi.LogLevel, text string) { heard = append(heard, text) }
			packed := m.guest(t)
			if m.says != "" {
				packed, name = behave(t), "behave"
			}
			p := load(t, packed, opts)
			patient := p.opts
			for hook, ask := range m.ways(t, p) {
				fine, err := ask(false)
				require.NoError(t, err, "before")
				usual, _ := spent(func() { _, err = ask(false) })
				require.NoError(t, err)

				heard = nil
				if m.opts.HookTimeout > 0 {
					p.opts.HookTimeout, p.opts.ToolTimeout = m.opts.HookTimeout, m.opts.ToolTimeout
				}
				var got string
				allocated, kept := spent(func() { got, err = ask(true) })
				p.opts.HookTimeout, p.opts.ToolTimeout = patient.HookTimeout, patient.ToolTimeout
				if m.kind == 0 {
					require.NoError(t, err)
					assert.Equal(t, fine, got)
				} else {
					m.check(t, name, hook, err)
				}
				if m.says == "" { // behave also says when it starts
					assert.Equal(t, m.heard, heard)
				}
				if m.pushes {
					assert.Less(t, allocated-usual, int64(8*mib), "what the host took in")
				}
				assert.Less(t, kept, int64(8*mib), "what it keeps")

				got, err = ask(false)
				require.NoError(t, err, "the next call")
				assert.Equal(t, fine, got)
			}
		})
	}
	t.Run("call for an undeclared hook", undeclared)
}

// undeclared calls what the guest behave exports and its manifest does not declare.
func undeclared(t *testing.T) {
	p := load(t, behave(t), Options{})
	m := misdeed{kind: FaultUndeclared, want: "was not called: the manifest does not declare it"}
	_, err := p.Hook(t.Context(), abi.HookDirectFinal, nil)
	m.check(t, "behave", abi.HookDirectFinal, err)
	require.ErrorIs(t, err, ErrUndeclared)
	m.want = "is for tools: the recipe's hooks have none of that name"
	for _, hook := range []abi.Hook{abi.HookToolCall, abi.HookToolPreview} {
		_, err = p.Hook(t.Context(), hook, nil)
		m.check(t, "behave", hook, err)
	}
	m.want = `was not called: the manifest declares no tool "other\n"`
	_, err = p.CallTool(t.Context(), abi.ToolInput{Tool: "other\n"}, nil)
	m.check(t, "behave", abi.HookToolCall, err)
	m.want = `was not called: the manifest does not declare it for tool "bare"`
	_, err = p.Check(t.Context(), abi.CheckInput{Tool: "bare"})
	m.check(t, "behave", abi.HookToolCheck, err)
	require.ErrorIs(t, err, ErrUndeclared)
	assert.JSONEq(t, `{"keywords": ["1"]}`, words(t, p, "count"), "the next call works")
}

func (m misdeed) check(t *testing.T, plugin string, hook abi.Hook, err error) {
	t.Helper()
	var fault *CallError
	require.ErrorAs(t, err, &fault)
	assert.Equal(t, m.kind, fault.Kind)
	if m.kind == FaultTrap && !strings.Contains(m.want, "stack overflow") { // for which wazero gives none
		assert.NotEmpty(t, fault.Frames)
	}
	assert.Equal(t, plugin, fault.Plugin)
	assert.Equal(t, hook, fault.Hook)
	want := m.want
	if slices.Contains([]abi.Hook{abi.HookToolCall, abi.HookToolReconcile, abi.HookToolCompensate}, hook) {
		want = strings.Replace(want, "hook_timeout", "tool_timeout", 1)
	}
	assert.EqualError(t, err, fmt.Sprintf("plugin %q: %s %s", plugin, hook, want))
}
