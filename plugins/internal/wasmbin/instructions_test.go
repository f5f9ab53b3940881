package wasmbin

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pt "github.com/axishost/axishost/plugins/plugintest"
)

// one is a module with one of most things, whose function 1 of that type has that code.
func one(params, results []byte, code ...[]byte) []byte {
	m := &pt.Module{}
	m.Type([]byte{pt.I32}, []byte{pt.I64})
	m.Memory(1)
	m.Table(1)
	m.RawTable([]byte{pt.ExternRef, 0, 1})
	m.Global(pt.I32, false, pt.Const(1))
	m.Global(pt.F64, true, append([]byte{0x44}, make([]byte, 8)...))
	m.PassiveData([]byte("x"))
	m.RawElements([]byte{1, 0, 1, 0})
	m.Func("", nil, nil, nil)
	m.Func("", params, results, pt.Code(code...))
	return m.Bytes()
}

// TestEveryOpcode: each opcode in unreachable code, which has values of any type, gets wazero's verdict with
// few and with many bytes of immediates behind it.
func TestEveryOpcode(t *testing.T) {
	r := newReferee(t)
	try := func(code ...byte) {
		for n := range 20 {
			// An unreachable ends it, so that it doesn't matter what is left on the stack.
			r.judge(t, fmt.Sprintf("%#x", code), one(nil, nil, []byte{0x00}, code, make([]byte, n), []byte{0x00}))
		}
	}
	for op := range 256 {
		switch op {
		case opMisc, opSIMD:
			for sub := range 300 {
				try(pt.Code([]byte{byte(op)}, pt.U32(sub))...)
			}
		default:
			try(byte(op))
		}
	}
	t.Log(r.counts)
	assert.Greater(t, r.counts["accepted by both"], 4000)
}

// TestSignatures gives each instruction with a constant signature operands of each type: wazero has the same
// opinion on all of them.
func TestSignatures(t *testing.T) {
	ops := newOpcodes()
	r := newReferee(t)
	types, accepted := []byte{pt.I32, pt.V128, pt.I64, pt.F32, pt.F64, pt.FuncRef, pt.ExternRef}, 2000
	if raceEnabled {
		types, accepted = types[:2], 200
	}
	try := func(o *opcode, code ...byte) {
		if !o.known {
			return
		}
		immediates := map[immediate]int{immMemory: 2, immLane: 1, immMemLane: 3, immBytes: 16, immShuffle: 16}
		code = append(code, make([]byte, immediates[o.imm])...)
		takes := o.pops[:o.count]
		for i := -1; i < int(o.count); i++ {
			for _, other := range types {
				params := slices.Clone(takes)
				if i >= 0 {
					params[i] = other
				}
				slices.Reverse(params)
				var body []byte
				for n := range params {
					body = append(body, pt.Local(n)...)
				}
				for _, result := range append([]byte{unknown}, types...) {
					var results []byte
					if result != unknown {
						results = []byte{result}
					}
					r.judge(t, fmt.Sprintf("%#x", code), one(params, results, body, code))
				}
			}
		}
	}
	for op := range 256 {
		try(&ops.plain[op], byte(op))
		try(&ops.simd[op], pt.Code([]byte{opSIMD}, pt.U32(op))...)
	}
	for sub := range ops.misc {
		try(&ops.misc[sub], opMisc, byte(sub))
	}
	t.Log(r.counts)
	assert.Greater(t, r.counts["accepted by both"], accepted)
}

