package wasmbin

import (
	"github.com/axishost/axishost/abi"
)

// Structural caps. A module over one of them is refused before it costs anything to compile.
const (
	// maxFunctions: the largest guests measured, stock Go with most of its library, have 12,000.
	maxFunctions = 100_000
	// maxBodyBytes: compile time and memory grow faster than a function's size.
	maxBodyBytes = 1 << 20
	// maxLocals is what engines agree on.
	maxLocals = 50_000
	// maxAllLocals bounds those of all functions together: a function of ten bytes may announce 50,000, and what
	// compiling takes goes by the number (5 million: 50 ms and 42 MB). Stock Go's cmd/vet has 30,456.
	maxAllLocals = 5_000_000
	// maxDepth: 50,000 nested blocks took 2.2 s and 242 MB to compile, and the time grows with the square.
	// Stock Go nests a block for each call of a function: the deepest of cmd/vet, 14 MB, has 1,153.
	maxDepth = 4_000
	// maxTableMin: the elements of all tables are allocated when the module is instantiated, 8 bytes each. They
	// grow no further either, see CapTables.
	maxTableMin = 64 << 10
	// maxMemoryPages is what 32-bit addresses reach.
	maxMemoryPages = 64 << 10
	// maxItems bounds types, imports, globals, tables, memories and exports, each: what is kept of one is
	// many times as long as its shortest encoding. Stock Go guests have fewer than 50 of each.
	maxItems = 10_000
	// maxTypeValues bounds the parameters and results of all types together, for the same reason.
	maxTypeValues = 100_000
	// maxValues bounds the parameters, and the results, of one type: what engines agree on (the JavaScript API of
	// WebAssembly). Compiling a function of 30,000 parameters takes wazero gigabytes.
	maxValues = 1_000
	// maxDataSegments is what engines agree on, too: 80 bytes are kept of a segment that takes two. Stock Go writes
	// one for each run of data that is not zero (38,000 in a guest of 3.4 MB), and never more than this.
	maxDataSegments = 100_000
	// maxElementSegments: the same, and an instance keeps them. Compilers emit a few; stock Go one.
	maxElementSegments = 10_000
	// maxElements bounds the elements of all segments together, which take a byte each and 12 of the host's, most
	// of them in each instance. It is past the most functions that there are, and what fits into tables.
	maxElements = 200_000
	// maxCustoms bounds custom sections: compilers emit fewer than 20.
	maxCustoms = 1_000
)

func (m *Module) parseSection(id byte, r *reader) {
	switch id {
	case secCustom:
		m.parseCustom(r)
	case secType:
		m.parseTypes(r)
	case secImport:
		m.parseImports(r)
	case secFunction:
		m.parseFunctions(r)
	case secTable:
		m.parseTables(r)
	case secMemory:
		m.parseMemories(r)
	case secGlobal:
		m.parseGlobals(r)
	case secExport:
		m.parseExports(r)
	case secStart:
		m.parseStart(r)
	case secElement:
		m.parseElements(r)
	case secCode:
		m.parseCode(r)
	case secData:
		m.parseData(r)
	case secDataCount:
		m.parseDataCount(r)
	}
	r.done()
}

func (m *Module) parseCustom(r *reader) {
	if len(m.Customs) == maxCustoms {
		r.fail("more than %d custom sections", maxCustoms)
		return
	}
	name := r.name()
	if name == nameSection && r.err == nil {
		names := *r
		m.checkNames(&names)
		r.err = names.err
	}
	data := r.bytes(uint32(r.end - r.pos))
	if r.err == nil {
		m.Customs = append(m.Customs, Custom{Name: name, Data: data})
	}
}

func (m *Module) parseTypes(r *reader) {
	values := 0
	for n := r.countUpTo(maxItems, "types"); n > 0 && r.err == nil; n-- {
		start := r.pos
		if form := r.byte(); r.err == nil && form != 0x60 {
			r.failAt(start, "type form %#x is not a function type", form)
			return
		}
		sig := signature{params: valueBytes(r), results: valueBytes(r)}
		t := abi.Function{Params: valueTypes(sig.params), Results: valueTypes(sig.results)}
		if values += len(t.Params) + len(t.Results); values > maxTypeValues {
			r.failAt(start, "types with more than %d values", maxTypeValues)
		}
		m.types = append(m.types, t)
		m.sigs = append(m.sigs, sig)
	}
}

// valueBytes reads a vector of value types and gives it as a view of the module.
func valueBytes(r *reader) []byte {
	n := r.countUpTo(maxValues, "value types")
	start := r.pos
	for ; n > 0 && r.err == nil; n-- {
		valueByte(r)
	}
	if r.err != nil {
		return nil
	}
	return r.buf[start:r.pos:r.pos]
}

func valueTypes(bytes []byte) []abi.ValueType {
	if len(bytes) == 0 {
		return nil
	}
	types := make([]abi.ValueType, len(bytes))
	for i, b := range bytes {
		types[i], _ = valueTypeName(b)
	}
	return types
}

// valueByte reads a value type.
func valueByte(r *reader) byte {
	start := r.pos
	b := r.byte()
	if _, ok := valueTypeName(b); !ok {
		r.failAt(start, "value type %#x is not known", b)
		return unknown
	}
	return b
}

// referenceByte reads a reference type.
func referenceByte(r *reader) byte {
	start := r.pos
	b := r.byte()
	if !isReference(b) {
		r.failAt(start, "reference type %#x is not known", b)
		return unknown
	}
	return b
}

func isReference(t byte) bool { return t == funcref || t == externref }

