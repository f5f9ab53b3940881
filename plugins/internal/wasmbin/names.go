package wasmbin

// nameSection is the custom section that names functions and locals, subFunctionNames the part of it for functions.
const (
	nameSection      = "name"
	subFunctionNames = 1
)

// checkNames reads the name section as wazero does, which refuses a module for faults in it: a name section
// that wazero cannot read, or a second one. wazero does not hold each subsection to its size, only their sum
// to the section's; and where that doesn't come out, it reads on to the end of the file. Here the sum must
// come out, or a section put behind this one would turn an accepted module into one that wazero refuses.
func (m *Module) checkNames(r *reader) {
	start := r.pos
	if m.hasNames {
		r.fail("is a second name section")
		return
	}
	m.hasNames = true
	left := uint64(r.end - start)
	for left > 0 && r.err == nil {
		before := r.pos
		id := r.byte()
		size := r.u32()
		head := uint64(r.pos - before)
		switch id {
		case 0:
			r.skipName()
		case subFunctionNames:
			nameMap(r)
		case 2:
			for n := r.count("named functions"); n > 0 && r.err == nil; n-- {
				r.u32()
				nameMap(r)
			}
		default:
			r.bytes(size)
		}
		passes := head+uint64(size) > left
		left -= head + uint64(size)
		if passes || left > 0 && r.pos == r.end {
			r.failAt(before, "sizes of the names do not come out at the section's end")
		}
	}
	if r.err == nil && r.pos != r.end {
		r.failAt(start, "names end %d bytes before the section", r.end-r.pos)
	}
}

func nameMap(r *reader) {
	for n := r.count("names"); n > 0 && r.err == nil; n-- {
		r.u32()
		r.skipName()
	}
}
