package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

func TestHook(t *testing.T) {
	p := load(t, behave(t), Options{Config: json.RawMessage(`{"key": "value"}`)})
	assert.Equal(t, "behave", p.Manifest().Name)
	assert.Len(t, p.Digest(), 64)

	assert.JSONEq(t, `{"keywords": ["hello, 世界"]}`, words(t, p, "echo hello, 世界"))
	assert.JSONEq(t, `{"keywords": ["value"]}`, words(t, p, "config"))
	answer, err := p.Hook(t.Context(), abi.HookRefusal, []byte("none"))
	require.NoError(t, err)
	assert.Equal(t, Answer{}, answer)
}

func TestConfigIsAnEmptyObjectByDefault(t *testing.T) {
	assert.JSONEq(t, `{"keywords": [""]}`, words(t, load(t, behave(t), Options{}), "config"))
}

// TestConfigNotAsked: a plugin that does not name config/1 is denied it.
func TestConfigNotAsked(t *testing.T) {
	m := small("config/1")
	m.Hook("refusal", pt.Const(0), pt.Const(8), pt.Const(0), pt.Const(0), pt.Call(fnHostCall), []byte{0xa7})
	m.Manifest(manifest("refusal"))
	_, err := load(t, m.Bytes(), Options{}).Hook(t.Context(), abi.HookRefusal, nil)
	assert.ErrorContains(t, err, "refusal failed (denied)")
}

// TestSameImage: nothing is kept from one call to the next, by hooks or by tools.
func TestSameImage(t *testing.T) {
	p := load(t, behave(t), Options{})
	for range 20 {
		assert.JSONEq(t, `{"keywords": ["1"]}`, words(t, p, "count"))
		out, err := p.CallTool(t.Context(), act("count"), nil)
		require.NoError(t, err)
		assert.Equal(t, "1", out.Result)
	}
}

// TestSameWorld: clock, random numbers, environment, standard input and the order of maps are the same in each call,
// instance, process image and kind of call.
func TestSameWorld(t *testing.T) {
	packed := behave(t)
	first := words(t, load(t, packed, Options{}), "world")
	for _, want := range []string{"2022-01-01 00:00:00", "1h0m0.", `"[]","[]"`, "0 EOF"} {
		assert.Contains(t, first, want)
	}
	p := load(t, packed, Options{})
	for range 3 {
		assert.Equal(t, first, words(t, p, "world"))
	}
	var tools []string
	for range 2 {
		out, err := p.CallTool(t.Context(), act("world"), nil)
		require.NoError(t, err)
		tools = append(tools, out.Result)
	}
	assert.Equal(t, tools[0], tools[1])
}

// TestSeed: the random sequence follows from the plugin's bytes.
func TestSeed(t *testing.T) {
	code := func(version string) abi.Code {
		m := pt.New(pt.Import{Module: abi.WASIModule, Name: "random_get", Params: []byte{pt.I32, pt.I32}, Results: []byte{pt.I32}})
		// Answers with four random bytes, as a negative code.
		m.Hook("refusal", pt.Const(0), pt.Const(4), pt.Call(0), pt.Drop(),
			pt.Const(0), []byte{0x28, 0, 0}, pt.Const(-1<<31), []byte{0x72})
		packed := pack(t, m.Bytes(), strings.Replace(manifest("refusal"), `"1.0.0"`, `"`+version+`"`, 1))
		_, err := load(t, packed, Options{}).Hook(t.Context(), abi.HookRefusal, nil)
		var fault *CallError
		require.ErrorAs(t, err, &fault)
		return fault.Code
	}
	assert.Equal(t, code("1.0.0"), code("1.0.0"))
	assert.NotEqual(t, code("1.0.0"), code("1.0.1"))
}

// TestImageIsRestored: a hand-made guest counts in memory and in globals of each number type, which are not
// exported, and traps when it finds that it was there before.
func TestImageIsRestored(t *testing.T) {
	m := small("x")
	m.Global(pt.I32, true, pt.Const(0))
	m.Global(pt.I64, true, pt.Const64(0))
	unless := func(condition []byte) []byte { return pt.Code(condition, []byte{0x04, 0x40, 0x00, 0x0b}) } // if unreachable end
	m.Hook("direct_final",
		unless(pt.Global(0)),
		unless(pt.Code(pt.Global(1), []byte{0xa7})),
		unless(pt.Code(pt.Const(60_000), pt.Load8())),
		pt.Const(1), pt.SetGlobal(0), pt.Const64(1), pt.SetGlobal(1), pt.Const(60_000), pt.Const(1), pt.Store8(),
		say(1))
	m.Manifest(manifest("direct_final"))
	p := load(t, m.Bytes(), Options{})
	for range 20 {
		answer, err := p.Hook(t.Context(), abi.HookDirectFinal, nil)
		require.NoError(t, err)
		assert.Equal(t, "x", string(answer.Output))
	}
}

