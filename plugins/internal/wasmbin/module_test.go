package wasmbin

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// sample is a module with every section, which counts in a global.
func sample() []byte {
	m := &pt.Module{}
	m.RawImport("env", "table", pt.KindTable, []byte{pt.ExternRef, 0, 1})
	m.RawImport("env", "global", pt.KindGlobal, []byte{pt.I64, 1})
	tick := m.Import(pt.Import{Module: "env", Name: "tick", Params: []byte{pt.I32, pt.I64, pt.F32, pt.F64}, Results: []byte{pt.V128, pt.FuncRef, pt.ExternRef}})
	m.Table(3)
	m.RawMemory([]byte{1, 1, 4})
	m.Global(pt.I32, true, pt.Const(41))
	m.Global(pt.F64, false, append([]byte{0x44}, make([]byte, 8)...))
	run := m.Func("run", nil, []byte{pt.I32}, pt.Code(pt.Global(1), pt.Const(1), pt.Add(), pt.SetGlobal(1), pt.Global(1)))
	start := m.Func("", nil, nil, nil)
	m.Export("memory", pt.KindMemory, 0)
	m.Export("table", pt.KindTable, 1)
	m.Export("global", pt.KindGlobal, 1)
	m.Export("tick", pt.KindFunc, tick)
	m.Start(start)
	m.RawElements(slices.Concat([]byte{2, 1}, pt.Const(0), []byte{0x0b, 0, 1}, pt.U32(run)))
	m.Data(8, []byte("data"))
	m.Custom("axis.manifest", []byte("{}"))
	m.Custom("name", nil)
	return m.Bytes()
}

func TestParse(t *testing.T) {
	b := sample()
	m, err := Parse(b)
	require.NoError(t, err)

	tick := abi.Function{Name: "tick", Params: []abi.ValueType{"i32", "i64", "f32", "f64"}, Results: []abi.ValueType{"v128", "funcref", "externref"}}
	assert.Equal(t, []Import{
		{Module: "env", Name: "table", Kind: ExternTable},
		{Module: "env", Name: "global", Kind: ExternGlobal},
		{Module: "env", Name: "tick", Kind: ExternFunc, Type: tick},
	}, m.Imports)
	assert.Equal(t, []Export{
		{Name: "run", Kind: ExternFunc, Index: 1, Type: abi.Function{Name: "run", Results: []abi.ValueType{"i32"}}},
		{Name: "memory", Kind: ExternMemory},
		{Name: "table", Kind: ExternTable, Index: 1},
		{Name: "global", Kind: ExternGlobal, Index: 1},
		{Name: "tick", Kind: ExternFunc, Type: tick},
	}, m.Exports)
	assert.Equal(t, []Limits{{Min: 1, Max: 4, HasMax: true}}, m.Memories)
	assert.Equal(t, []Limits{{Min: 3}}, m.Tables)
	assert.Equal(t, []Custom{{Name: "axis.manifest", Data: []byte("{}")}, {Name: "name", Data: []byte{}}}, m.Customs)
	assert.Equal(t, 2, m.Functions)
	assert.True(t, m.HasStart)
}

func TestParseEmptyModule(t *testing.T) {
	m, err := Parse(pt.Binary())
	require.NoError(t, err)
	assert.Empty(t, m.Imports)
	assert.False(t, m.HasStart)
	assert.True(t, m.Restorable())
}

func TestExternKindString(t *testing.T) {
	var names []string
	for k := range ExternKind(5) {
		names = append(names, k.String())
	}
	assert.Equal(t, []string{"function", "table", "memory", "global", "unknown kind"}, names)
}

// TestOverlongIntegers: encodings longer than needed are allowed up to five bytes.
func TestOverlongIntegers(t *testing.T) {
	long := []byte{0x81, 0x80, 0x80, 0x80, 0}
	m, err := Parse(pt.Binary(pt.Section(5, long, []byte{0}, long)))
	require.NoError(t, err)
	assert.Equal(t, []Limits{{Min: 1}}, m.Memories)
}

func TestRestorable(t *testing.T) {
	type setup func(m *pt.Module)
	global := func(value byte, mutable bool, init ...byte) setup {
		return func(m *pt.Module) { m.Global(value, mutable, init) }
	}
	// Behind an unreachable, instructions find operands of any type, and before one it doesn't matter what
	// they leave.
	code := func(instructions ...byte) setup {
		return func(m *pt.Module) {
			m.Memory(1)
			m.Table(1)
			m.PassiveData(nil)
			m.Elements(0)
			m.Func("f", nil, nil, pt.Code([]byte{0x00}, instructions, []byte{0x00}))
		}
	}
	tests := map[string]struct {
		setup setup
		want  bool
	}{
		"nothing":                  {func(*pt.Module) {}, true},
		"mutable numbers":          {global(pt.I32, true, 0x41, 0), true},
		"mutable i64":              {global(pt.I64, true, 0x42, 0), true},
		"mutable f32":              {global(pt.F32, true, 0x43, 0, 0, 0, 0), true},
		"mutable f64":              {global(pt.F64, true, 0x44, 0, 0, 0, 0, 0, 0, 0, 0), true},
		"constant reference":       {global(pt.FuncRef, false, 0xd0, pt.FuncRef), true},
		"mutable function":         {global(pt.FuncRef, true, 0xd0, pt.FuncRef), false},
		"mutable extern":           {global(pt.ExternRef, true, 0xd0, pt.ExternRef), false},
		"mutable vector":           {global(pt.V128, true, append([]byte{0xfd, 12}, make([]byte, 16)...)...), false},
		"imported constant global": {func(m *pt.Module) { m.RawImport("e", "g", pt.KindGlobal, []byte{pt.I32, 0}) }, true},
		"imported mutable global":  {func(m *pt.Module) { m.RawImport("e", "g", pt.KindGlobal, []byte{pt.I32, 1}) }, false},
		"table.get":                {code(0x25, 0), true},
		"table.size":               {code(0xfc, 16, 0), true},
		"memory.init":              {code(0xfc, 8, 0, 0), true},
		"memory.copy":              {code(0xfc, 10, 0, 0), true},
		"memory.fill":              {code(0xfc, 11, 0), true},
		"saturating conversion":    {code(0xfc, 7), true},
		"table.set":                {code(0x26, 0), false},
		"data.drop":                {code(0xfc, 9, 0), false},
		"table.init":               {code(0xfc, 12, 0, 0), false},
		"elem.drop":                {code(0xfc, 13, 0), false},
		"table.copy":               {code(0xfc, 14, 0, 0), false},
		"table.grow":               {code(0xfc, 15, 0), false},
		"table.fill":               {code(0xfc, 17, 0), false},
		"over-long opcode":         {code(0xfc, 0x8f, 0, 0), false},
		"inside a block":           {code(0x02, 0x40, 0x03, 0x40, 0x00, 0x26, 0, 0x0b, 0x0b), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := &pt.Module{}
			tt.setup(m)
			parsed, err := Parse(m.Bytes())
			require.NoError(t, err)
			assert.Equal(t, tt.want, parsed.Restorable())
		})
	}
}
