package wasmbin

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// AppendCustom gives the module with a custom section added at its end, in new memory.
func (m *Module) AppendCustom(name string, data []byte) []byte {
	body := appendName(nil, name)
	body = append(body, data...)
	return appendSection(append([]byte(nil), m.bytes...), secCustom, body)
}

// WithoutCustom gives the module without its custom sections of that name, in new memory.
func (m *Module) WithoutCustom(name string) []byte {
	out := append([]byte(nil), magic...)
	customs := m.Customs
	for _, s := range m.sections {
		if s.id == secCustom {
			drop := customs[0].Name == name
			customs = customs[1:]
			if drop {
				continue
			}
		}
		out = append(out, m.bytes[s.start:s.end]...)
	}
	return out
}

// ExportGlobals gives the module with each of its own mutable globals exported, in new memory, and the
// export names in order of index. A guest cannot see its own exports, so it cannot tell.
func (m *Module) ExportGlobals() ([]byte, []string) {
	prefix := m.freePrefix()
	var names []string
	var entries []byte
	for i, g := range m.globals {
		if !g.mutable || g.imported {
			continue
		}
		name := prefix + strconv.Itoa(i)
		names = append(names, name)
		entries = appendName(entries, name)
		entries = append(entries, byte(ExternGlobal))
		entries = binary.AppendUvarint(entries, uint64(i))
	}
	if len(names) == 0 {
		return m.bytes, nil
	}
	section := appendSection(nil, secExport, m.exportsWith(len(names), entries))
	out := append(make([]byte, 0, len(m.bytes)+len(section)), magic...)
	written := false
	for _, s := range m.sections {
		if !written && s.id != secCustom && sectionOrder[s.id] >= sectionOrder[secExport] {
			out = append(out, section...)
			written = true
		}
		if s.id != secExport {
			out = append(out, m.bytes[s.start:s.end]...)
		}
	}
	if !written {
		out = append(out, section...)
	}
	return out, names
}

// exportsWith gives the content of the export section with more entries behind those it has.
func (m *Module) exportsWith(more int, entries []byte) []byte {
	var old []byte
	for _, s := range m.sections {
		if s.id == secExport {
			r := &reader{buf: m.bytes, pos: s.body, end: s.end}
			r.u32()
			old = m.bytes[r.pos:s.end]
		}
	}
	body := binary.AppendUvarint(nil, uint64(len(m.Exports)+more))
	return append(append(body, old...), entries...)
}

// freePrefix finds a prefix that no export has, in one pass: a module may be made to take the first ones.
func (m *Module) freePrefix() string {
	const prefix = "axis.global."
	taken := map[string]bool{}
	for _, e := range m.Exports {
		if rest, ok := strings.CutPrefix(e.Name, prefix); ok {
			number, _, _ := strings.Cut(rest, ".")
			taken[number] = true
		}
	}
	n := 0
	for taken[strconv.Itoa(n)] {
		n++
	}
	return prefix + strconv.Itoa(n) + "."
}

func appendName(b []byte, name string) []byte {
	b = binary.AppendUvarint(b, uint64(len(name)))
	return append(b, name...)
}

func appendSection(b []byte, id byte, body []byte) []byte {
	b = append(b, id)
	b = binary.AppendUvarint(b, uint64(len(body)))
	return append(b, body...)
}
