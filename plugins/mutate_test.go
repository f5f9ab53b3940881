package plugins

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	pt "github.com/axishost/axishost/plugins/plugintest"
)

// section is one of a well-formed module.
type section struct {
	id   byte
	body []byte
}

// split gives the sections of a well-formed module, in new memory.
func split(file []byte) (sections []section) {
	for at := 8; at < len(file); {
		size, n := binary.Uvarint(file[at+1:])
		body := at + 1 + n
		sections = append(sections, section{file[at], slices.Clone(file[body : body+int(size)])})
		at = body + int(size)
	}
	return sections
}

// mutate gives another module, changed in one to three places. Bytes alone hardly ever give one that is
// accepted, since most changes of a length break all that follows: so sections and function bodies are taken
// apart, changed and put together with their true lengths, and only then, now and then, bytes of the whole file.
func mutate(random *rand.Rand, file []byte) []byte {
	for {
		if mutant := mutateOnce(random, file); !slices.Equal(mutant, file) {
			return mutant
		}
	}
}

func mutateOnce(random *rand.Rand, file []byte) []byte {
	sections := split(file)
	for range 1 + random.IntN(2) {
		at := random.IntN(len(sections))
		switch s := &sections[at]; random.IntN(16) {
		case 0:
			other := random.IntN(len(sections))
			sections[at], sections[other] = sections[other], sections[at]
		case 1:
			sections = slices.Insert(sections, at, section{s.id, slices.Clone(s.body)})
		case 2:
			if len(sections) > 1 {
				sections = slices.Delete(sections, at, at+1)
			}
		case 3, 4, 5:
			s.body = alter(random, s.body)
		default: // what is inside functions is where a verdict is hardest
			if n := slices.IndexFunc(sections, func(s section) bool { return s.id == 10 }); n >= 0 {
				sections[n].body = alterFunction(random, sections[n].body)
			}
		}
	}
	var encoded [][]byte
	for _, s := range sections {
		encoded = append(encoded, pt.Section(s.id, s.body))
	}
	out := pt.Binary(encoded...)
	if random.IntN(4) == 0 {
		out = alter(random, out)
	}
	return out
}

// alterFunction changes one body of a code section; its length stays true.
func alterFunction(random *rand.Rand, code []byte) []byte {
	count, at := binary.Uvarint(code)
	var bodies [][]byte
	for range count {
		size, n := binary.Uvarint(code[min(at, len(code)):])
		if n <= 0 || size > uint64(len(code)-at-n) {
			return code // it was changed before
		}
		bodies = append(bodies, pt.Sized(code[at+n:at+n+int(size)]))
		at += n + int(size)
	}
	if count == 0 {
		return code
	}
	chosen := random.IntN(len(bodies))
	_, n := binary.Uvarint(bodies[chosen])
	change := alter
	if random.IntN(3) > 0 {
		change = retype
	}
	bodies[chosen] = pt.Sized(change(random, bodies[chosen][n:]))
	return pt.Vec(bodies...)
}

// retype puts in place of a constant another one, or of an instruction another of the same type, which mostly
// stays valid: so that mutants do what their base would not.
func retype(random *rand.Rand, body []byte) []byte {
	b := slices.Clone(body)
	for range min(10, 10*len(b)) {
		at := random.IntN(len(b))
		switch op := b[at]; {
		case op == 0x41 && at+1 < len(b) && b[at+1] < 0x80: // i32.const of one byte
			return slices.Replace(b, at+1, at+2, pt.Signed(int64(int32(random.Uint32())>>random.IntN(32)))...)
		case op >= 0x46 && op <= 0x4f: // comparisons of i32
			b[at] = 0x46 + byte(random.IntN(10))
			return b
		case op >= 0x6a && op <= 0x78: // binary on i32
			b[at] = 0x6a + byte(random.IntN(15))
			return b
		case op == 0x20 || op == 0x3f: // gives an i32
			return slices.Replace(b, at, min(at+2, len(b)), pt.Const(int64(random.IntN(70_000)))...)
		}
	}
	return alter(random, b)
}

// alter changes bytes at one place.
func alter(random *rand.Rand, b []byte) []byte {
	if len(b) == 0 {
		return []byte{byte(random.Uint32())}
	}
	b = slices.Clone(b)
	at := random.IntN(len(b))
	length := min(1+random.IntN(8), len(b)-at)
	switch random.IntN(11) {
	case 0, 1:
		b[at] ^= 1 << random.IntN(8)
	case 2:
		b[at] = byte(random.Uint32())
	case 3:
		b[at] = telling[random.IntN(len(telling))]
	case 4:
		b = slices.Insert(b, at, telling[random.IntN(len(telling))])
	case 5: // repeats what is there
		b = slices.Insert(b, at, slices.Clone(b[at:at+length])...)
	case 6:
		b = slices.Delete(b, at, at+length)
	case 7: // a length, count or index that is a little too large or too small
		b[at] += byte(random.IntN(5)) - 2
	case 8: // the same number in more bytes than it needs
		b = slices.Replace(b, at, at+1, b[at]|0x80, 0)
	case 9: // one of up to 32 bits
		b = slices.Replace(b, at, at+1, pt.U32(int(random.Uint32()>>random.IntN(32)))...)
	case 10:
		b = b[:at]
	}
	return b
}

// telling are bytes that instructions begin with, or that name types.
var telling = []byte{0, 1, 2, 3, 4, 5, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x1a, 0x1b, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26,
	0x28, 0x36, 0x3f, 0x40, 0x41, 0x42, 0x45, 0x6a, 0x7c, 0xd0, 0xd1, 0xd2, 0xfc, 0xfd, 0x7f, 0x7e, 0x7d, 0x7b, 0x70, 0x6f}
