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

// TestHostileRefused: modules that are dangerous to instantiate are refused by their bytes.
func TestHostileRefused(t *testing.T) {
	loop := func(m *pt.Module) int { return m.Func("", nil, nil, pt.Forever()) }
	memory := func(limits ...byte) []byte {
		m := &pt.Module{}
		m.RawMemory(limits)
		m.Export("memory", pt.KindMemory, 0)
		m.Func("axis_abi_v1", nil, nil, nil)
		m.Hook("refusal", pt.Const(0))
		m.Manifest(manifest("refusal"))
		return m.Bytes()
	}
	for name, r := range map[string]refusal{
		"startloop":         {plugin(func(m *pt.Module) { m.Start(loop(m)) }), "file has a start section, which would run before it is judged; use _initialize"},
		"underscore_start":  {plugin(func(m *pt.Module) { m.Func("_start", nil, nil, pt.Forever()) }), `"small" 1.0.0 is a command module (it exports _start); build a reactor, with Go: go build -buildmode=c-shared`},
		"memhuge":           {memory(append([]byte{0}, pt.U32(65536)...)...), `"small" 1.0.0 starts with 4096 MiB of memory, over its limit of 64 MiB; ask for more with limits.memory_bytes in the manifest`},
		"memory past 4 GiB": {memory(append([]byte{0}, pt.U32(1<<32-1)...)...), "file is not a valid module: memory section at offset 27: memory of 4294967295 pages is over the limit of 65536"},
		"tablehuge":         {plugin(func(m *pt.Module) { m.Table(100_000_000) }), "file is not a valid module: table section at offset 27: 100000000 table elements are over the limit of 65536"},
		"many tables": {plugin(func(m *pt.Module) {
			for range 1000 {
				m.Table(65536)
			}
		}), "file is not a valid module: table section at offset 34: 131072 table elements are over the limit of 65536"},
		"two memories": {plugin(func(m *pt.Module) { m.Memory(1) }), "file is not a valid module: memory section at offset 29: more than one memory"},
		"tail call":    {plugin(func(m *pt.Module) { m.Func("", nil, nil, []byte{0x12, 0}) }), "file is not a valid module: code section at offset 90: instruction 0x12 is not supported"},
	} {
		t.Run(name, r.check)
	}
}

// TestHostileMemoryMax: a maximum of 4 GiB is clamped, whatever the module declares.
func TestHostileMemoryMax(t *testing.T) {
	m := &pt.Module{}
	m.RawMemory(append([]byte{1, 1}, pt.U32(65536)...))
	m.Export("memory", pt.KindMemory, 0)
	m.Func("axis_abi_v1", nil, nil, nil)
	// Grows by a page until that fails (growloop), and answers with how many pages it has, as a code.
	m.Hook("refusal", []byte{0x03, 0x40}, pt.Const(1), []byte{0x40, 0}, pt.Const(-1), []byte{0x47, 0x0d, 0, 0x0b},
		pt.Const(0), []byte{0x3f, 0, 0x6b})
	m.Manifest(manifest("refusal", `"limits": {"memory_bytes": 1048576}, `))
	p := load(t, m.Bytes(), Options{})
	for range 3 {
		_, err := p.Hook(t.Context(), abi.HookRefusal, nil)
		assert.ErrorContains(t, err, "refusal failed (code -16)", "1 MiB is 16 pages")
	}
}

// TestHostileDeadline: what wazero's own switch can stop is stopped, and the plugin can be asked again.
func TestHostileDeadline(t *testing.T) {
	// with makes a hook that does something for ever when it has input, and nothing when it has none.
	with := func(something ...[]byte) []byte {
		return pt.Code(pt.Local(0), []byte{0x04, 0x40, 0x03, 0x40}, pt.Code(something...), []byte{0x0c, 0, 0x0b, 0x0b}, pt.Const(0))
	}
	for name, hook := range map[string][]byte{
		"plainspin":    with(),
		"log storm":    with(pt.Const(1), pt.Const(0), pt.Const(0), pt.Call(fnLog), pt.Drop()),
		"empty writes": with(pt.Const(0), pt.Const(0), pt.Call(fnOutputWrite), pt.Drop()),
		"operations":   with(pt.Const(0), pt.Const(0), pt.Const(0), pt.Const(0), pt.Call(fnHostCall), pt.Drop()),
	} {
		t.Run(name, func(t *testing.T) {
			m := small("")
			m.Hook("refusal", hook)
			m.Manifest(manifest("refusal"))
			p := load(t, m.Bytes(), Options{HookTimeout: 50 * time.Millisecond})
			_, err := p.Hook(t.Context(), abi.HookRefusal, []byte("spin"))
			assert.EqualError(t, err, `plugin "small": refusal did not finish in 50ms and was stopped (limits.hook_timeout_ms)`)
			require.Eventually(t, func() bool {
				_, err := p.Hook(t.Context(), abi.HookRefusal, nil)
				return err == nil
			}, 10*time.Second, time.Millisecond)
		})
	}
}

