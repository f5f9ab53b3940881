package wasmbin

import (
	"bytes"
	"errors"

	"github.com/axishost/axishost/abi"
)

// Section ids of the core specification.
const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secStart     = 8
	secElement   = 9
	secCode      = 10
	secData      = 11
	secDataCount = 12
)

var sectionNames = [...]string{
	"custom section", "type section", "import section", "function section", "table section",
	"memory section", "global section", "export section", "start section", "element section",
	"code section", "data section", "data count section",
}

// sectionOrder is the place of each section in a module: data count comes between element and code.
var sectionOrder = [...]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 10}

var magic = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

// ErrNotWasm says that the bytes are not a WebAssembly module at all.
var ErrNotWasm = errors.New("not a WebAssembly module")

// ErrComponent says that the bytes are a WebAssembly component, which is another format.
var ErrComponent = errors.New("a WebAssembly component, not a core module")

// ExternKind is what an import or export is.
type ExternKind byte

// The kinds of extern.
const (
	ExternFunc   ExternKind = 0
	ExternTable  ExternKind = 1
	ExternMemory ExternKind = 2
	ExternGlobal ExternKind = 3
)

func (k ExternKind) String() string {
	switch k {
	case ExternFunc:
		return "function"
	case ExternTable:
		return "table"
	case ExternMemory:
		return "memory"
	case ExternGlobal:
		return "global"
	}
	return "unknown kind"
}

// Import is one import. Type is set for functions.
type Import struct {
	Module, Name string
	Kind         ExternKind
	Type         abi.Function
}

// Export is one export. Type is set for functions.
type Export struct {
	Name  string
	Kind  ExternKind
	Index uint32
	Type  abi.Function
}

// Limits are the bounds of a memory (in pages of 64 KiB) or of a table (in elements).
type Limits struct {
	Min    uint32
	Max    uint32 // meaningful when HasMax
	HasMax bool
}

// Custom is one custom section. Data is a view of the module.
type Custom struct {
	Name string
	Data []byte
}

// section is where a section lies in the file: from its id byte to its end.
type section struct {
	id         byte
	start, end int
	body       int // offset of the content
}

// Module is what was read of a module.
type Module struct {
	Imports  []Import
	Exports  []Export
	Memories []Limits
	Tables   []Limits
	Customs  []Custom
	// Functions is how many functions the module defines itself.
	Functions int
	HasStart  bool

	bytes    []byte
	sections []section
	types    []abi.Function
	funcs    []uint32 // type index of each function, imported ones first
	globals  []globalType
	bodies   int // how many functions have one
	// What validation needs of imported things and the module's own, imported ones first.
	sigs         []signature // of types
	tableTypes   []byte
	memories     int
	elements     []byte // types of the element segments
	declared     []bool // functions that code may refer to; empty when there are none
	datas        int    // data segments
	dataCount    uint32 // of the data count section
	hasDataCount bool
	hasNames     bool
	// mutatesTables tells that an instruction of the module can change a table or drop a segment.
	mutatesTables bool
	// growsTables tells that one can make a table larger.
	growsTables bool
}

type globalType struct {
	value    abi.ValueType
	code     byte // value, as the format writes it
	mutable  bool
	imported bool
}

// Parse reads a module and validates it. The module's bytes must not change while the result is in use. The error is
// ErrNotWasm, ErrComponent or an *Error.
func Parse(b []byte) (*Module, error) {
	switch {
	case len(b) < 8 || !bytes.Equal(b[:4], magic[:4]):
		return nil, ErrNotWasm
	case bytes.Equal(b[4:8], []byte{0x0d, 0, 1, 0}):
		return nil, ErrComponent
	case !bytes.Equal(b[:8], magic):
		return nil, &Error{Section: "header", Offset: 4, Reason: "only version 1 of the binary format is known"}
	}
	m := &Module{bytes: b}
	r := &reader{buf: b, pos: 8, end: len(b), section: "header"}
	last := 0
	for r.more() {
		s := section{start: r.pos}
		s.id = r.byte()
		if int(s.id) >= len(sectionNames) {
			r.failAt(s.start, "section id %d is not known", s.id)
			break
		}
		r.section = sectionNames[s.id]
		if s.id != secCustom {
			if order := sectionOrder[s.id]; order <= last {
				r.failAt(s.start, "is repeated or out of order")
				break
			}
			last = sectionOrder[s.id]
		}
		size := r.u32()
		s.body = r.pos
		body := r.sub(size, sectionNames[s.id])
		s.end = r.pos
		m.sections = append(m.sections, s)
		if r.err == nil {
			m.parseSection(s.id, body)
			r.err = body.err
		}
	}
	if r.err == nil {
		m.finish(r)
	}
	if r.err != nil {
		return nil, r.err
	}
	return m, nil
}

// Restorable tells whether an instance can be put back to an earlier image from outside, by its memory and
// its globals: nothing in the module changes a table or drops a segment, and no mutable global holds
// something other than a number.
func (m *Module) Restorable() bool {
	for _, g := range m.globals {
		switch {
		case !g.mutable:
		case g.imported, g.value != abi.I32 && g.value != abi.I64 && g.value != "f32" && g.value != "f64":
			return false
		}
	}
	return !m.mutatesTables
}

// clip shortens a name before it is quoted in an error.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
