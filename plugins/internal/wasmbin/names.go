package wasmbin

// checkNames reads the name section as wazero does, which refuses a module for faults in it: a name section
// that wazero cannot read, or a second one. wazero does not hold a subsection to its size: what is read may
// end elsewhere, as long as the whole comes out at the section's end.
func (m *Module) checkNames(section *reader) {
	if m.hasNames {
		section.fail("is a second name section")
		return
	}
	m.hasNames = true
	r := &reader{buf: section.buf, pos: section.pos, end: len(section.buf), section: section.section}
	limit := uint64(section.end - section.pos)
	for limit > 0 && r.more() {
		id := r.byte()
		before := r.pos
		size := r.u32()
		limit -= 1 + uint64(r.pos-before)
		switch id {
		case 0:
			r.skipName()
		case 1:
			nameMap(r)
		case 2:
			for n := r.count("named functions"); n > 0 && r.err == nil; n-- {
				r.u32()
				nameMap(r)
			}
		default:
			r.bytes(size)
		}
		limit -= uint64(size) // may pass below zero, and then the end of the file is the end
	}
	if r.err == nil && r.pos != section.end {
		r.failAt(section.pos, "names end at offset %d, the section at %d", r.pos, section.end)
	}
	section.err = r.err
}

func nameMap(r *reader) {
	for n := r.count("names"); n > 0 && r.err == nil; n-- {
		r.u32()
		r.skipName()
	}
}
