package wasmbin

// The types of values, as the binary format writes them. unknown is what unreachable code finds on the
// stack: it is of every type.
const (
	unknown   byte = 0
	i32       byte = 0x7f
	i64       byte = 0x7e
	f32       byte = 0x7d
	f64       byte = 0x7c
	v128      byte = 0x7b
	funcref   byte = 0x70
	externref byte = 0x6f
)

// The opcodes that are treated by name.
const (
	opUnreachable = 0x00
	opNop         = 0x01
	opBlock       = 0x02
	opLoop        = 0x03
	opIf          = 0x04
	opElse        = 0x05
	opEnd         = 0x0b
	opBr          = 0x0c
	opBrIf        = 0x0d
	opBrTable     = 0x0e
	opReturn      = 0x0f
	opCall        = 0x10
	opCallInd     = 0x11
	opDrop        = 0x1a
	opSelect      = 0x1b
	opSelectTyped = 0x1c
	opLocalGet    = 0x20
	opLocalSet    = 0x21
	opLocalTee    = 0x22
	opGlobalGet   = 0x23
	opGlobalSet   = 0x24
	opTableGet    = 0x25
	opTableSet    = 0x26
	opMemorySize  = 0x3f
	opMemoryGrow  = 0x40
	opI32Const    = 0x41
	opI64Const    = 0x42
	opF32Const    = 0x43
	opF64Const    = 0x44
	opRefNull     = 0xd0
	opRefIsNull   = 0xd1
	opRefFunc     = 0xd2
	opMisc        = 0xfc
	opSIMD        = 0xfd

	opV128Const = 12
)

// immediate is what follows an opcode whose signature never varies.
type immediate byte

const (
	immNone    immediate = iota
	immMemory            // alignment and offset
	immLane              // one lane
	immMemLane           // alignment, offset and lane
	immBytes             // 16 bytes
	immShuffle           // 16 lanes of 32
)

// opcode is an instruction whose signature never varies. The zero value is one that is not known, or not of
// that kind.
type opcode struct {
	pops  [3]byte // types taken from the stack, its top first
	count byte    // how many of pops there are
	push  byte    // type put there, or unknown
	imm   immediate
	align byte // highest exponent of the alignment
	lanes byte
	known bool
}

// opcodes has the instructions of the 2.0 core specification with a signature that never varies: by their
// byte, behind prefix 0xfd, and the saturating conversions behind prefix 0xfc. It is made anew for each
// module, which takes about a microsecond: a table of the package would be work at start-up.
type opcodes struct {
	plain [256]opcode
	simd  [256]opcode
	misc  [8]opcode
}

func newOpcodes() *opcodes {
	t := &opcodes{}
	t.memory()
	t.numeric()
	t.vectors()
	t.lanes()
	for i, from := range []byte{f32, f32, f64, f64} {
		t.misc[i] = pure(i32, from)
		t.misc[4+i] = pure(i64, from)
	}
	return t
}

// pure is an instruction that gives push for pops, its top operand first.
func pure(push byte, pops ...byte) opcode {
	o := opcode{push: push, count: byte(len(pops)), known: true}
	copy(o.pops[:], pops)
	return o
}

// memoryOp is a load or store: alignment may be up to 2^align bytes.
func memoryOp(align, push byte, pops ...byte) opcode {
	o := pure(push, pops...)
	o.imm, o.align = immMemory, align
	return o
}

// memory fills in loads and stores: the exponents of their sizes, in order of opcode.
func (t *opcodes) memory() {
	loads := []struct{ value, align byte }{
		{i32, 2}, {i64, 3}, {f32, 2}, {f64, 3},
		{i32, 0}, {i32, 0}, {i32, 1}, {i32, 1},
		{i64, 0}, {i64, 0}, {i64, 1}, {i64, 1}, {i64, 2}, {i64, 2},
	}
	for i, l := range loads {
		t.plain[0x28+i] = memoryOp(l.align, l.value, i32)
	}
	stores := []struct{ value, align byte }{
		{i32, 2}, {i64, 3}, {f32, 2}, {f64, 3}, {i32, 0}, {i32, 1}, {i64, 0}, {i64, 1}, {i64, 2},
	}
	for i, s := range stores {
		t.plain[0x36+i] = memoryOp(s.align, unknown, s.value, i32)
	}
}

