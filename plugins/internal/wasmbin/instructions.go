package wasmbin

import (
	"bytes"
	"fmt"
)

// name is how errors call the instruction.
func (v *validator) name() string {
	if v.op == opMisc || v.op == opSIMD {
		return fmt.Sprintf("%#x %d", v.op, v.sub)
	}
	return fmt.Sprintf("%#x", v.op)
}

// instruction checks one instruction, whose opcode was read. It knows exactly those of the 2.0 core
// specification, which is what wazero's CoreFeaturesV2 accepts.
func (v *validator) instruction() {
	switch op := v.op; op {
	case opLocalGet:
		v.push(v.local())
	case opLocalSet:
		v.pop(v.local())
	case opLocalTee:
		t := v.local()
		v.pop(t)
		v.push(t)
	case opI32Const:
		v.r.skipInt(32)
		v.push(i32)
	case opI64Const:
		v.r.skipInt(64)
		v.push(i64)
	case opF32Const:
		v.r.bytes(4)
		v.push(f32)
	case opF64Const:
		v.r.bytes(8)
		v.push(f64)
	case opGlobalGet, opGlobalSet:
		v.global()
	case opTableGet, opTableSet:
		v.tableAccess()
	case opMemorySize, opMemoryGrow:
		v.memory()
		if op == opMemoryGrow {
			v.pop(i32)
		}
		v.push(i32)
	case opDrop:
		v.popAny()
	case opSelect, opSelectTyped:
		v.selection()
	case opRefNull, opRefIsNull, opRefFunc:
		v.reference()
	case opMisc:
		v.misc()
	case opSIMD:
		v.vector()
	default:
		if o := &v.ops.plain[op]; o.known {
			v.apply(o)
		} else {
			v.control()
		}
	}
}

// apply checks an instruction whose signature never varies.
func (v *validator) apply(o *opcode) {
	if o.imm != immNone {
		v.immediate(o)
	}
	for i := range o.count {
		v.pop(o.pops[i])
	}
	if o.push != unknown {
		v.push(o.push)
	}
}

func (v *validator) immediate(o *opcode) {
	switch o.imm {
	case immBytes:
		v.r.bytes(16)
		return
	case immShuffle:
		for range 16 {
			v.lane(32)
		}
		return
	case immMemory, immMemLane:
		if v.m.memories == 0 {
			v.fail("instruction %s needs a memory, and there is none", v.name())
			return
		}
		if align := v.r.u32(); align > uint32(o.align) {
			v.fail("alignment 2^%d of instruction %s is over its size", align, v.name())
			return
		}
		v.r.u32()
	}
	if o.imm != immMemory {
		v.lane(o.lanes)
	}
}

func (v *validator) lane(lanes byte) {
	if n := v.r.byte(); n >= lanes {
		v.fail("lane %d of %d", n, lanes)
	}
}

// memory reads the number of the memory, which is one byte and zero.
func (v *validator) memory() {
	if v.m.memories == 0 {
		v.fail("instruction %s needs a memory, and there is none", v.name())
	}
	if v.r.byte() != 0 {
		v.fail("instruction %s names another memory than the first", v.name())
	}
}

func (v *validator) control() {
	switch v.op {
	case opUnreachable:
		v.unreachable()
	case opNop:
	case opBlock, opLoop, opIf:
		v.block()
	case opElse:
		if v.frames[len(v.frames)-1].op != opIf {
			v.fail("else without if")
			return
		}
		f := v.closeBlock()
		v.open(frame{op: opElse, signature: f.signature})
	case opEnd:
		f := v.closeBlock()
		if f.op == opIf && !bytes.Equal(f.params, f.results) {
			v.fail("if without else has results other than its parameters")
		}
		v.pushAll(f.results)
	case opBr:
		v.popAll(v.label().label())
		v.unreachable()
	case opBrIf:
		types := v.label().label()
		v.pop(i32)
		v.popAll(types)
		v.pushAll(types)
	case opBrTable:
		v.branchTable()
	case opReturn:
		v.popAll(v.sig.results)
		v.unreachable()
	case opCall:
		index, ok := v.m.funcIndex(v.r)
		if ok {
			v.call(v.m.sigs[v.m.funcs[index]])
		}
	case opCallInd:
		v.callIndirect()
	default:
		v.fail("instruction %#x is not supported", v.op)
	}
}

func (v *validator) block() {
	sig := v.blockType()
	if v.op == opIf {
		v.pop(i32)
	}
	if len(v.frames) == maxDepth {
		v.fail("blocks are nested deeper than %d", maxDepth)
	}
	if v.popAll(sig.params); v.r.err == nil {
		v.open(frame{op: v.op, signature: sig})
	}
}

