package wasmbin

import "encoding/binary"

// CapTables gives rewritten, which is this module's bytes or what ExportGlobals made of them, with an end for each
// table, so that all of them together cannot grow past what a module may start with. A guest cannot see the end,
// but that table.grow answers -1 there. Without one wazero allocates what a single instruction asks for, up to
// 32 GiB, outside of the cap on memory.
func (m *Module) CapTables(rewritten []byte) []byte {
	if !m.growsTables {
		return rewritten
	}
	out := make([]byte, 0, len(rewritten)+16)
	out = append(out, magic...)
	for pos := len(magic); pos < len(rewritten); {
		size, n := binary.Uvarint(rewritten[pos+1:])
		end := pos + 1 + n + int(size)
		if rewritten[pos] == secTable {
			out = appendSection(out, secTable, m.cappedTables())
		} else {
			out = append(out, rewritten[pos:end]...)
		}
		pos = end
	}
	return out
}

// cappedTables is the content of the table section. What room is left is shared among the tables.
func (m *Module) cappedTables() []byte {
	room := uint32(maxTableMin)
	for _, t := range m.Tables {
		room -= t.Min
	}
	body := binary.AppendUvarint(nil, uint64(len(m.Tables)))
	types := m.tableTypes[len(m.tableTypes)-len(m.Tables):] // those before are imported
	for i, t := range m.Tables {
		most := t.Min + room/uint32(len(m.Tables))
		if t.HasMax {
			most = min(most, t.Max)
		}
		body = append(body, types[i], 1)
		body = binary.AppendUvarint(body, uint64(t.Min))
		body = binary.AppendUvarint(body, uint64(most))
	}
	return body
}
