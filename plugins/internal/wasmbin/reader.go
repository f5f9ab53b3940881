package wasmbin

import (
	"fmt"
	"unicode/utf8"
)

// Error is a fault in a module's bytes.
type Error struct {
	Section string // where the fault lies: "import section", "header"
	Offset  int    // of the item that is wrong, in bytes from the start of the module
	Reason  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at offset %d: %s", e.Section, e.Offset, e.Reason)
}

// reader walks over a window of the module. The first fault sticks; later reads return zeros, so that a
// parser may check err once per item.
type reader struct {
	buf     []byte // the whole module, so that offsets are the file's
	pos     int
	end     int
	section string
	err     *Error
}

func (r *reader) fail(format string, args ...any) { r.failAt(r.pos, format, args...) }

// failAt is fail for a fault that begins at an offset which was read past.
func (r *reader) failAt(offset int, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Section: r.section, Offset: offset, Reason: fmt.Sprintf(format, args...)}
	}
	r.pos = r.end
}

// more tells whether bytes are left.
func (r *reader) more() bool { return r.err == nil && r.pos < r.end }

func (r *reader) byte() byte {
	if r.pos >= r.end {
		r.fail("ends too early")
		return 0
	}
	b := r.buf[r.pos]
	r.pos++
	return b
}

// bytes gives the next n bytes, as a view of the module.
func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(r.end-r.pos) {
		r.fail("%d bytes are announced and %d are left", n, r.end-r.pos)
		return nil
	}
	b := r.buf[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// u32 reads an unsigned LEB128 of at most 32 bits. Over-long encodings within five bytes are accepted, as
// the specification does.
func (r *reader) u32() uint32 {
	if r.pos < r.end && r.buf[r.pos] < 0x80 {
		r.pos++
		return uint32(r.buf[r.pos-1])
	}
	return r.longU32()
}

func (r *reader) longU32() uint32 {
	var v uint32
	start := r.pos
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if shift == 28 && b > 0x0f {
			r.failAt(start, "integer is longer than 32 bits")
			return 0
		}
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

// skipInt passes over a signed LEB128 of at most bits bits.
func (r *reader) skipInt(bits int) {
	if r.pos < r.end && r.buf[r.pos] < 0x80 {
		r.pos++
		return
	}
	r.signed(bits)
}

// s33 reads a signed LEB128 of at most 33 bits.
func (r *reader) s33() int64 { return r.signed(33) }

// signed reads a signed LEB128 of at most bits bits. In the last byte that may be there, the bits past the
// number must be copies of its sign.
func (r *reader) signed(bits int) int64 {
	var v int64
	start := r.pos
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		signed := int64(int8(b<<1) >> 1)
		if left := bits - shift; left <= 7 {
			if rest := signed >> (left - 1); b >= 0x80 || rest != 0 && rest != -1 {
				r.failAt(start, "integer is longer than %d bits", bits)
				return 0
			}
		}
		if b < 0x80 {
			return v | signed<<shift
		}
		v |= int64(b&0x7f) << shift
	}
}

// name reads a length and that many bytes of UTF-8.
func (r *reader) name() string { return string(r.skipName()) }

// skipName is name without a copy.
func (r *reader) skipName() []byte {
	start := r.pos
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.failAt(start, "name is not UTF-8")
		return nil
	}
	return b
}

// count reads the length of a vector whose items take at least one byte each, so that a lie about the
// length is found before anything is allocated for it.
func (r *reader) count(what string) int {
	start := r.pos
	n := r.u32()
	if uint64(n) > uint64(r.end-r.pos) {
		r.failAt(start, "%d %s are announced in %d bytes", n, what, r.end-r.pos)
		return 0
	}
	return int(n)
}

// countUpTo is count for items of which a module may have only so many.
func (r *reader) countUpTo(limit int, what string) int {
	start := r.pos
	n := r.count(what)
	if n > limit {
		r.failAt(start, "%d %s are over the limit of %d", n, what, limit)
		return 0
	}
	return n
}

// sub gives a reader over the next n bytes and passes over them.
func (r *reader) sub(n uint32, section string) *reader {
	start := r.pos
	r.bytes(n)
	return &reader{buf: r.buf, pos: start, end: r.pos, section: section, err: r.err}
}

// done reports bytes left over.
func (r *reader) done() {
	if r.err == nil && r.pos != r.end {
		r.fail("%d bytes are left over", r.end-r.pos)
	}
}
