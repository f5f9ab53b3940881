package wasmbin

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	pt "github.com/axishost/axishost/plugins/plugintest"
)

// counter is a module whose export next counts in its second global, and which exports its memory by those
// names.
func counter(exports ...string) []byte {
	m := &pt.Module{}
	m.Memory(1)
	m.Global(pt.I64, false, pt.Const64(7))
	m.Global(pt.I32, true, pt.Const(41))
	m.Global(pt.I64, true, pt.Const64(-1))
	next := pt.Code(pt.Global(1), pt.Const(1), pt.Add(), pt.SetGlobal(1), pt.Global(1))
	m.Func("next", nil, []byte{pt.I32}, next)
	for _, name := range exports {
		m.Export(name, pt.KindMemory, 0)
	}
	m.Custom("axis.manifest", []byte("one"))
	m.Custom("other", []byte("two"))
	m.Custom("axis.manifest", []byte("three"))
	return m.Bytes()
}

// run instantiates a module and calls next twice.
func run(t *testing.T, binary []byte) (results []uint64, mod api.Module) {
	t.Helper()
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { assert.NoError(t, runtime.Close(ctx)) })
	mod, err := runtime.Instantiate(ctx, binary)
	require.NoError(t, err)
	for range 2 {
		got, err := mod.ExportedFunction("next").Call(ctx)
		require.NoError(t, err)
		results = append(results, got...)
	}
	return results, mod
}

func parse(t *testing.T, b []byte) *Module {
	t.Helper()
	m, err := Parse(b)
	require.NoError(t, err)
	return m
}

func TestAppendAndWithoutCustom(t *testing.T) {
	b := counter()
	before := slices.Clone(b)
	m := parse(t, b)

	appended := parse(t, m.AppendCustom("extra", []byte("four")))
	assert.Equal(t, append(slices.Clone(m.Customs), Custom{"extra", []byte("four")}), appended.Customs)
	without := parse(t, appended.WithoutCustom("axis.manifest"))
	assert.Equal(t, []Custom{{"other", []byte("two")}, {"extra", []byte("four")}}, without.Customs)
	assert.Equal(t, b, parse(t, appended.WithoutCustom("extra")).bytes, "what was added is gone, and nothing else")
	assert.Equal(t, b, m.WithoutCustom("absent"))
	assert.Equal(t, before, b, "edits do not write to the module")

	results, _ := run(t, without.bytes)
	assert.Equal(t, []uint64{42, 43}, results)
}

func TestExportGlobals(t *testing.T) {
	m := parse(t, counter())
	rewritten, names := m.ExportGlobals()
	assert.Equal(t, []string{"axis.global.0.1", "axis.global.0.2"}, names)
	assert.Equal(t, m.Customs, parse(t, rewritten).Customs)

	results, mod := run(t, rewritten)
	assert.Equal(t, []uint64{42, 43}, results)
	assert.Equal(t, uint64(43), mod.ExportedGlobal(names[0]).Get())
	assert.Equal(t, ^uint64(0), mod.ExportedGlobal(names[1]).Get())
	mod.ExportedGlobal(names[0]).(api.MutableGlobal).Set(8)
	got, err := mod.ExportedFunction("next").Call(context.Background())
	require.NoError(t, err)
	assert.Equal(t, []uint64{9}, got)
}

func TestExportGlobalsAvoidsTakenNames(t *testing.T) {
	dots := "axis.global." + string(slices.Repeat([]byte("."), 1<<20))
	m := parse(t, counter("axis.global.0.1", "axis.global.1", dots, "axis.global."))
	rewritten, names := m.ExportGlobals()
	assert.Equal(t, []string{"axis.global.2.1", "axis.global.2.2"}, names)
	parse(t, rewritten)
}

// TestExportGlobalsWithoutExports: the section that is not there is put in its place.
func TestExportGlobalsWithoutExports(t *testing.T) {
	for name, more := range map[string]func(*pt.Module){
		"nothing behind": func(*pt.Module) {},
		"start and code": func(m *pt.Module) { m.Start(m.Func("", nil, nil, nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			m := &pt.Module{}
			m.Global(pt.I32, true, pt.Const(5))
			more(m)
			m.Custom("c", nil)
			rewritten, names := parse(t, m.Bytes()).ExportGlobals()
			require.Equal(t, []string{"axis.global.0.0"}, names)
			exports := parse(t, rewritten).Exports
			assert.Equal(t, []Export{{Name: names[0], Kind: ExternGlobal}}, exports)
		})
	}
}

func TestExportGlobalsNothingToDo(t *testing.T) {
	m := &pt.Module{}
	m.RawImport("env", "g", pt.KindGlobal, []byte{pt.I32, 1})
	m.Global(pt.I32, false, pt.Const(5))
	b := m.Bytes()
	rewritten, names := parse(t, b).ExportGlobals()
	assert.Empty(t, names)
	assert.Equal(t, b, rewritten)
}
