package wasmbin

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	pt "github.com/axishost/axishost/plugins/plugintest"
)

// coder writes random instructions whose structure is right and whose types often are.
type coder struct {
	*rand.Rand
	ops *opcodes
}

func (c coder) value() byte {
	return []byte{i32, i32, i64, f32, f64, v128, funcref, externref}[c.IntN(8)]
}

// constant pushes a value of a type.
func (c coder) constant(t byte) []byte {
	switch t {
	case i32:
		return pt.Const(int64(c.IntN(300)))
	case i64:
		return pt.Const64(-1)
	case f32:
		return []byte{opF32Const, 0, 0, 0, 0}
	case f64:
		return []byte{opF64Const, 0, 0, 0, 0, 0, 0, 0, 0}
	case v128:
		return append([]byte{opSIMD, opV128Const}, make([]byte, 16)...)
	}
	return []byte{opRefNull, t}
}

// block writes up to n instructions, some with blocks in them, and often something that suits the result.
func (c coder) block(n, depth int, result byte) (code []byte) {
	for range c.IntN(n + 1) {
		code = append(code, c.instruction(n, depth)...)
	}
	switch {
	case result != 0x40 && c.IntN(8) > 0:
		return append(code, c.constant(result)...)
	case c.IntN(8) == 0:
		return append(code, byte(opUnreachable))
	}
	return code
}

func (c coder) instruction(n, depth int) []byte {
	t := c.value()
	push, label := c.constant(t), byte(c.IntN(depth+1))
	switch c.IntN(16) {
	case 0, 1, 2:
		if depth > 4 {
			return nil
		}
		kind := byte(opBlock + c.IntN(3))
		result := []byte{0x40, t, 0, 1, 2}[c.IntN(5)] // types 0 to 2 of one take and give values
		start := push
		if kind == opIf {
			start = pt.Code(push, pt.Const(1))
		}
		code := pt.Code(start, []byte{kind, result}, c.block(n-1, depth+1, result))
		if kind == opIf && c.IntN(3) > 0 {
			code = pt.Code(code, []byte{opElse}, c.block(n-1, depth+1, result))
		}
		return append(code, opEnd)
	case 3:
		return pt.Code(push, []byte{opBr, label})
	case 4:
		return pt.Code(push, pt.Const(1), []byte{opBrIf, label}, []byte{opDrop}[:c.IntN(2)])
	case 5:
		return pt.Code(push, pt.Const(1), []byte{opBrTable, 2, label, byte(c.IntN(depth + 1)), byte(c.IntN(depth + 1))})
	case 6:
		return []byte{opReturn, opUnreachable, opDrop, opSelect, opRefIsNull}[c.IntN(5):][:1]
	case 7:
		return pt.Code(push, push, pt.Const(1), []byte{opSelect, opDrop})
	case 8:
		return pt.Code(push, push, pt.Const(1), []byte{opSelectTyped, 1, t}, []byte{opDrop}[:c.IntN(2)])
	case 9:
		return pt.Code(push, []byte{opLocalGet + byte(c.IntN(5)), byte(c.IntN(3))})
	case 10:
		return pt.Code(push, []byte{opCall, byte(c.IntN(2))})
	case 11:
		return pt.Code(push, []byte{opDrop})
	}
	return c.fixed()
}

// fixed is an instruction of a constant signature, mostly with its operands, and mostly dropped.
func (c coder) fixed() []byte {
	sub := c.IntN(256)
	o, code := &c.ops.plain[sub], []byte{byte(sub)}
	if c.IntN(2) == 0 {
		o, code = &c.ops.simd[sub], pt.Code([]byte{opSIMD}, pt.U32(sub))
	}
	if !o.known {
		return nil
	}
	var operands []byte
	for i := int(o.count) - 1; i >= 0 && c.IntN(10) > 0; i-- {
		operands = append(operands, c.constant(o.pops[i])...)
	}
	immediates := map[immediate]int{immMemory: 2, immLane: 1, immMemLane: 3, immBytes: 16, immShuffle: 16}
	code = pt.Code(operands, code, make([]byte, immediates[o.imm]))
	if o.push != unknown && c.IntN(8) > 0 {
		code = append(code, opDrop)
	}
	return code
}

// TestRandomCode compares verdicts on function bodies that mutation hardly ever comes to: nested blocks,
// branches between them, and unreachable code with some of its operands.
func TestRandomCode(t *testing.T) {
	count := mutationCount()
	c := coder{rand.New(rand.NewPCG(*mutationSeed, 3)), newOpcodes()}
	r := newReferee(t)
	for range count {
		params := []byte{c.value(), c.value()}
		result := c.value()
		r.judge(t, "random", one(params, []byte{result}, c.block(4, 0, result)))
		if r.counts["DIFFERENT"] > 10 {
			break
		}
	}
	t.Logf("%d bodies, seed %d: %v", count, *mutationSeed, r.counts)
	assert.Greater(t, r.counts["accepted by both"], count/20)
	assert.Greater(t, r.counts["refused by both"], count/20)
}
