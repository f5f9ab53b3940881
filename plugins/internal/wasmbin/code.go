package wasmbin

// The opcodes that the scan treats by name.
const (
	opBlock    = 0x02
	opLoop     = 0x03
	opIf       = 0x04
	opEnd      = 0x0b
	opBrTable  = 0x0e
	opTableSet = 0x26
	opMisc     = 0xfc
	opSIMD     = 0xfd
)

// scan passes over instructions and remembers what matters of them.
type scan struct {
	mutatesTables bool
}

func (m *Module) parseCode(r *reader) {
	start := r.pos
	n := r.count("function bodies")
	if r.err == nil && n != m.Functions {
		r.failAt(start, "%d bodies for %d functions", n, m.Functions)
		return
	}
	m.bodies = n
	var s scan
	for ; n > 0 && r.err == nil; n-- {
		start := r.pos
		size := r.u32()
		if size > maxBodyBytes {
			r.failAt(start, "function body of %d bytes is over the limit of %d", size, maxBodyBytes)
			return
		}
		body := r.sub(size, r.section)
		s.function(body)
		body.done()
		r.err = body.err
	}
	m.mutatesTables = s.mutatesTables
}

// function scans one body: its locals, then instructions up to the end that closes it.
func (s *scan) function(r *reader) {
	locals := uint64(0)
	for n := r.count("local groups"); n > 0 && r.err == nil; n-- {
		start := r.pos
		locals += uint64(r.u32())
		valueType(r)
		if locals > maxLocals {
			r.failAt(start, "%d locals are over the limit of %d", locals, maxLocals)
			return
		}
	}
	for depth := 1; depth > 0 && r.err == nil; {
		start := r.pos
		op := r.byte()
		switch op {
		case opBlock, opLoop, opIf:
			if depth++; depth > maxDepth {
				r.failAt(start, "blocks are nested deeper than %d", maxDepth)
				return
			}
		case opEnd:
			depth--
			continue
		}
		s.immediates(r, op)
	}
}

// immediates passes over the immediate operands of op: exactly the instructions of the 2.0 core
// specification, which is what wazero's CoreFeaturesV2 accepts.
func (s *scan) immediates(r *reader, op byte) {
	switch {
	case op == opBlock || op == opLoop || op == opIf:
		r.skipInt(33) // block type
	case op == 0x0c || op == 0x0d || op == 0x10: // br, br_if, call
		r.u32()
	case op == opBrTable:
		for n := r.count("branch targets"); n >= 0 && r.err == nil; n-- {
			r.u32()
		}
	case op == 0x11: // call_indirect
		r.u32()
		r.u32()
	case op == 0x1c: // select with types
		valueTypes(r)
	case op >= 0x20 && op <= opTableSet: // locals, globals, table.get, table.set
		s.mutatesTables = s.mutatesTables || op == opTableSet
		r.u32()
	case op >= 0x28 && op <= 0x3e: // loads and stores: alignment and offset
		r.u32()
		r.u32()
	case op == 0x3f || op == 0x40: // memory.size, memory.grow
		r.byte()
	case op == 0x41:
		r.skipInt(32)
	case op == 0x42:
		r.skipInt(64)
	case op == 0x43:
		r.bytes(4)
	case op == 0x44:
		r.bytes(8)
	case op == 0xd0: // ref.null
		r.byte()
	case op == 0xd2: // ref.func
		r.u32()
	case op == opMisc:
		s.misc(r)
	case op == opSIMD:
		s.simd(r)
	case plain(op):
	default:
		r.failAt(r.pos-1, "instruction %#x is not supported", op)
	}
}

// plain tells whether op is an instruction without immediates.
func plain(op byte) bool {
	switch op {
	case 0x00, 0x01, 0x05, 0x0f, 0x1a, 0x1b, 0xd1: // unreachable nop else return drop select ref.is_null
		return true
	}
	return op >= 0x45 && op <= 0xc4 // comparisons, arithmetic, conversions, sign extension
}

// misc passes over the instructions behind prefix 0xfc.
func (s *scan) misc(r *reader) {
	start := r.pos - 1
	switch sub := r.u32(); {
	case sub <= 7: // saturating conversions
	case sub == 8: // memory.init
		r.u32()
		r.byte()
	case sub == 9 || sub == 13: // data.drop, elem.drop
		s.mutatesTables = true
		r.u32()
	case sub == 10: // memory.copy
		r.bytes(2)
	case sub == 11: // memory.fill
		r.byte()
	case sub == 12 || sub == 14: // table.init, table.copy
		s.mutatesTables = true
		r.u32()
		r.u32()
	case sub == 15 || sub == 17: // table.grow, table.fill
		s.mutatesTables = true
		r.u32()
	case sub == 16: // table.size
		r.u32()
	default:
		r.failAt(start, "instruction 0xfc %d is not supported", sub)
	}
}

// simd passes over the vector instructions behind prefix 0xfd.
func (s *scan) simd(r *reader) {
	start := r.pos - 1
	switch sub := r.u32(); {
	case sub <= 11 || sub == 92 || sub == 93: // loads, store, load-zero
		r.u32()
		r.u32()
	case sub == 12 || sub == 13: // v128.const, i8x16.shuffle
		r.bytes(16)
	case sub >= 21 && sub <= 34: // extract and replace lane
		r.byte()
	case sub >= 84 && sub <= 91: // load and store lane
		r.u32()
		r.u32()
		r.byte()
	case sub <= 255:
	default:
		r.failAt(start, "instruction 0xfd %d is not supported", sub)
	}
}
