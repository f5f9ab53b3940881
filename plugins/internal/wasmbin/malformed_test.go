package wasmbin

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pt "github.com/axishost/axishost/plugins/plugintest"
)

func TestParseMalformed(t *testing.T) {
	nothing := pt.FuncType(nil, nil)
	// function is a module with one function whose body has that content after its length.
	function := func(body ...byte) []byte {
		return pt.Binary(pt.Section(1, pt.Vec(nothing)), pt.Section(3, []byte{1, 0}), pt.Section(10, pt.Vec(pt.Sized(body))))
	}
	// first is a module whose first section has that id and content: the content begins at offset 10.
	first := func(id byte, content ...byte) []byte { return pt.Binary(pt.Section(id, content)) }
	// typed has a type section of 4 bytes before it: the content begins at offset 16.
	typed := func(id byte, content ...byte) []byte {
		return pt.Binary(pt.Section(1, pt.Vec(nothing)), pt.Section(id, content))
	}
	tests := map[string]struct {
		module []byte
		want   string
	}{
		"version 2":        {[]byte("\x00asm\x02\x00\x00\x00"), "header at offset 4: only version 1 of the binary format is known"},
		"unknown section":  {first(13), "header at offset 8: section id 13 is not known"},
		"section twice":    {pt.Binary(pt.Section(1, []byte{0}), pt.Section(1, []byte{0})), "type section at offset 11: is repeated or out of order"},
		"section too late": {pt.Binary(pt.Section(7, []byte{0}), pt.Section(1, []byte{0})), "type section at offset 11: is repeated or out of order"},
		"data count late":  {pt.Binary(pt.Section(10, []byte{0}), pt.Section(12, []byte{0})), "data count section at offset 11: is repeated or out of order"},
		"no size":          {[]byte("\x00asm\x01\x00\x00\x00\x01"), "type section at offset 9: ends too early"},
		"size too large":   {[]byte("\x00asm\x01\x00\x00\x00\x01\x05\x00"), "type section at offset 10: 5 bytes are announced and 1 are left"},
		"size over-long":   {[]byte("\x00asm\x01\x00\x00\x00\x01\x80\x80\x80\x80\x80\x00"), "type section at offset 9: integer is longer than 32 bits"},
		"size over 32 bit": {[]byte("\x00asm\x01\x00\x00\x00\x01\xff\xff\xff\xff\x1f"), "type section at offset 9: integer is longer than 32 bits"},

		"custom without name":     {first(0), "custom section at offset 10: ends too early"},
		"custom name too long":    {first(0, 5, 'a'), "custom section at offset 11: 5 bytes are announced and 1 are left"},
		"custom name not UTF-8":   {first(0, 1, 0xff), "custom section at offset 10: name is not UTF-8"},
		"type count":              {first(1, 9), "type section at offset 10: 9 types are announced in 0 bytes"},
		"type form":               {first(1, 1, 0x50), "type section at offset 11: type form 0x50 is not a function type"},
		"type value":              {first(1, 1, 0x60, 1, 0x7a), "type section at offset 13: value type 0x7a is not known"},
		"type results missing":    {first(1, 1, 0x60, 0), "type section at offset 13: ends too early"},
		"type count of params":    {first(1, 1, 0x60, 9), "type section at offset 12: 9 value types are announced in 0 bytes"},
		"type left over":          {first(1, 0, 7, 7), "type section at offset 11: 2 bytes are left over"},
		"import kind":             {first(2, 1, 0, 0, 9), "import section at offset 13: import kind 9 is not known"},
		"import of tag":           {first(2, 1, 0, 0, 4), "import section at offset 13: import kind 4 is not known"},
		"import type":             {typed(2, 1, 0, 0, 0, 1), "import section at offset 20: type 1 of 1"},
		"import name not UTF-8":   {first(2, 1, 0, 1, 0xc0, 0), "import section at offset 12: name is not UTF-8"},
		"import cut off":          {first(2, 1, 1, 'm'), "import section at offset 13: ends too early"},
		"import table of numbers": {first(2, 1, 0, 0, 1, pt.I32, 0, 0), "import section at offset 14: table of i32"},
		"import global":           {first(2, 1, 0, 0, 3, pt.I32, 2), "import section at offset 15: mutability 0x2 is not known"},
		"import memory":           {first(2, 1, 0, 0, 2, 4, 0), "import section at offset 14: limits flag 0x4 is not known"},
		"function type":           {typed(3, 1, 1), "function section at offset 17: type 1 of 1"},
		"function without code":   {typed(3, 1, 0), "code section at offset 18: is missing: 1 functions have no body"},
		"table of numbers":        {first(4, 1, pt.I64, 0, 1), "table section at offset 11: table of i64"},
		"table limits":            {first(4, 1, pt.FuncRef, 8, 1), "table section at offset 12: limits flag 0x8 is not known"},
		"memory64":                {first(5, 1, 4, 1), "memory section at offset 11: limits flag 0x4 is not known"},
		"memory without max":      {first(5, 1, 1, 1), "memory section at offset 13: ends too early"},
		"global type":             {first(6, 1, 0x40, 0, 0x0b), "global section at offset 11: value type 0x40 is not known"},
		"global mutability":       {first(6, 1, pt.I32, 2, 0x41, 0, 0x0b), "global section at offset 12: mutability 0x2 is not known"},
		"global without end":      {first(6, 1, pt.I32, 0, 0x41, 0), "global section at offset 15: ends too early"},
		"global instruction":      {first(6, 1, pt.I32, 0, 0xff, 0x0b), "global section at offset 13: instruction 0xff is not constant"},
		"export kind":             {first(7, 1, 1, 'x', 4, 0), `export section at offset 11: export "x" is of kind 4, which is not known`},
		"export twice":            {pt.Binary(pt.Section(5, []byte{1, 0, 0}), pt.Section(7, []byte{2, 1, 'x', 2, 0, 1, 'x', 2, 0})), `export section at offset 20: "x" is exported twice`},
		"export of no function":   {first(7, 1, 1, 'x', 0, 3), `export section at offset 11: export "x" names function 3 of 0`},
		"start left over":         {pt.Binary(pt.Section(1, pt.Vec(nothing)), pt.Section(2, []byte{1, 1, 'm', 0, 0, 0}), pt.Section(8, []byte{0, 0})), "start section at offset 25: 1 bytes are left over"},
		"code count":              {first(10, 1, 2, 0, 0x0b), "code section at offset 10: 1 bodies for 0 functions"},

		"import of no module":   {first(2, 1, 0, 1, 'x', 2, 0, 0), `import section at offset 11: import "x" is of a module without a name, which wazero refuses`},
		"shared memory":         {first(5, 1, 3, 1, 4), "memory section at offset 11: shared memories and tables are not supported"},
		"memory limits":         {first(5, 1, 1, 5, 4), "memory section at offset 11: limits end at 4, before their beginning at 5"},
		"table limits crossed":  {first(4, 1, pt.FuncRef, 1, 5, 4), "table section at offset 11: limits end at 4, before their beginning at 5"},
		"table exnref":          {first(4, 1, 0x69, 0, 0), "table section at offset 11: value type 0x69 is not known"},
		"global of other type":  {first(6, 1, pt.I64, 0, 0x41, 0, 0x0b), "global section at offset 13: constant is of type i32, not i64"},
		"global empty":          {first(6, 1, pt.I64, 0, 0x0b), "global section at offset 13: instruction 0xb is not constant"},
		"global of two":         {first(6, 1, pt.I32, 0, 0x41, 0, 0x41, 0, 0x0b), "global section at offset 15: constant expression has more than one instruction"},
		"global of own global":  {first(6, 2, pt.I32, 0, 0x41, 0, 0x0b, pt.I32, 0, 0x23, 0, 0x0b), "global section at offset 19: constant comes from global 0, which is not imported"},
		"global of a mutable":   {pt.Binary(pt.Section(2, []byte{1, 1, 'm', 0, 3, pt.I32, 1}), pt.Section(6, []byte{1, pt.I32, 0, 0x23, 0, 0x0b})), "global section at offset 23: constant comes from global 0, which is mutable"},
		"global of no function": {first(6, 1, pt.FuncRef, 0, 0xd2, 0, 0x0b), "global section at offset 14: function 0 of 0"},
		"global of a sum":       {first(6, 1, pt.V128, 0, 0xfd, 14, 0x0b), "global section at offset 13: instruction 0xfd 14 is not constant"},
		"export of no memory":   {first(7, 1, 1, 'x', 2, 0), `export section at offset 11: export "x" names memory 0 of 0`},
		"export of no table":    {first(7, 1, 1, 'x', 1, 2), `export section at offset 11: export "x" names table 2 of 0`},
		"export of no global":   {first(7, 1, 1, 'x', 3, 1), `export section at offset 11: export "x" names global 1 of 0`},
		"start with results":    {pt.Binary(pt.Section(1, pt.Vec(pt.FuncType(nil, []byte{pt.I32}))), pt.Section(2, []byte{1, 1, 'm', 0, 0, 0}), pt.Section(8, []byte{0})), "start section at offset 25: start function 0 has parameters or results"},
		"element kind":          {first(9, 1, 8), "element section at offset 11: element segment of kind 8 is not known"},
		"element table":         {first(9, 1, 0, 0x41, 0, 0x0b, 0), "element section at offset 11: element segment for table 0 of 0"},
		"element table type":    {pt.Binary(pt.Section(4, []byte{1, pt.ExternRef, 0, 1}), pt.Section(9, []byte{1, 0, 0x41, 0, 0x0b, 0})), "element section at offset 17: element segment puts funcref into a table of externref"},
		"element elemkind":      {first(9, 1, 1, 1, 0), "element section at offset 12: elements of kind 1 are not known"},
		"element function":      {first(9, 1, 1, 0, 1, 0), "element section at offset 14: function 0 of 0"},
		"element type":          {first(9, 1, 5, pt.I32, 0), "element section at offset 12: reference type 0x7f is not known"},
		"data kind":             {first(11, 1, 3, 0), "data section at offset 11: data segment of kind 3 is not known"},
		"data without memory":   {first(11, 1, 0, 0x41, 0, 0x0b, 0), "data section at offset 11: data segment without a memory"},
		"data of memory 1":      {pt.Binary(pt.Section(5, []byte{1, 0, 0}), pt.Section(11, []byte{1, 2, 1, 0x41, 0, 0x0b, 0})), "data section at offset 16: data segment for memory 1 of 1"},
		"data offset":           {pt.Binary(pt.Section(5, []byte{1, 0, 0}), pt.Section(11, []byte{1, 0, 0x42, 0, 0x0b, 0})), "data section at offset 17: constant is of type i64, not i32"},
		"data too long":         {first(11, 1, 1, 9), "data section at offset 13: 9 bytes are announced and 0 are left"},
		"data count":            {first(12, 1), "data count section at offset 11: announces 1 data segments, and there are 0"},
		"names cut off":         {pt.Binary(pt.Custom("name", []byte{1, 5, 1, 0, 9})), "custom section at offset 20: 9 bytes are announced and 0 are left"},
		"names cut short":       {pt.Binary(pt.Custom("name", []byte{0, 1, 2, 'm'})), "custom section at offset 18: 2 bytes are announced and 1 are left"},
		"names twice":           {pt.Binary(pt.Custom("name", nil), pt.Custom("name", nil)), "custom section at offset 22: is a second name section"},

		"body too long":          {pt.Binary(pt.Section(1, pt.Vec(nothing)), pt.Section(3, []byte{1, 0}), pt.Section(10, []byte{1, 9, 0, 0x0b})), "code section at offset 22: 9 bytes are announced and 2 are left"},
		"body without end":       {function(0), "code section at offset 23: ends too early"},
		"body ends twice":        {function(0, 0x0b, 0x0b), "code section at offset 24: 1 bytes are left over"},
		"block without end":      {function(0, 0x02, 0x40, 0x0b), "code section at offset 26: ends too early"},
		"local type":             {function(1, 1, 0x40, 0x0b), "code section at offset 24: value type 0x40 is not known"},
		"local groups":           {function(9), "code section at offset 22: 9 local groups are announced in 0 bytes"},
		"branch targets":         {function(0, 0x0e, 9, 0x0b), "code section at offset 24: 9 branch targets are announced in 1 bytes"},
		"tail call":              {function(0, 0x12, 0, 0x0b), "code section at offset 23: instruction 0x12 is not supported"},
		"exception":              {function(0, 0x06, 0x40, 0x0b, 0x0b), "code section at offset 23: instruction 0x6 is not supported"},
		"atomics":                {function(0, 0xfe, 0, 0x0b), "code section at offset 23: instruction 0xfe is not supported"},
		"unknown 0xfc":           {function(0, 0xfc, 18, 0x0b), "code section at offset 23: instruction 0xfc 18 is not supported"},
		"relaxed SIMD":           {function(0, 0xfd, 0x80, 0x02, 0x0b), "code section at offset 23: instruction 0xfd 256 is not supported"},
		"constant too long":      {function(0, 0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0x0b), "code section at offset 24: integer is longer than 32 bits"},
		"long constant too long": {function(slices.Concat([]byte{0, 0x42}, bytes.Repeat([]byte{0x80}, 10), []byte{0, 0x0b})...), "code section at offset 24: integer is longer than 64 bits"},
		"constant cut off":       {function(0, 0x44, 0, 0, 0x0b), "code section at offset 24: 8 bytes are announced and 3 are left"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := Parse(tt.module)
			assert.Nil(t, m)
			require.EqualError(t, err, tt.want)
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.LessOrEqual(t, e.Offset, len(tt.module))
		})
	}
}