// numeric fills in comparisons, arithmetic, conversions and sign extension: runs of opcodes up to last that
// take count values of one type.
func (t *opcodes) numeric() {
	op := 0x45
	for _, run := range []struct{ last, count, operand, result byte }{
		{0x45, 1, i32, i32}, {0x4f, 2, i32, i32}, {0x50, 1, i64, i32}, {0x5a, 2, i64, i32},
		{0x60, 2, f32, i32}, {0x66, 2, f64, i32},
		{0x69, 1, i32, i32}, {0x78, 2, i32, i32}, {0x7b, 1, i64, i64}, {0x8a, 2, i64, i64},
		{0x91, 1, f32, f32}, {0x98, 2, f32, f32}, {0x9f, 1, f64, f64}, {0xa6, 2, f64, f64},
		{0xa7, 1, i64, i32}, {0xa9, 1, f32, i32}, {0xab, 1, f64, i32},
		{0xad, 1, i32, i64}, {0xaf, 1, f32, i64}, {0xb1, 1, f64, i64},
		{0xb3, 1, i32, f32}, {0xb5, 1, i64, f32}, {0xb6, 1, f64, f32},
		{0xb8, 1, i32, f64}, {0xba, 1, i64, f64}, {0xbb, 1, f32, f64},
		{0xbc, 1, f32, i32}, {0xbd, 1, f64, i64}, {0xbe, 1, i32, f32}, {0xbf, 1, i64, f64},
		{0xc1, 1, i32, i32}, {0xc4, 1, i64, i64},
	} {
		for ; op <= int(run.last); op++ {
			t.plain[op] = opcode{
				pops: [3]byte{run.operand, run.operand}, count: run.count, push: run.result, known: true,
			}
		}
	}
}

// vectorKinds says what the vector instructions from 0x20 on take and give, one letter for each: u, b and 3
// take one, two or three vectors, t tests one, s shifts one. Points are instructions that lanes fills in, or
// that there are none.
const vectorKinds = "" +
	"...bbbbbbbbbbbbb" + "bbbbbbbbbbbbbbbb" + "bbbbbbbbbbbbbubb" + "bb3t..........uu" +
	"uuuttbbuuuusssbb" + "bbbbuubbbbubuuuu" + "uubttbbuuuusssbb" + "bbbbubbbbb.bbbbb" +
	"uu.tt..uuuusssb." + ".b...bbbbbb.bbbb" + "uu.tt..uuuusssb." + ".b...bbbbbbbbbbb" +
	"uu.ubbbbbbbbuu.u" + "bbbbbbbbuuuuuuuu"

func (t *opcodes) vectors() {
	for i := range len(vectorKinds) {
		op := &t.simd[0x20+i]
		switch vectorKinds[i] {
		case 'u':
			*op = pure(v128, v128)
		case 'b':
			*op = pure(v128, v128, v128)
		case '3':
			*op = pure(v128, v128, v128, v128)
		case 't':
			*op = pure(i32, v128)
		case 's':
			*op = pure(v128, i32, v128)
		}
	}
}

// lanes fills in the vector instructions that have immediates or take numbers.
func (t *opcodes) lanes() {
	for i, align := range []byte{4, 3, 3, 3, 3, 3, 3, 0, 1, 2, 3} {
		t.simd[i] = memoryOp(align, v128, i32)
	}
	t.simd[0x0b] = memoryOp(4, unknown, v128, i32)
	t.simd[0x5c] = memoryOp(2, v128, i32)
	t.simd[0x5d] = memoryOp(3, v128, i32)
	t.simd[opV128Const] = opcode{push: v128, imm: immBytes, known: true}
	t.simd[0x0d] = pure(v128, v128, v128)
	t.simd[0x0d].imm = immShuffle
	t.simd[0x0e] = pure(v128, v128, v128) // swizzle
	for i, from := range []byte{i32, i32, i32, i64, f32, f64} {
		t.simd[0x0f+i] = pure(v128, from) // splat
	}
	op := 0x15
	for _, l := range []struct{ extracts, lanes, value byte }{
		{2, 16, i32}, {2, 8, i32}, {1, 4, i32}, {1, 2, i64}, {1, 4, f32}, {1, 2, f64},
	} {
		for range l.extracts {
			t.simd[op] = pure(l.value, v128)
			t.simd[op].imm, t.simd[op].lanes = immLane, l.lanes
			op++
		}
		t.simd[op] = pure(v128, l.value, v128)
		t.simd[op].imm, t.simd[op].lanes = immLane, l.lanes
		op++
	}
	for align := range byte(4) {
		load, store := &t.simd[0x54+int(align)], &t.simd[0x58+int(align)]
		*load = memoryOp(align, v128, v128, i32)
		*store = memoryOp(align, unknown, v128, i32)
		load.imm, store.imm = immMemLane, immMemLane
		load.lanes, store.lanes = 16>>align, 16>>align
	}
}
