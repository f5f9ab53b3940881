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
	// maxDepth: 50,000 nested blocks took 2.2 s and 242 MB to compile, and the time grows with the square.
	// Stock Go nests a block for each call of a function: the deepest of cmd/vet, 14 MB, has 1,153.
	maxDepth = 4_000
	// maxTableMin: the elements of all tables are allocated when the module is instantiated, 8 bytes each.
	maxTableMin = 64 << 10
	// maxMemoryPages is what 32-bit addresses reach.
	maxMemoryPages = 64 << 10
	// maxItems bounds types, imports, globals, tables, memories and exports, each: what is kept of one is
	// many times as long as its shortest encoding. Stock Go guests have fewer than 50 of each.
	maxItems = 10_000
	// maxTypeValues bounds the parameters and results of all types together, for the same reason.
	maxTypeValues = 100_000
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
	case secCode:
		m.parseCode(r)
	default: // elements, data and data count: wazero validates them
		return
	}
	r.done()
}

func (m *Module) parseCustom(r *reader) {
	if len(m.Customs) == maxCustoms {
		r.fail("more than %d custom sections", maxCustoms)
		return
	}
	name := r.name()
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
		t := abi.Function{Params: valueTypes(r), Results: valueTypes(r)}
		if values += len(t.Params) + len(t.Results); values > maxTypeValues {
			r.failAt(start, "types with more than %d values", maxTypeValues)
		}
		m.types = append(m.types, t)
	}
}

func valueTypes(r *reader) []abi.ValueType {
	n := r.countUpTo(maxTypeValues, "value types")
	if r.err != nil || n == 0 {
		return nil
	}
	types := make([]abi.ValueType, 0, n)
	for ; n > 0 && r.err == nil; n-- {
		types = append(types, valueType(r))
	}
	return types
}

func valueType(r *reader) abi.ValueType {
	start := r.pos
	switch b := r.byte(); b {
	case 0x7f:
		return abi.I32
	case 0x7e:
		return abi.I64
	case 0x7d:
		return "f32"
	case 0x7c:
		return "f64"
	case 0x7b:
		return "v128"
	case 0x70:
		return "funcref"
	case 0x6f:
		return "externref"
	default:
		r.failAt(start, "value type %#x is not known", b)
		return ""
	}
}

func (m *Module) parseImports(r *reader) {
	for n := r.countUpTo(maxItems, "imports"); n > 0 && r.err == nil; n-- {
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
			tableType(r)
		case ExternMemory:
			memoryType(r)
		case ExternGlobal:
			m.globals = append(m.globals, globalType{value: valueType(r), mutable: mutability(r), imported: true})
		default:
			r.failAt(start, "import kind %d is not known", imp.Kind)
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

func limits(r *reader) Limits {
	start := r.pos
	flags := r.byte()
	if flags > 3 {
		r.failAt(start, "limits flag %#x is not known", flags)
	}
	l := Limits{Min: r.u32(), HasMax: flags&1 != 0, Shared: flags&2 != 0}
	if l.HasMax {
		l.Max = r.u32()
	}
	return l
}

func memoryType(r *reader) Limits {
	start := r.pos
	l := limits(r)
	if most := max(l.Min, l.Max); most > maxMemoryPages {
		r.failAt(start, "memory of %d pages is over the limit of %d", most, maxMemoryPages)
	}
	return l
}

func tableType(r *reader) Limits {
	start := r.pos
	if t := valueType(r); r.err == nil && t != "funcref" && t != "externref" {
		r.failAt(start, "table of %s", t)
	}
	return limits(r)
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
		t := tableType(r)
		if elements += uint64(t.Min); elements > maxTableMin {
			r.failAt(start, "%d table elements are over the limit of %d", elements, maxTableMin)
			return
		}
		m.Tables = append(m.Tables, t)
	}
}

func (m *Module) parseMemories(r *reader) {
	for n := r.countUpTo(maxItems, "memories"); n > 0 && r.err == nil; n-- {
		m.Memories = append(m.Memories, memoryType(r))
	}
}

func (m *Module) parseGlobals(r *reader) {
	for n := r.countUpTo(maxItems, "globals"); n > 0 && r.err == nil; n-- {
		m.globals = append(m.globals, globalType{value: valueType(r), mutable: mutability(r)})
		skipConstant(r)
	}
}

// skipConstant passes over a constant expression, up to and including its end.
func skipConstant(r *reader) {
	var s scan
	for r.err == nil {
		op := r.byte()
		if op == opEnd {
			return
		}
		s.immediates(r, op)
	}
}

func (m *Module) parseExports(r *reader) {
	seen := map[string]bool{}
	for n := r.countUpTo(maxItems, "exports"); n > 0 && r.err == nil; n-- {
		start := r.pos
		e := Export{Name: r.name(), Kind: ExternKind(r.byte()), Index: r.u32()}
		if e.Kind > ExternGlobal {
			r.failAt(start, "export %q is of kind %d, which is not known", clip(e.Name), e.Kind)
			return
		}
		if r.err == nil && seen[e.Name] {
			r.failAt(start, "%q is exported twice", clip(e.Name))
			return
		}
		seen[e.Name] = true
		m.Exports = append(m.Exports, e)
	}
}

func (m *Module) parseStart(r *reader) {
	r.u32()
	m.HasStart = true
}
