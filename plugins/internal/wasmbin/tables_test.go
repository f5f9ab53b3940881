package wasmbin

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	pt "github.com/axishost/axishost/plugins/plugintest"
)

// growing is a module with tables of those types and limits, whose export next grows table 0 by n and gives the answer.
func growing(n int64, tables ...[]byte) []byte {
	m := &pt.Module{}
	for _, t := range tables {
		m.RawTable(t)
	}
	m.Global(pt.I32, true, pt.Const(0))
	m.Func("next", nil, []byte{pt.I32}, pt.Code([]byte{0xd0, tables[0][0]}, pt.Const(n), []byte{0xfc, 15, 0}))
	m.Custom("c", []byte("data"))
	return m.Bytes()
}

func TestCapTables(t *testing.T) {
	limits := func(kind byte, flag byte, n ...int) []byte {
		out := []byte{kind, flag}
		for _, v := range n {
			out = append(out, pt.U32(v)...)
		}
		return out
	}
	for name, tt := range map[string]struct {
		tables [][]byte
		want   []uint32 // their ends
	}{
		"no end":          {[][]byte{limits(pt.FuncRef, 0, 1)}, []uint32{65536}},
		"a small end":     {[][]byte{limits(pt.FuncRef, 1, 1, 70)}, []uint32{70}},
		"a large end":     {[][]byte{limits(pt.FuncRef, 1, 1, 1<<32-1)}, []uint32{65536}},
		"full":            {[][]byte{limits(pt.FuncRef, 0, 65536)}, []uint32{65536}},
		"two of any kind": {[][]byte{limits(pt.ExternRef, 0, 36), limits(pt.FuncRef, 0, 500)}, []uint32{32536, 33000}},
	} {
		t.Run(name, func(t *testing.T) {
			m := parse(t, growing(1, tt.tables...))
			exported, _ := m.ExportGlobals()
			capped := parse(t, m.CapTables(exported))
			var ends []uint32
			for _, table := range capped.Tables {
				assert.True(t, table.HasMax)
				ends = append(ends, table.Max)
			}
			assert.Equal(t, tt.want, ends)
			assert.Equal(t, m.tableTypes, capped.tableTypes)
			assert.Equal(t, m.Customs, capped.Customs)
		})
	}
	one := limits(pt.FuncRef, 0, 1)
	for n, want := range map[int64][]uint64{1: {1, 2}, 40_000: {1, 1<<32 - 1}, 1 << 31: {1<<32 - 1, 1<<32 - 1}} {
		b := growing(n, one)
		results, _ := run(t, parse(t, b).CapTables(b))
		assert.Equal(t, want, results, "grown by %d", n)
	}
}

// TestCapTablesNothingToDo: where no instruction grows a table, the module stays as it is.
func TestCapTablesNothingToDo(t *testing.T) {
	m := &pt.Module{}
	m.Table(1)
	b := m.Bytes()
	assert.Equal(t, slices.Clone(b), parse(t, b).CapTables(b))
}