// TestHostileName: a module that calls itself what others import from stands for nothing, be it loaded first.
func TestHostileName(t *testing.T) {
	shadow := &pt.Module{}
	shadow.Memory(1)
	shadow.Export("memory", pt.KindMemory, 0)
	shadow.Func("axis_abi_v1", nil, nil, nil)
	shadow.Func("output_write", []byte{pt.I32, pt.I32}, []byte{pt.I32}, pt.Const(666))
	shadow.Hook("direct_final", pt.Const(0))
	shadow.Custom("name", pt.Code([]byte{0}, pt.Sized(pt.Name("axis_v1")))) // the module's name
	shadow.Manifest(manifest("direct_final"))
	honest := small("honest")
	honest.Hook("direct_final", say(6))
	honest.Manifest(manifest("direct_final"))
	dir := t.TempDir()
	first := load(t, shadow.Bytes(), Options{CacheDir: dir})
	second := load(t, honest.Bytes(), Options{CacheDir: dir})
	for range 3 {
		_, err := first.Hook(context.Background(), abi.HookDirectFinal, nil)
		require.NoError(t, err)
		answer, err := second.Hook(context.Background(), abi.HookDirectFinal, nil)
		require.NoError(t, err)
		assert.Equal(t, "honest", string(answer.Output))
	}
}

// TestHostileNames: a function's name neither forges frames of a stack nor fills the host's memory with it.
func TestHostileNames(t *testing.T) {
	long := strings.Repeat("n", 8<<20)
	for name, want := range map[string]string{
		"run\n\t.honest() i32\n\n\x1b[2J": "run??.honest() i32???[2J(i32) i32",
		long:                              long[:100] + "…(i32) i32",
	} {
		m := small("")
		hook := m.Hook("refusal", pt.Local(0), pt.Const(-1), pt.Add(), []byte{0x22, 0, 0x04, 0x40}, // itself, as often as its
			pt.Local(0), pt.Call(fnHostCall+2), pt.Drop(), []byte{0x0b}, pt.Unreachable()) // input has bytes
		require.Equal(t, fnHostCall+2, hook)
		m.Custom("name", pt.Code([]byte{1}, pt.Sized(pt.Vec(pt.Code(pt.U32(hook), pt.Name(name))))))
		m.Manifest(manifest("refusal"))
		_, err := load(t, m.Bytes(), Options{}).Hook(t.Context(), abi.HookRefusal, make([]byte, 40))
		var fault *CallError
		require.ErrorAs(t, err, &fault)
		require.Len(t, fault.Frames, 30)
		for _, frame := range fault.Frames[:29] {
			assert.Equal(t, want, frame)
		}
	}
}

// TestHostileStraightLines: code without loops, which wazero's switch passes by, is stopped where it calls the host, by
// whatever name: here it asks for a gigabyte of random bytes, ten thousand times.
func TestHostileStraightLines(t *testing.T) {
	m := pt.New(pt.Import{Module: abi.WASIModule, Name: "random_get", Params: []byte{pt.I32, pt.I32}, Results: []byte{pt.I32}})
	const bytes = 1<<30 - 1<<16
	ask := pt.Code(pt.Const(0), pt.Const(bytes), pt.Call(0), pt.Drop())
	m.Hook("refusal", pt.Const(bytes>>16), []byte{0x40, 0}, pt.Drop(), pt.Local(0), []byte{0x04, 0x40},
		[]byte(strings.Repeat(string(ask), 10_000)), []byte{0x0b}, pt.Const(0))
	m.Manifest(manifest("refusal", `"limits": {"memory_bytes": 1073741824}, `))
	p := load(t, m.Bytes(), Options{HookTimeout: 250 * time.Millisecond})
	_, err := p.Hook(t.Context(), abi.HookRefusal, []byte("spin"))
	assert.EqualError(t, err, `plugin "small": refusal did not finish in 250ms and was stopped (limits.hook_timeout_ms)`)
}