// TestImageCannotBeRestored: a guest that changes a table, or grows its memory, gets an instance for each call.
func TestImageCannotBeRestored(t *testing.T) {
	table := small("x")
	table.Table(2)
	f := table.Func("", nil, nil, nil)
	table.Elements(0, f)
	// Traps when slot 1 is set already, then sets it.
	table.Hook("direct_final", pt.Const(1), []byte{0x25, 0, 0xd1, 0x45, 0x04, 0x40, 0x00, 0x0b},
		pt.Const(1), []byte{0xd2}, pt.U32(f), []byte{0x26, 0}, say(1))
	grows := small("x")
	// Traps when memory is not one page, then grows it.
	grows.Hook("direct_final", []byte{0x3f, 0}, pt.Const(1), []byte{0x47, 0x04, 0x40, 0x00, 0x0b},
		pt.Const(1), []byte{0x40, 0}, pt.Drop(), say(1))
	for name, m := range map[string]*pt.Module{"table": table, "memory": grows} {
		t.Run(name, func(t *testing.T) {
			m.Manifest(manifest("direct_final"))
			p := load(t, m.Bytes(), Options{})
			for range 20 {
				_, err := p.Hook(t.Context(), abi.HookDirectFinal, nil)
				require.NoError(t, err)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	var mu sync.Mutex
	var got []string
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf(format, args...))
	}
	p := load(t, behave(t), Options{Events: Events{
		Log:      func(plugin string, level abi.LogLevel, text string) { say("%s %d %s", plugin, level, text) },
		Progress: func(plugin, text string) { say("%s: %s", plugin, text) },
	}})
	words(t, p, "speak one\ntwo")
	assert.Equal(t, []string{"behave 1 behave starts", `behave 2 one\ntwo`, `behave: one\ntwo`}, got)
}

// TestHostCallInInit: while it is initialised a guest may log, and nothing else.
func TestHostCallInInit(t *testing.T) {
	p := load(t, behave(t), Options{})
	assert.JSONEq(t, `{"keywords": ["config/1: not_now"]}`, words(t, p, "early"))
}

func TestInputLimit(t *testing.T) {
	m := small("")
	m.Hook("direct_final", pt.Const(0))
	m.Manifest(manifest("direct_final"))
	p := load(t, m.Bytes(), Options{})
	_, err := p.Hook(t.Context(), abi.HookDirectFinal, make([]byte, abi.MaxInputBytes))
	require.NoError(t, err)
	_, err = p.Hook(t.Context(), abi.HookDirectFinal, make([]byte, abi.MaxInputBytes+1))
	assert.EqualError(t, err, `plugin "small": direct_final failed (too_large): input of 16777217 bytes is over the limit of 16777216`)
}

func TestOutputLimit(t *testing.T) {
	// Writes its whole page until that is refused, and then gives what it was told.
	m := small("x")
	write := pt.Code(pt.Const(0), pt.Const(65536), pt.Call(fnOutputWrite))
	m.Hook("direct_final", []byte{0x03, 0x40}, write, []byte{0x45, 0x0d, 0, 0x0b}, pt.Const(1))
	for limit, want := range map[int]int{0: abi.DefaultOutputBytes, 200_000: 196_608, 10: 0} {
		packed := pack(t, m.Bytes(), manifest("direct_final", fmt.Sprintf(`"limits": {"output_bytes": %d}, `, limit)))
		answer, err := load(t, packed, Options{}).Hook(t.Context(), abi.HookDirectFinal, nil)
		if want == 0 {
			assert.EqualError(t, err, `plugin "small": direct_final gave bad output: a decision without output (output past the limit of 10 bytes was refused: limits.output_bytes in the manifest)`)
			continue
		}
		require.NoError(t, err)
		assert.Len(t, answer.Output, want)
	}
}

func TestOperatorsMemoryLimit(t *testing.T) {
	big := &pt.Module{}
	big.Memory(3)
	big.Export("memory", pt.KindMemory, 0)
	big.Func("axis_abi_v1", nil, nil, nil)
	big.Hook("refusal", pt.Const(0))
	big.Manifest(manifest("refusal"))
	i, err := Inspect(big.Bytes())
	require.NoError(t, err)
	_, err = Load(t.Context(), i, Options{MemoryBytes: 2 * abi.PageBytes})
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	assert.EqualError(t, err, `plugin "small" 1.0.0 starts with 192 KiB of memory, over the 128 KiB that it is given here`)
	p, err := Load(t.Context(), i, Options{MemoryBytes: 3 * abi.PageBytes})
	require.NoError(t, err)
	assert.NoError(t, p.Close())
}

func TestLoadCanceled(t *testing.T) {
	i, err := Inspect(behave(t))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, err := Load(ctx, i, Options{})
	if err == nil { // a compilation need not look at its context
		require.NoError(t, p.Close())
		return
	}
	require.ErrorIs(t, err, context.Canceled)
	var refused *RefusedError
	assert.NotErrorAs(t, err, &refused, "nothing is wrong with the plugin")
}

func TestToolTimeout(t *testing.T) {
	spec := func(ms int64) abi.ToolSpec { return abi.ToolSpec{TimeoutMillis: ms} }
	for _, tt := range []struct {
		operator time.Duration
		own      int64
		want     timeout
	}{
		{0, 0, timeout{abi.DefaultToolMillis * time.Millisecond, ownTimeout}},
		{0, abi.MaxToolMillis, timeout{time.Hour, ownTimeout}},
		{time.Minute, 0, timeout{time.Minute, "limits.tool_timeout_ms"}},
		{time.Minute, 1000, timeout{time.Second, ownTimeout}},
		{time.Minute, 120_000, timeout{time.Minute, "limits.tool_timeout_ms"}},
	} {
		p := &Plugin{opts: Options{ToolTimeout: tt.operator}}
		assert.Equal(t, tt.want, p.toolTimeout(spec(tt.own)))
	}
}

// act is a call of the tool act.
func act(do string) abi.ToolInput {
	arguments, _ := json.Marshal(map[string]string{"do": do})
	return abi.ToolInput{Tool: "act", Arguments: arguments, OperationID: "op", Attempt: 1}
}