func TestParseForeign(t *testing.T) {
	for name, tt := range map[string]struct {
		b    string
		want error
	}{
		"empty":     {"", ErrNotWasm},
		"short":     {"\x00asm\x01\x00\x00", ErrNotWasm},
		"text":      {"hello, world", ErrNotWasm},
		"ELF":       {"\x7fELF\x01\x01\x01\x00", ErrNotWasm},
		"component": {"\x00asm\x0d\x00\x01\x00", ErrComponent},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.b))
			assert.ErrorIs(t, err, tt.want)
		})
	}
}

// TestCaps tries each structural cap at its limit and one past it.
func TestCaps(t *testing.T) {
	nothing := pt.FuncType(nil, nil)
	body := func(content ...[]byte) []byte {
		return pt.Binary(pt.Section(1, pt.Vec(nothing)), pt.Section(3, []byte{1, 0}), pt.Section(10, pt.Vec(pt.Sized(content...))))
	}
	repeat := func(n int, item ...byte) []byte { return bytes.Repeat(item, n) }
	many := func(id byte, n int, item ...byte) []byte { return pt.Section(id, pt.U32(n), repeat(n, item...)) }
	types := pt.Section(1, pt.Vec(nothing))
	tests := map[string]struct {
		limit  int
		module func(n int) []byte
		want   string
	}{
		"body size": {maxBodyBytes, func(n int) []byte { return body([]byte{0}, repeat(n-2, 0x01), []byte{0x0b}) },
			"function body of 1048577 bytes is over the limit of 1048576"},
		"depth": {maxDepth, func(n int) []byte { return body([]byte{0}, repeat(n-1, 0x02, 0x40), repeat(n, 0x0b)) },
			"blocks are nested deeper than 4000"},
		"locals": {maxLocals, func(n int) []byte { return body([]byte{2, 1, pt.I64}, pt.U32(n-1), []byte{pt.I32, 0x0b}) },
			"50001 locals are over the limit of 50000"},
		"locals of all functions": {maxAllLocals, func(n int) []byte {
			bodies := [][]byte{pt.Sized([]byte{1}, pt.U32(n%maxLocals), []byte{pt.I32, 0x0b})}
			for range n / maxLocals {
				bodies = append(bodies, pt.Sized([]byte{1}, pt.U32(maxLocals), []byte{pt.I32, 0x0b}))
			}
			return pt.Binary(types, many(3, len(bodies), 0), pt.Section(10, pt.Vec(bodies...)))
		}, "5000001 locals of all functions are over the limit of 5000000"},
		"moves of a body": {movesAtLeast + movesPerByte*1857, func(n int) []byte {
			// Calls that give as many values as can be, each in a block of its own, and one that gives the rest: 1857 bytes.
			code := append(repeat(n/maxValues, 0x02, 0x40, 0x10, 0, 0x0c, 0, 0x0b), 0x02, 0x40, 0x10, 1, 0x0c, 0, 0x0b, 0x0b)
			return pt.Binary(pt.Section(1, pt.Vec(pt.FuncType(nil, repeat(maxValues, pt.I32)), pt.FuncType(nil, repeat(n%maxValues, pt.I32)), nothing)),
				pt.Section(2, pt.Vec([]byte{1, 'm', 0, 0, 0}, []byte{1, 'm', 0, 0, 1})), pt.Section(3, []byte{1, 2}),
				pt.Section(10, pt.Vec(pt.Sized([]byte{0}, code))), pt.Custom("long", make([]byte, 10_000)))
		}, "calls, blocks and branches move values over the limit of 264001"},
		"memory pages": {maxMemoryPages, func(n int) []byte { return pt.Binary(pt.Section(5, []byte{1, 0}, pt.U32(n))) },
			"memory of 65537 pages is over the limit of 65536"},
		"most memory pages": {maxMemoryPages, func(n int) []byte { return pt.Binary(pt.Section(5, []byte{1, 1, 1}, pt.U32(n))) },
			"memory of 65537 pages is over the limit of 65536"},
		"functions": {maxFunctions, func(n int) []byte { return pt.Binary(types, many(3, n, 0), many(10, n, 2, 0, 0x0b)) },
			"100001 functions are over the limit of 100000"},
		"table elements": {maxTableMin, func(n int) []byte {
			return pt.Binary(pt.Section(4, pt.Vec(slices.Concat([]byte{pt.FuncRef, 0}, pt.U32(n-1)), []byte{pt.ExternRef, 0, 1})))
		}, "65537 table elements are over the limit of 65536"},
		"custom sections": {maxCustoms, func(n int) []byte { return pt.Binary(repeat(n, 0, 1, 0)) },
			"more than 1000 custom sections"},
		"types": {maxItems, func(n int) []byte { return pt.Binary(many(1, n, 0x60, 0, 0)) },
			"10001 types are over the limit of 10000"},
		"parameters of one type": {maxValues, func(n int) []byte {
			return pt.Binary(pt.Section(1, pt.Vec(pt.FuncType(repeat(n, pt.I32), nil))))
		}, "1001 value types are over the limit of 1000"},
		"results of one type": {maxValues, func(n int) []byte {
			return pt.Binary(pt.Section(1, pt.Vec(pt.FuncType(nil, repeat(n, pt.I32)))))
		}, "1001 value types are over the limit of 1000"},
		"values of all types": {maxTypeValues, func(n int) []byte {
			all := slices.Repeat([][]byte{pt.FuncType(repeat(maxValues, pt.I32), repeat(maxValues, pt.I32))}, n/(2*maxValues))
			return pt.Binary(pt.Section(1, pt.Vec(append(all, pt.FuncType(repeat(n%(2*maxValues), pt.I32), nil))...)))
		}, "types with more than 100000 values"},
		"data segments": {maxDataSegments, func(n int) []byte { return pt.Binary(many(11, n, 1, 0)) },
			"100001 data segments are over the limit of 100000"},
		"element segments": {maxElementSegments, func(n int) []byte { return pt.Binary(many(9, n, 1, 0, 0)) },
			"10001 element segments are over the limit of 10000"},
		"elements": {maxElements, func(n int) []byte {
			segment := func(n int) []byte {
				return slices.Concat([]byte{5, pt.FuncRef}, pt.U32(n), repeat(n, 0xd0, pt.FuncRef, 0x0b))
			}
			return pt.Binary(pt.Section(9, pt.Vec(segment(n/2), segment(n-n/2))))
		}, "200001 elements of all segments are over the limit of 200000"},
		"imports": {maxItems, func(n int) []byte { return pt.Binary(types, many(2, n, 1, 'm', 0, 0, 0)) },
			"10001 imports are over the limit of 10000"},
		"memories": {1, func(n int) []byte { return pt.Binary(many(5, n, 0, 0)) },
			"more than one memory"},
		"imported memories": {1, func(n int) []byte { return pt.Binary(many(2, n, 1, 'm', 0, 2, 0, 0)) },
			"more than one memory"},
		"tables": {maxItems, func(n int) []byte { return pt.Binary(many(4, n, pt.FuncRef, 0, 0)) },
			"10001 tables are over the limit of 10000"},
		"globals": {maxItems, func(n int) []byte { return pt.Binary(many(6, n, pt.I32, 0, 0x41, 0, 0x0b)) },
			"10001 globals are over the limit of 10000"},
		"exports": {maxItems, func(n int) []byte {
			exports := make([][]byte, n)
			for i := range exports {
				exports[i] = append(pt.Name(strings.Repeat("x", i%100)+string(rune(0x100+i))), pt.KindMemory, 0)
			}
			return pt.Binary(pt.Section(5, []byte{1, 0, 0}), pt.Section(7, pt.Vec(exports...)))
		}, "10001 exports are over the limit of 10000"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tt.module(tt.limit))
			require.NoError(t, err)
			_, err = Parse(tt.module(tt.limit + 1))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// TestLyingCounts: a count is compared with what is left before anything is allocated for it.
func TestLyingCounts(t *testing.T) {
	for id := byte(1); id <= 11; id++ {
		if id == secStart {
			continue
		}
		module := pt.Binary(pt.Section(id, []byte{0xff, 0xff, 0xff, 0xff, 0x0f}))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse(module)
		runtime.ReadMemStats(&after)
		require.ErrorContains(t, err, "4294967295")
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10), sectionNames[id])
	}
}
