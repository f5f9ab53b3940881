package wasmbin

// funcIndex reads the number of a function that is there.
func (m *Module) funcIndex(r *reader) (uint32, bool) {
	start := r.pos
	index := r.u32()
	if r.err == nil && uint64(index) >= uint64(len(m.funcs)) {
		r.failAt(start, "function %d of %d", index, len(m.funcs))
	}
	return index, r.err == nil
}

// declare notes that code may refer to a function: it is exported, or named by a global or an element
// segment.
func (m *Module) declare(index uint32) {
	if m.declared == nil {
		m.declared = make([]bool, len(m.funcs))
	}
	m.declared[index] = true
}

// constant checks a constant expression, up to and including its end. One instruction is all that fits:
// each of those allowed gives a value and takes none.
func (m *Module) constant(r *reader, want byte) {
	start := r.pos
	got := unknown
	switch op := r.byte(); op {
	case opI32Const:
		r.skipInt(32)
		got = i32
	case opI64Const:
		r.skipInt(64)
		got = i64
	case opF32Const:
		r.bytes(4)
		got = f32
	case opF64Const:
		r.bytes(8)
		got = f64
	case opGlobalGet:
		got = m.constantGlobal(r)
	case opRefNull:
		got = referenceByte(r)
	case opRefFunc:
		if index, ok := m.funcIndex(r); ok {
			m.declare(index)
		}
		got = funcref
	case opSIMD:
		if sub := r.byte(); sub != opV128Const {
			r.failAt(start, "instruction 0xfd %d is not constant", sub)
		}
		r.bytes(16)
		got = v128
	default:
		r.failAt(start, "instruction %#x is not constant", op)
	}
	if r.err == nil && got != want {
		r.failAt(start, "constant is of type %s, not %s", typeName(got), typeName(want))
	}
	if end := r.pos; r.byte() != opEnd {
		r.failAt(end, "constant expression has more than one instruction")
	}
}

// constantGlobal reads the number of a global that a constant may come from: an imported one that never
// changes.
func (m *Module) constantGlobal(r *reader) byte {
	start := r.pos
	index := r.u32()
	switch {
	case r.err != nil:
	case uint64(index) >= uint64(len(m.globals)) || !m.globals[index].imported:
		r.failAt(start, "constant comes from global %d, which is not imported", index)
	case m.globals[index].mutable:
		r.failAt(start, "constant comes from global %d, which is mutable", index)
	default:
		return m.globals[index].code
	}
	return unknown
}

// exported checks that an export is there, and fills in the type of a function.
func (m *Module) exported(r *reader, start int, e *Export) {
	var there int
	switch e.Kind {
	case ExternFunc:
		there = len(m.funcs)
	case ExternTable:
		there = len(m.tableTypes)
	case ExternMemory:
		there = m.memories
	case ExternGlobal:
		there = len(m.globals)
	default:
		r.failAt(start, "export %q is of kind %d, which is not known", clip(e.Name), e.Kind)
		return
	}
	if uint64(e.Index) >= uint64(there) {
		r.failAt(start, "export %q names %s %d of %d", clip(e.Name), e.Kind, e.Index, there)
		return
	}
	if e.Kind == ExternFunc {
		m.declare(e.Index)
		e.Type = m.types[m.funcs[e.Index]]
		e.Type.Name = e.Name
	}
}

func (m *Module) parseStart(r *reader) {
	start := r.pos
	index, ok := m.funcIndex(r)
	if !ok {
		return
	}
	if sig := m.sigs[m.funcs[index]]; len(sig.params)+len(sig.results) > 0 {
		r.failAt(start, "start function %d has parameters or results", index)
	}
	m.HasStart = true
}

// The bits of an element segment's first number.
const (
	elementPassive  = 1 // without a place in a table; with elementExplicit: only declared
	elementExplicit = 2 // an active one names its table
	elementExprs    = 4 // expressions instead of numbers of functions
)

func (m *Module) parseElements(r *reader) {
	elements := 0
	for n := r.countUpTo(maxElementSegments, "element segments"); n > 0 && r.err == nil; n-- {
		start := r.pos
		flags := r.u32()
		if flags > 7 {
			r.failAt(start, "element segment of kind %d is not known", flags)
			return
		}
		table := uint32(0)
		if active := flags&elementPassive == 0; active {
			if flags&elementExplicit != 0 {
				table = r.u32()
			}
			m.constant(r, i32)
		}
		t := funcref
		if flags&(elementPassive|elementExplicit) != 0 {
			t = elementType(r, flags)
		}
		if r.err == nil && flags&elementPassive == 0 {
			m.elementTable(r, start, table, t)
		}
		m.elements = append(m.elements, t)
		n := r.count("elements")
		if elements += n; elements > maxElements {
			r.failAt(start, "%d elements of all segments are over the limit of %d", elements, maxElements)
			return
		}
		for ; n > 0 && r.err == nil; n-- {
			if flags&elementExprs != 0 {
				m.constant(r, t)
			} else if index, ok := m.funcIndex(r); ok {
				m.declare(index)
			}
		}
	}
}

// elementType reads the type of a segment's elements, or the kind that stands for functions.
func elementType(r *reader, flags uint32) byte {
	if flags&elementExprs != 0 {
		return referenceByte(r)
	}
	start := r.pos
	if kind := r.byte(); kind != 0 {
		r.failAt(start, "elements of kind %d are not known", kind)
	}
	return funcref
}

func (m *Module) elementTable(r *reader, start int, table uint32, t byte) {
	if uint64(table) >= uint64(len(m.tableTypes)) {
		r.failAt(start, "element segment for table %d of %d", table, len(m.tableTypes))
		return
	}
	if into := m.tableTypes[table]; into != t {
		r.failAt(start, "element segment puts %s into a table of %s", typeName(t), typeName(into))
	}
}

func (m *Module) parseDataCount(r *reader) {
	m.dataCount, m.hasDataCount = r.u32(), true
}

func (m *Module) parseData(r *reader) {
	m.datas = r.countUpTo(maxDataSegments, "data segments")
	for n := m.datas; n > 0 && r.err == nil; n-- {
		start := r.pos
		switch flags := r.u32(); flags {
		case 2:
			if index := r.u32(); index != 0 {
				r.failAt(start, "data segment for memory %d of %d", index, m.memories)
			}
			fallthrough
		case 0:
			if m.memories == 0 {
				r.failAt(start, "data segment without a memory")
			}
			m.constant(r, i32)
		case 1:
		default:
			r.failAt(start, "data segment of kind %d is not known", flags)
		}
		r.bytes(r.u32())
	}
}

// finish checks what only the whole module can tell.
func (m *Module) finish(r *reader) {
	switch {
	case m.bodies != m.Functions:
		r.section = sectionNames[secCode]
		r.fail("is missing: %d functions have no body", m.Functions)
	case m.hasDataCount && uint64(m.dataCount) != uint64(m.datas):
		r.section = sectionNames[secDataCount]
		r.fail("announces %d data segments, and there are %d", m.dataCount, m.datas)
	}
}
