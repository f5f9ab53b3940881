package plugintest

import (
	"encoding/binary"
	"math"
	"slices"
)

// Value types.
const (
	I32       byte = 0x7f
	I64       byte = 0x7e
	F32       byte = 0x7d
	F64       byte = 0x7c
	V128      byte = 0x7b
	FuncRef   byte = 0x70
	ExternRef byte = 0x6f
)

// Kinds of import and export.
const (
	KindFunc   byte = 0
	KindTable  byte = 1
	KindMemory byte = 2
	KindGlobal byte = 3
)

// Binary is a module of the sections, in their order.
func Binary(sections ...[]byte) []byte {
	return slices.Concat(append([][]byte{{0, 'a', 's', 'm', 1, 0, 0, 0}}, sections...)...)
}

// Section is a section with that content.
func Section(id byte, content ...[]byte) []byte {
	body := slices.Concat(content...)
	return append(append([]byte{id}, U32(len(body))...), body...)
}

// Vec is a vector: the number of items, then the items.
func Vec(items ...[]byte) []byte { return append(U32(len(items)), slices.Concat(items...)...) }

// Sized is content with its length before it.
func Sized(content ...[]byte) []byte {
	body := slices.Concat(content...)
	return append(U32(len(body)), body...)
}

// Name is a name.
func Name(s string) []byte { return Sized([]byte(s)) }

// U32 is an unsigned integer.
func U32(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// Signed is a signed integer.
func Signed(n int64) []byte {
	var out []byte
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if (n == 0 && b&0x40 == 0) || (n == -1 && b&0x40 != 0) {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// FuncType is a function type.
func FuncType(params, results []byte) []byte {
	return slices.Concat([]byte{0x60}, Sized(params), Sized(results))
}

// Custom is a custom section.
func Custom(name string, data []byte) []byte { return Section(0, Name(name), data) }

// Code joins instructions.
func Code(parts ...[]byte) []byte { return slices.Concat(parts...) }

// Const is i32.const. It takes addresses up to the last of 4 GiB as well as negative numbers.
func Const(n int64) []byte {
	return append([]byte{0x41}, Signed(int64(int32(uint32(n&math.MaxUint32))))...)
}

// Const64 is i64.const.
func Const64(n int64) []byte { return append([]byte{0x42}, Signed(n)...) }

// Call is call.
func Call(function int) []byte { return append([]byte{0x10}, U32(function)...) }

// Local is local.get.
func Local(n int) []byte { return append([]byte{0x20}, U32(n)...) }

// Global is global.get.
func Global(n int) []byte { return append([]byte{0x23}, U32(n)...) }

// SetGlobal is global.set.
func SetGlobal(n int) []byte { return append([]byte{0x24}, U32(n)...) }

// Store8 is i32.store8 with the address and the value on the stack.
func Store8() []byte { return []byte{0x3a, 0, 0} }

// Load8 is i32.load8_u with the address on the stack.
func Load8() []byte { return []byte{0x2d, 0, 0} }

// Add is i32.add.
func Add() []byte { return []byte{0x6a} }

// Drop is drop.
func Drop() []byte { return []byte{0x1a} }

// Unreachable is unreachable.
func Unreachable() []byte { return []byte{0x00} }

// Forever is a loop without end.
func Forever() []byte { return []byte{0x03, 0x40, 0x0c, 0, 0x0b} }
