package wasmbin

import (
	"encoding/binary"
	"strings"
	"unicode"
)

const (
	// maxFunctionName bounds a function's name in what is compiled: wazero repeats it in each of the 30 frames
	// of a trap's trace. It is enough to find the function by.
	maxFunctionName = 100
	// maxFunctionNames bounds all of them together. Stock Go's cmd/vet has 0.5 MB of them.
	maxFunctionNames = 4 << 20
)

// Strip gives rewritten, which is this module's bytes or what the other edits made of them, without custom
// sections, but for a name section with its functions' names, clipped and printable. wazero writes names as they
// are into a trap's trace, one frame a line: a name with line ends would forge frames, one of megabytes would fill
// the host's memory. All else in custom sections costs time to decode, and nothing reads it.
func (m *Module) Strip(rewritten []byte) []byte {
	out := append(make([]byte, 0, len(rewritten)), magic...)
	for pos := len(magic); pos < len(rewritten); {
		size, n := binary.Uvarint(rewritten[pos+1:])
		end := pos + 1 + n + int(size)
		if rewritten[pos] != secCustom {
			out = append(out, rewritten[pos:end]...)
		}
		pos = end
	}
	count, names := m.functionNames()
	if count == 0 {
		return out
	}
	names = append(binary.AppendUvarint(nil, uint64(count)), names...)
	return appendSection(out, secCustom, appendSection(appendName(nil, nameSection), subFunctionNames, names))
}

// functionNames gives how many functions have a name that is kept, and those as the entries of a name map: in order
// of index, without repetitions, as the specification has it and wazero does not ask for.
func (m *Module) functionNames() (count int, entries []byte) {
	next := uint32(0)
	r := m.nameMap()
	for n := r.count("names"); n > 0 && r.err == nil; n-- {
		index, name := r.u32(), r.skipName()
		if index < next || uint64(index) >= uint64(len(m.funcs)) || len(name) == 0 {
			continue
		}
		next = index + 1
		entry := appendName(binary.AppendUvarint(nil, uint64(index)), plainName(name))
		if len(entries)+len(entry) > maxFunctionNames {
			break
		}
		entries = append(entries, entry...)
		count++
	}
	return count, entries
}

// nameMap is a reader of the functions' names. It reads nothing where there are none.
func (m *Module) nameMap() *reader {
	for _, c := range m.Customs {
		if c.Name != nameSection {
			continue
		}
		r := &reader{buf: c.Data, end: len(c.Data)}
		for r.more() {
			id, size := r.byte(), r.u32()
			if id == subFunctionNames {
				return r
			}
			r.bytes(size) // as checkNames, which has read this before, found it
		}
	}
	return &reader{}
}

// plainName is a function's name, clipped, with what cannot be printed replaced.
func plainName(name []byte) string {
	cut := len(name) > maxFunctionName
	plain := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(string(name[:min(len(name), maxFunctionName)]), ""))
	if cut {
		plain += "…"
	}
	return plain
}