// blockType reads nothing, a value type, or the number of a type.
func (v *validator) blockType() signature {
	r, start := v.r, v.r.pos
	if r.pos < r.end {
		b := r.buf[r.pos]
		if _, ok := valueTypeName(b); ok {
			r.pos++
			return signature{results: r.buf[start:r.pos]}
		}
		if b == 0x40 {
			r.pos++
			return signature{}
		}
	}
	n := r.s33()
	if r.err == nil && (n < 0 || n >= int64(len(v.m.sigs))) {
		r.failAt(start, "block type %d is not known", n)
	}
	if r.err != nil {
		return signature{}
	}
	return v.m.sigs[n]
}

func (v *validator) branchTable() {
	n := v.r.count("branch targets")
	first := v.r.pos
	for range n {
		v.r.u32()
	}
	last := v.label()
	behind := v.r.pos
	v.pop(i32)
	if v.r.err != nil {
		return
	}
	v.r.pos = first
	for range n {
		if f := v.label(); v.r.err == nil && f != last {
			v.sameLabel(f.label(), last.label())
		}
		if v.r.err != nil {
			return
		}
	}
	v.r.pos = behind
	v.popAll(last.label())
	v.unreachable()
}

// sameLabel checks one target of a branch table: it takes as many values as the last target, and those that
// are there. Values are only looked at.
func (v *validator) sameLabel(types, last []byte) {
	if len(types) != len(last) {
		v.fail("branch table has targets with %d and %d values", len(types), len(last))
		return
	}
	v.charge(len(types))
	for i := range types {
		at := len(v.operands) - len(types) + i
		if at >= v.height && v.operands[at] != unknown && v.operands[at] != types[i] {
			v.fail("branch table takes %s and finds %s", typeName(types[i]), typeName(v.operands[at]))
			return
		}
	}
}

func (v *validator) call(sig signature) {
	v.popAll(sig.params)
	v.pushAll(sig.results)
}

func (v *validator) callIndirect() {
	index, ok := v.m.typeIndex(v.r)
	table, there := v.table()
	switch {
	case !ok || !there:
	case table != funcref:
		v.fail("indirect call through a table of %s", typeName(table))
	default:
		v.pop(i32)
		v.call(v.m.sigs[index])
	}
}

func (v *validator) selection() {
	t := unknown
	if v.op == opSelectTyped {
		// One type, as wazero wants it: a count of one byte.
		if n := v.r.byte(); n != 1 {
			v.fail("select of %d types", n)
			return
		}
		t = valueByte(v.r)
	}
	v.pop(i32)
	a, b := v.popAny(), v.popAny()
	switch {
	case v.r.err != nil:
	case t != unknown && (a != unknown && a != t || b != unknown && b != t):
		v.fail("select of type %s finds %s and %s", typeName(t), typeName(b), typeName(a))
	case t != unknown:
		v.push(t)
	case isReference(a) || isReference(b):
		v.fail("select of references does not say their type")
	case a != unknown && b != unknown && a != b:
		v.fail("select between %s and %s", typeName(b), typeName(a))
	default:
		v.push(max(a, b)) // the one that is known
	}
}

func (v *validator) global() {
	index := v.r.u32()
	if v.r.err == nil && uint64(index) >= uint64(len(v.m.globals)) {
		v.fail("global %d of %d", index, len(v.m.globals))
	}
	if v.r.err != nil {
		return
	}
	g := v.m.globals[index]
	switch {
	case v.op == opGlobalGet:
		v.push(g.code)
	case !g.mutable:
		v.fail("global %d is constant", index)
	default:
		v.pop(g.code)
	}
}

func (v *validator) reference() {
	switch v.op {
	case opRefNull:
		v.push(referenceByte(v.r))
	case opRefIsNull:
		if t := v.popAny(); t != unknown && !isReference(t) {
			v.fail("instruction %s takes a reference and finds %s", v.name(), typeName(t))
		}
		v.push(i32)
	case opRefFunc:
		index, ok := v.m.funcIndex(v.r)
		if ok && (len(v.m.declared) == 0 || !v.m.declared[index]) {
			v.fail("function %d is referred to and not declared", index)
		}
		v.push(funcref)
	}
}

func (v *validator) vector() {
	start := v.r.pos
	v.sub = v.r.u32()
	// wazero reads one byte, and takes the second one of the longer opcodes for a nop: whatever else stands
	// there, it would execute something other than the specification says.
	if long := v.r.pos - start; long > 2 || (long == 2) != (v.sub > 0x7f) || v.sub > 0xff || !v.ops.simd[v.sub].known {
		v.fail("instruction 0xfd %d is not supported", v.sub)
		return
	}
	v.apply(&v.ops.simd[v.sub])
}
