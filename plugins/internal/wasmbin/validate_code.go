package wasmbin

import (
	"slices"

	"github.com/axishost/axishost/abi"
)

const (
	// maxOperands bounds the operand stack, one byte each. Code that pushes values one by one stays below it,
	// since a body is no longer; calls of functions with many results could pass it.
	maxOperands = 1 << 20
	// movesPerByte bounds how many values calls, blocks and branches move, for each byte of the module and of
	// each body: a call takes two bytes and may move two thousand values. Validation is to be linear in the module's
	// length, and what compiling a body takes goes by the number (a million: 400 ms and 240 MB). A call that is of
	// some use has code before it that makes its parameters, so it moves less than half a value for each byte; stock
	// Go guests have 0.01, the most in the specification's tests is 0.2. movesAtLeast is for small ones.
	movesPerByte  = 1
	movesAtLeast  = 1 << 18
	movesOverText = "calls, blocks and branches move values over the limit of %d"
)

// signature is a function or block type: bytes of the module itself.
type signature struct{ params, results []byte }

// frame is a block that is open.
type frame struct {
	op          byte // 0 for the function itself
	unreachable bool
	height      int // of the operand stack below the block
	signature
}

// label gives the types that a branch to the block carries.
func (f *frame) label() []byte {
	if f.op == opLoop {
		return f.params
	}
	return f.results
}

// localGroup is a run of locals of one type, with the number of the first local behind it.
type localGroup struct {
	end   uint32
	value byte
}

// validator checks function bodies by the algorithm in the appendix of the specification. Its stacks are
// used again for each body, so that nothing is allocated for an instruction.
type validator struct {
	m        *Module
	r        *reader // over body
	body     reader
	ops      *opcodes
	at       int // offset of the instruction
	op       byte
	sub      uint32 // behind a prefix
	sig      signature
	operands []byte
	height   int // of the operand stack below the innermost block
	frames   []frame
	locals   []byte // types of the first locals, parameters included
	groups   []localGroup
	declared uint64 // locals of all functions
	moves    budget // of the module
	inBody   budget // moves of the function
}

func (m *Module) parseCode(r *reader) {
	start := r.pos
	n := r.count("function bodies")
	if r.err == nil && n != m.Functions {
		r.failAt(start, "%d bodies for %d functions", n, m.Functions)
		return
	}
	m.bodies = n
	v := &validator{m: m, ops: newOpcodes(), moves: newBudget(len(m.bytes))}
	for i := 0; i < n && r.err == nil; i++ {
		start := r.pos
		size := r.u32()
		if size > maxBodyBytes {
			r.failAt(start, "function body of %d bytes is over the limit of %d", size, maxBodyBytes)
			return
		}
		v.body = reader{buf: r.buf, pos: r.pos, section: r.section}
		r.bytes(size)
		if r.err != nil {
			return
		}
		v.body.end = r.pos
		v.function(m.sigs[m.funcs[len(m.funcs)-n+i]])
		v.body.done()
		r.err = v.body.err
	}
}

// function checks one body: its locals, then instructions up to the end that closes it.
func (v *validator) function(sig signature) {
	r := &v.body
	v.r, v.sig, v.at = r, sig, r.pos
	v.inBody = newBudget(r.end - r.pos)
	v.charge(len(sig.params)) // parameters are written down as locals, below
	v.parseLocals()
	v.operands, v.frames = v.operands[:0], v.frames[:0]
	v.open(frame{signature: signature{results: sig.results}})
	for r.err == nil && len(v.frames) > 0 {
		v.at = r.pos
		v.op = r.byte()
		if r.err == nil {
			v.instruction()
		}
	}
}

// parseLocals reads the groups of locals. Types are spread out for as many as the body could name in its
// length; a few bytes may announce 50,000 locals, and writing them down for each function would take long.
func (v *validator) parseLocals() {
	r := v.r
	v.groups = v.groups[:0]
	v.locals = append(v.locals[:0], v.sig.params...)
	total, spread := uint64(len(v.locals)), uint64(len(v.locals)+r.end-r.pos)
	declared := uint64(0)
	for n := r.count("local groups"); n > 0 && r.err == nil; n-- {
		start := r.pos
		count := uint64(r.u32())
		t := valueByte(r)
		if declared += count; declared > maxLocals {
			r.failAt(start, "%d locals are over the limit of %d", declared, maxLocals)
			return
		}
		if v.declared += count; v.declared > maxAllLocals {
			r.failAt(start, "%d locals of all functions are over the limit of %d", v.declared, maxAllLocals)
			return
		}
		total += count
		v.groups = append(v.groups, localGroup{end: uint32(total), value: t})
		for uint64(len(v.locals)) < min(total, spread) {
			v.locals = append(v.locals, t)
		}
	}
}

