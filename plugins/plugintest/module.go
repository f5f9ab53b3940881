package plugintest

import (
	"slices"
)

// Module is a module in the making. Imports come before functions, since both are numbered in one sequence.
// The zero value is an empty module; New makes one with the boundary of a plugin.
type Module struct {
	types, imports, functions, tables, memories [][]byte
	globals, exports, bodies, data, customs     [][]byte
	elements                                    [][]byte
	start                                       []byte
	imported                                    int // functions
}

// New gives a module with one page of memory, exported, and the marker of ABI 1. It is the first function
// that is not imported.
func New(imports ...Import) *Module {
	m := &Module{}
	for _, i := range imports {
		m.Import(i)
	}
	m.Memory(1)
	m.Export("memory", KindMemory, 0)
	m.Func("axis_abi_v1", nil, nil, nil)
	return m
}

// Import is an imported function.
type Import struct {
	Module, Name    string
	Params, Results []byte
}

// Import adds an imported function and gives its number.
func (m *Module) Import(i Import) int {
	m.RawImport(i.Module, i.Name, KindFunc, U32(m.Type(i.Params, i.Results)))
	m.imported++
	return m.imported - 1
}

// RawImport adds any import; description is what follows its kind.
func (m *Module) RawImport(module, name string, kind byte, description []byte) {
	m.imports = append(m.imports, slices.Concat(Name(module), Name(name), []byte{kind}, description))
}

// Type adds a function type and gives its number.
func (m *Module) Type(params, results []byte) int {
	m.types = append(m.types, FuncType(params, results))
	return len(m.types) - 1
}

// Func adds a function of that code, without its end, and without locals. It is exported unless name is
// empty. The result is its number.
func (m *Module) Func(name string, params, results, code []byte) int {
	return m.RawFunc(name, params, results, slices.Concat([]byte{0}, code, []byte{0x0b}))
}

// RawFunc is Func of a whole body: locals, code and end.
func (m *Module) RawFunc(name string, params, results, body []byte) int {
	m.functions = append(m.functions, U32(m.Type(params, results)))
	m.bodies = append(m.bodies, Sized(body))
	n := m.imported + len(m.functions) - 1
	if name != "" {
		m.Export(name, KindFunc, n)
	}
	return n
}

// Hook adds a hook of that code, which leaves an i32.
func (m *Module) Hook(name string, code ...[]byte) int {
	return m.Func("axis_v1_"+name, []byte{I32}, []byte{I32}, slices.Concat(code...))
}

// Memory adds a memory of at least min pages.
func (m *Module) Memory(min int) { m.RawMemory(append([]byte{0}, U32(min)...)) }

// RawMemory adds a memory of those limits.
func (m *Module) RawMemory(limits []byte) { m.memories = append(m.memories, limits) }

// Table adds a table of functions with at least min elements.
func (m *Module) Table(min int) { m.tables = append(m.tables, append([]byte{FuncRef, 0}, U32(min)...)) }

// RawTable adds a table of that type and limits.
func (m *Module) RawTable(table []byte) { m.tables = append(m.tables, table) }

// Global adds a global whose initial value init computes, without its end, and gives its number.
func (m *Module) Global(value byte, mutable bool, init []byte) int {
	flag := byte(0)
	if mutable {
		flag = 1
	}
	m.globals = append(m.globals, slices.Concat([]byte{value, flag}, init, []byte{0x0b}))
	return len(m.globals) - 1
}

// Export adds an export.
func (m *Module) Export(name string, kind byte, index int) {
	m.exports = append(m.exports, slices.Concat(Name(name), []byte{kind}, U32(index)))
}

// Start makes a function run at instantiation.
func (m *Module) Start(function int) { m.start = U32(function) }

// Data puts bytes into memory.
func (m *Module) Data(at int64, b []byte) {
	m.data = append(m.data, slices.Concat([]byte{0}, Const(at), []byte{0x0b}, Sized(b)))
}

// PassiveData adds a data segment that is not copied by itself.
func (m *Module) PassiveData(b []byte) { m.data = append(m.data, slices.Concat([]byte{1}, Sized(b))) }

// Elements puts functions into table 0.
func (m *Module) Elements(at int64, functions ...int) {
	var items [][]byte
	for _, f := range functions {
		items = append(items, U32(f))
	}
	m.elements = append(m.elements, slices.Concat([]byte{0}, Const(at), []byte{0x0b}, Vec(items...)))
}

// RawElements adds an element segment as the format writes it.
func (m *Module) RawElements(segment []byte) { m.elements = append(m.elements, segment) }

// Custom adds a custom section at the end.
func (m *Module) Custom(name string, data []byte) { m.customs = append(m.customs, Custom(name, data)) }

// Manifest adds a manifest section.
func (m *Module) Manifest(json string) { m.Custom("axis.manifest", []byte(json)) }

// Bytes is the module as it is now.
func (m *Module) Bytes() []byte {
	var sections [][]byte
	add := func(id byte, items [][]byte) {
		if len(items) > 0 {
			sections = append(sections, Section(id, Vec(items...)))
		}
	}
	add(1, m.types)
	add(2, m.imports)
	add(3, m.functions)
	add(4, m.tables)
	add(5, m.memories)
	add(6, m.globals)
	add(7, m.exports)
	if m.start != nil {
		sections = append(sections, Section(8, m.start))
	}
	add(9, m.elements)
	if len(m.data) > 0 {
		sections = append(sections, Section(12, U32(len(m.data))))
	}
	add(10, m.bodies)
	add(11, m.data)
	return Binary(append(sections, m.customs...)...)
}
