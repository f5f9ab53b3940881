package guest

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

// TestBuild compiles a plugin with stock Go and checks that what crosses its boundary is what the contract
// says, with the very types.
func TestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a plugin")
	}
	file := filepath.Join(t.TempDir(), "every.wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file, ".")
	build.Dir = filepath.Join("testdata", "every")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "go build: %s", out)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Less(t, len(data), abi.MaxModuleBytes)
	m := readModule(t, data)

	want := []string{abi.MemoryExport + " memory", abi.MarkerExport + "() -> ()", abi.InitExport + "() -> ()"}
	for _, h := range abi.Hooks() {
		if h.Served {
			want = append(want, abi.HookType(h.Name).String())
		}
	}
	assert.ElementsMatch(t, want, m.exports)

	var used []string
	for _, f := range m.imports[abi.ImportModule] {
		known := slices.ContainsFunc(abi.Imports(), func(g abi.Function) bool { return g.String() == f })
		assert.True(t, known, "import %s is not in the contract", f)
		used = append(used, f)
	}
	assert.Len(t, used, len(abi.Imports())-1, "the SDK uses every import but host_has: %v", used)
	for _, f := range m.imports[abi.WASIModule] {
		name, _, _ := bytes.Cut([]byte(f), []byte("("))
		assert.Contains(t, abi.WASIImports(), string(name))
	}
	assert.Len(t, m.imports, 2, "modules imported from")
}

// module is what crosses a module's boundary, written as abi.Function.String does.
type module struct {
	imports map[string][]string
	exports []string
}

// readModule reads the sections that a well-formed module from stock Go has: one that it cannot read fails
// the test.
func readModule(t *testing.T, data []byte) module {
	t.Helper()
	require.True(t, bytes.HasPrefix(data, []byte("\x00asm\x01\x00\x00\x00")), "not a core module")
	m := module{imports: map[string][]string{}}
	var types, functions []abi.Function
	for r := (&reader{t, data[8:]}); len(r.data) > 0; {
		id := r.byte()
		section := &reader{t, r.bytes()}
		switch id {
		case 1:
			for range section.number() {
				require.Equal(t, byte(0x60), section.byte())
				types = append(types, abi.Function{Params: section.values(), Results: section.values()})
			}
		case 2:
			for range section.number() {
				from, f := string(section.bytes()), abi.Function{Name: string(section.bytes())}
				require.Zero(t, section.byte(), "%s imports %s, which is no function", from, f.Name)
				signature := types[section.number()]
				functions = append(functions, signature)
				f.Params, f.Results = signature.Params, signature.Results
				m.imports[from] = append(m.imports[from], f.String())
			}
		case 3:
			for range section.number() {
				functions = append(functions, types[section.number()])
			}
		case 7:
			for range section.number() {
				name, kind, index := string(section.bytes()), section.byte(), section.number()
				if kind == 2 {
					m.exports = append(m.exports, name+" memory")
					continue
				}
				require.Zero(t, kind, "export %s is neither function nor memory", name)
				m.exports = append(m.exports, name+functions[index].Type())
			}
		case 8:
			t.Error("the module has a start section")
		}
	}
	return m
}

// reader reads the primitives of the binary format.
type reader struct {
	t    *testing.T
	data []byte
}

func (r *reader) byte() byte {
	require.NotEmpty(r.t, r.data, "the module ends early")
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.data)
	require.Positive(r.t, size, "not a number")
	r.data = r.data[size:]
	return n
}

func (r *reader) bytes() []byte {
	n := r.number()
	require.LessOrEqual(r.t, n, uint64(len(r.data)), "the module ends early")
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) values() []abi.ValueType {
	names := map[byte]abi.ValueType{0x7f: abi.I32, 0x7e: abi.I64, 0x7d: "f32", 0x7c: "f64"}
	var types []abi.ValueType
	for _, b := range r.bytes() {
		require.Contains(r.t, names, b)
		types = append(types, names[b])
	}
	return types
}