// TestCodeErrors: what is wrong is said in one line, at the offset of the instruction.
func TestCodeErrors(t *testing.T) {
	i, j := pt.Const(1), pt.Const64(1)
	bad := map[string]struct {
		code []byte
		want string
	}{
		"operand missing":      {pt.Code(i, pt.Add()), "instruction 0x6a takes a value and finds none"},
		"operand of the block": {pt.Code(i, []byte{0x02, 0x40, 0x1a, 0x0b}), "instruction 0x1a takes a value and finds none"},
		"operand type":         {pt.Code(j, i, pt.Add()), "instruction 0x6a takes i32 and finds i64"},
		"value left":           {i, "block ends with 1 values too many"},
		"else":                 {[]byte{0x05}, "else without if"},
		"if without else":      {pt.Code(i, []byte{0x04, pt.I32}, i, []byte{0x0b, 0x1a}), "if without else has results other than its parameters"},
		"label":                {[]byte{0x0c, 1}, "branch to block 1 of 1"},
		"table arity":          {pt.Code([]byte{0x02, pt.I32}, i, i, []byte{0x0e, 1, 0, 1, 0x0b, 0x1a}), "branch table has targets with 1 and 0 values"},
		"table type":           {pt.Code([]byte{0x02, pt.I64, 0x02, pt.I32}, i, i, []byte{0x0e, 1, 1, 0, 0x0b, 0x1a, 0x42, 0, 0x0b, 0x1a}), "branch table takes i64 and finds i32"},
		"local":                {pt.Local(0), "local 0 is not there"},
		"global":               {pt.Global(9), "global 9 of 2"},
		"global constant":      {pt.Code(i, pt.SetGlobal(0)), "global 0 is constant"},
		"function":             {pt.Call(2), "function 2 of 2"},
		"block type":           {[]byte{0x02, 9, 0x0b}, "block type 9 is not known"},
		"block type exnref":    {[]byte{0x02, 0x69, 0x0b}, "block type -23 is not known"},
		"block type long":      {[]byte{0x02, 0xc0, 0x7f, 0x0b}, "block type -64 is not known"},
		"align":                {pt.Code(i, []byte{0x28, 3, 0, 0x1a}), "alignment 2^3 of instruction 0x28 is over its size"},
		"memory":               {[]byte{0x3f, 1, 0x1a}, "instruction 0x3f names another memory than the first"},
		"lane":                 {pt.Code([]byte{0xfd, 12}, make([]byte, 16), []byte{0xfd, 0x1d, 2, 0x1a}), "lane 2 of 2"},
		"select references":    {pt.Code([]byte{0xd0, 0x70, 0xd0, 0x70}, i, []byte{0x1b, 0x1a}), "select of references does not say their type"},
		"select two types":     {pt.Code(i, j, i, []byte{0x1b, 0x1a}), "select between i32 and i64"},
		"select other type":    {pt.Code(i, i, i, []byte{0x1c, 1, pt.I64, 0x1a}), "select of type i64 finds i32 and i32"},
		"select types":         {pt.Code(i, i, i, []byte{0x1c, 2, pt.I32, pt.I32, 0x1a}), "select of 2 types"},
		"reference type":       {[]byte{0xd0, 0x69, 0x1a}, "reference type 0x69 is not known"},
		"is_null of a number":  {pt.Code(i, []byte{0xd1, 0x1a}), "instruction 0xd1 takes a reference and finds i32"},
		"undeclared":           {[]byte{0xd2, 1, 0x1a}, "function 1 is referred to and not declared"},
		"table":                {pt.Code(i, []byte{0x25, 2, 0x1a}), "table 2 of 2"},
		"call of externs":      {pt.Code(i, []byte{0x11, 1, 1}), "indirect call through a table of externref"},
		"data":                 {[]byte{0xfc, 9, 1}, "data segment 1 of 1"},
		"elements":             {[]byte{0xfc, 13, 1}, "element segment 1 of 1"},
		"table.init":           {pt.Code(i, i, i, []byte{0xfc, 12, 0, 1}), "instruction 0xfc 12 puts funcref into a table of externref"},
		"table.copy":           {pt.Code(i, i, i, []byte{0xfc, 14, 0, 1}), "instruction 0xfc 14 puts externref into a table of funcref"},
		"over-long SIMD":       {pt.Code([]byte{0xfd, 0x8c, 0}, make([]byte, 16), []byte{0x1a}), "instruction 0xfd 12 is not supported"},
	}
	for name, tt := range bad {
		t.Run(name, func(t *testing.T) {
			b := one(nil, nil, tt.code)
			_, err := Parse(b)
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, tt.want, e.Reason)
			assert.Equal(t, "code section", e.Section)
			at := len(b) - e.Offset
			assert.True(t, at > 0 && at <= len(tt.code)+len("\x0b\x0b\x04\x01\x01\x01x"), "offset %d of %d", e.Offset, len(b))
		})
	}
}

// TestManyLocals: locals past those that are spread out are found, each with its type.
func TestManyLocals(t *testing.T) {
	var groups [][]byte
	for n := range 50 {
		groups = append(groups, append(pt.U32(1000), []byte{pt.I32, pt.I64}[n%2]))
	}
	body := func(local int, op ...byte) []byte {
		content := pt.Code(pt.Vec(groups...), pt.Local(local), op, []byte{0x1a, 0x0b})
		return pt.Binary(pt.Section(1, pt.Vec(pt.FuncType([]byte{pt.F32}, nil))), pt.Section(3, []byte{1, 0}), pt.Section(10, pt.Vec(pt.Sized(content))))
	}
	r := newReferee(t)
	for _, local := range []int{0, 1, 1000, 1001, 2000, 2001, 25_000, 49_001, 50_000, 50_001} {
		for _, op := range []byte{0x8c, 0x45, 0x50} { // f32.neg, i32.eqz, i64.eqz
			r.judge(t, fmt.Sprint(local), body(local, op))
		}
	}
	assert.Equal(t, 9, r.counts["accepted by both"])
}

// TestManyValues: bodies that make signatures move many values are refused before they take long.
func TestManyValues(t *testing.T) {
	wide := slices.Repeat([]byte{pt.I32}, 30_000)
	for name, code := range map[string][]byte{
		"calls":  slices.Repeat([]byte{0x10, 0}, 500_000),
		"labels": pt.Code([]byte{0x10, 0}, slices.Repeat([]byte{0x02, 1}, 1000), pt.Const(0), []byte{0x0e}, pt.U32(500_000), slices.Repeat([]byte{3}, 500_000), []byte{0x00}),
	} {
		t.Run(name, func(t *testing.T) {
			m := &pt.Module{}
			m.Func("", nil, wide, []byte{0x00})
			m.Type(wide, wide)
			m.Func("", nil, nil, code)
			_, err := Parse(m.Bytes())
			require.ErrorContains(t, err, "over the limit")
		})
	}
}

// TestManyParameters: neither do functions that are short and have many parameters.
func TestManyParameters(t *testing.T) {
	const n = 100_000
	wide := slices.Repeat([]byte{pt.I32}, n)
	b := pt.Binary(pt.Section(1, pt.Vec(pt.FuncType(wide, nil))), pt.Section(3, pt.U32(n), make([]byte, n)),
		pt.Section(10, pt.U32(n), slices.Repeat([]byte{2, 0, 0x0b}, n)))
	_, err := Parse(b)
	require.ErrorContains(t, err, "over the limit")
}