// local reads the number of a local and gives its type.
func (v *validator) local() byte {
	index := v.r.u32()
	if uint64(index) < uint64(len(v.locals)) {
		return v.locals[index]
	}
	i, _ := slices.BinarySearchFunc(v.groups, index, func(g localGroup, n uint32) int {
		if g.end <= n {
			return -1
		}
		return 1
	})
	if i == len(v.groups) {
		v.fail("local %d is not there", index)
		return unknown
	}
	return v.groups[i].value
}

func (v *validator) fail(format string, args ...any) { v.r.failAt(v.at, format, args...) }

func (v *validator) push(t byte) { v.operands = append(v.operands, t) }

// pop takes a value of a type.
func (v *validator) pop(want byte) {
	if n := len(v.operands) - 1; n >= v.height && v.operands[n] == want {
		v.operands = v.operands[:n]
		return
	}
	if got := v.popAny(); got != want && got != unknown && want != unknown {
		v.fail("instruction %s takes %s and finds %s", v.name(), typeName(want), typeName(got))
	}
}

// popAny takes a value of whatever type.
func (v *validator) popAny() byte {
	n := len(v.operands) - 1
	if n < v.height {
		if !v.frames[len(v.frames)-1].unreachable {
			v.fail("instruction %s takes a value and finds none", v.name())
		}
		return unknown
	}
	t := v.operands[n]
	v.operands = v.operands[:n]
	return t
}

// pushAll puts values of some types on the stack.
func (v *validator) pushAll(types []byte) {
	if len(types) == 0 {
		return
	}
	if len(v.operands)+len(types) > maxOperands {
		v.fail("operand stack of %d values is over the limit of %d", len(v.operands)+len(types), maxOperands)
		return
	}
	v.charge(len(types))
	v.operands = append(v.operands, types...)
}

// popAll takes values of some types, the last one first.
func (v *validator) popAll(types []byte) {
	v.charge(len(types))
	for i := len(types) - 1; i >= 0 && v.r.err == nil; i-- {
		v.pop(types[i])
	}
}

// budget is how many values may be moved, and how many of them are left.
type budget struct{ limit, left int }

func newBudget(length int) budget {
	limit := movesAtLeast + movesPerByte*length
	return budget{limit, limit}
}

func (v *validator) charge(values int) {
	for _, b := range []*budget{&v.inBody, &v.moves} {
		if b.left -= values; b.left < 0 {
			v.fail(movesOverText, b.limit)
		}
	}
}

func (v *validator) open(f frame) {
	f.height = len(v.operands)
	v.height = f.height
	v.frames = append(v.frames, f)
	v.pushAll(f.params)
}

// unreachable says that what follows in this block is never executed.
func (v *validator) unreachable() {
	v.operands = v.operands[:v.height]
	v.frames[len(v.frames)-1].unreachable = true
}

// closeBlock checks that the innermost block leaves its results and nothing more, and takes them.
func (v *validator) closeBlock() frame {
	f := v.frames[len(v.frames)-1]
	v.popAll(f.results)
	if v.r.err == nil && len(v.operands) != f.height {
		v.fail("block ends with %d values too many", len(v.operands)-f.height)
	}
	v.frames = v.frames[:len(v.frames)-1]
	v.height = 0
	if n := len(v.frames); n > 0 {
		v.height = v.frames[n-1].height
	}
	return f
}

// label reads the number of an enclosing block.
func (v *validator) label() *frame {
	n := v.r.u32()
	if uint64(n) >= uint64(len(v.frames)) {
		v.fail("branch to block %d of %d", n, len(v.frames))
		return &v.frames[0]
	}
	return &v.frames[len(v.frames)-1-int(n)]
}

func typeName(t byte) abi.ValueType {
	if name, ok := valueTypeName(t); ok {
		return name
	}
	return "a reference"
}