func valueTypeName(b byte) (abi.ValueType, bool) {
	switch b {
	case i32:
		return abi.I32, true
	case i64:
		return abi.I64, true
	case f32:
		return "f32", true
	case f64:
		return "f64", true
	case v128:
		return "v128", true
	case funcref:
		return "funcref", true
	case externref:
		return "externref", true
	}
	return "", false
}

func (m *Module) parseImports(r *reader) {
	for n := r.countUpTo(maxItems, "imports"); n > 0 && r.err == nil; n-- {
		item := r.pos
		imp := Import{Module: r.name(), Name: r.name()}
		start := r.pos
		imp.Kind = ExternKind(r.byte())
		if r.err != nil {
			return
		}
		switch imp.Kind {
		case ExternFunc:
			index, ok := m.typeIndex(r)
			if !ok {
				return
			}
			m.funcs = append(m.funcs, index)
			imp.Type = m.types[index]
			imp.Type.Name = imp.Name
		case ExternTable:
			m.tableType(r)
		case ExternMemory:
			m.memoryType(r)
		case ExternGlobal:
			m.globalType(r, true)
		default:
			r.failAt(start, "import kind %d is not known", imp.Kind)
		}
		if r.err == nil && imp.Module == "" {
			r.failAt(item, "import %q is of a module without a name, which wazero refuses", clip(imp.Name))
		}
		m.Imports = append(m.Imports, imp)
	}
}

// typeIndex reads the index of a type that is there.
func (m *Module) typeIndex(r *reader) (uint32, bool) {
	start := r.pos
	index := r.u32()
	if r.err == nil && int(index) >= len(m.types) {
		r.failAt(start, "type %d of %d", index, len(m.types))
	}
	return index, r.err == nil
}

// mutability reads whether a global can change.
func mutability(r *reader) bool {
	start := r.pos
	b := r.byte()
	if b > 1 {
		r.failAt(start, "mutability %#x is not known", b)
	}
	return b == 1
}

// globalType reads the type of a global and adds it to those that there are.
func (m *Module) globalType(r *reader, imported bool) globalType {
	g := globalType{code: valueByte(r), mutable: mutability(r), imported: imported}
	g.value, _ = valueTypeName(g.code)
	m.globals = append(m.globals, g)
	return g
}

func limits(r *reader) Limits {
	start := r.pos
	flags := r.byte()
	switch {
	case r.err != nil:
	case flags == 2 || flags == 3:
		r.failAt(start, "shared memories and tables are not supported")
	case flags > 3:
		r.failAt(start, "limits flag %#x is not known", flags)
	}
	l := Limits{Min: r.u32(), HasMax: flags == 1}
	if l.HasMax {
		l.Max = r.u32()
	}
	return l
}

// check refuses limits whose end is before their beginning. Limits past a cap are named as such before.
func (l Limits) check(r *reader, start int) {
	if r.err == nil && l.HasMax && l.Max < l.Min {
		r.failAt(start, "limits end at %d, before their beginning at %d", l.Max, l.Min)
	}
}

// memoryType reads the type of a memory, of which a module may have or import one.
func (m *Module) memoryType(r *reader) Limits {
	start := r.pos
	if m.memories++; m.memories > 1 {
		r.failAt(start, "more than one memory")
	}
	l := limits(r)
	if most := max(l.Min, l.Max); most > maxMemoryPages {
		r.failAt(start, "memory of %d pages is over the limit of %d", most, maxMemoryPages)
	}
	l.check(r, start)
	return l
}

func (m *Module) tableType(r *reader) Limits {
	start := r.pos
	t := valueByte(r)
	if r.err == nil && !isReference(t) {
		r.failAt(start, "table of %s", typeName(t))
	}
	l := limits(r)
	l.check(r, start)
	m.tableTypes = append(m.tableTypes, t)
	return l
}

func (m *Module) parseFunctions(r *reader) {
	m.Functions = r.countUpTo(maxFunctions, "functions")
	for n := m.Functions; n > 0; n-- {
		index, ok := m.typeIndex(r)
		if !ok {
			return
		}
		m.funcs = append(m.funcs, index)
	}
}

func (m *Module) parseTables(r *reader) {
	elements := uint64(0)
	for n := r.countUpTo(maxItems, "tables"); n > 0 && r.err == nil; n-- {
		start := r.pos
		t := m.tableType(r)
		if elements += uint64(t.Min); elements > maxTableMin {
			r.failAt(start, "%d table elements are over the limit of %d", elements, maxTableMin)
			return
		}
		m.Tables = append(m.Tables, t)
	}
}

func (m *Module) parseMemories(r *reader) {
	for n := r.countUpTo(maxItems, "memories"); n > 0 && r.err == nil; n-- {
		m.Memories = append(m.Memories, m.memoryType(r))
	}
}

func (m *Module) parseGlobals(r *reader) {
	for n := r.countUpTo(maxItems, "globals"); n > 0 && r.err == nil; n-- {
		g := m.globalType(r, false)
		m.constant(r, g.code)
	}
}

func (m *Module) parseExports(r *reader) {
	seen := map[string]bool{}
	for n := r.countUpTo(maxItems, "exports"); n > 0 && r.err == nil; n-- {
		start := r.pos
		e := Export{Name: r.name(), Kind: ExternKind(r.byte()), Index: r.u32()}
		if r.err != nil {
			return
		}
		if seen[e.Name] {
			r.failAt(start, "%q is exported twice", clip(e.Name))
			return
		}
		seen[e.Name] = true
		m.exported(r, start, &e)
		m.Exports = append(m.Exports, e)
	}
}
