package wasmbin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	pt "github.com/axishost/axishost/plugins/plugintest"
)

// stricter lists, by a part of our error, what is refused here and not by wazero 1.12, with the reason. The
// names are what the tests log.
var stricter = []struct{ name, text, why string }{
	{"cap", "over the limit", "a structural cap, on purpose"},
	{"cap", "blocks are nested deeper", "a structural cap, on purpose"},
	{"cap", "more than 1000 custom sections", "a structural cap, on purpose"},
	{"cap", "types with more than", "a structural cap, on purpose"},
	{"proposed types", "value type 0x", "not in 2.0: wazero decodes exnref, typed references and tables with an initial value with these features off"},
	{"proposed types", "reference type 0x", "the same"},
	{"proposed types", "block type -", "the same; and 2.0 allows no longer encodings of value types there"},
	{"proposed types", "type form 0x4e", "recursion groups, the same"},
	{"table type", "table of ", "wazero takes any byte as the type of an imported table"},
	{"stray bits", "integer is longer than", "wazero does not look at the last spare bit of a signed integer"},
	{"one memory", "more than one memory", "wazero uses the last one of several imported memories"},
	{"mutable constant", "which is mutable", "constants come from globals that never change; wazero would take their value at the start"},
	{"typed select", "select of type", "wazero compares the operands with each other and not with the type"},
	{"SIMD opcode", "instruction 0xfd", "wazero reads one byte of the opcode and executes its second one"},
	{"names", "sizes of the names", "wazero reads on to the end of the file; a section put there would change the verdict"},
	{"empty data count", "data count section at offset", "wazero takes an empty section at the end of the file for a count of 0"},
}

// exception names the item of stricter that our error belongs to.
func exception(err error) string {
	for _, s := range stricter {
		if strings.Contains(err.Error(), s.text) {
			return s.name
		}
	}
	return ""
}

// referee asks wazero about modules.
type referee struct {
	runtime wazero.Runtime
	counts  map[string]int
	// exceptions names the modules that are refused here alone.
	exceptions []string
}

func newReferee(t *testing.T) *referee {
	t.Helper()
	ctx := context.Background()
	config := wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false)
	r := &referee{runtime: wazero.NewRuntimeWithConfig(ctx, config), counts: map[string]int{}}
	t.Cleanup(func() { assert.NoError(t, r.runtime.Close(ctx)) })
	return r
}

// compile gives wazero's verdict. A panic is one too: it comes from reading past the end of a body.
func (r *referee) compile(b []byte) (compiled wazero.CompiledModule, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.counts["wazero panics"]++
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return r.runtime.CompileModule(context.Background(), b)
}

// judge compares the verdicts on a module, and counts. A module that announces more than it has is not shown
// to wazero, which would allocate gigabytes for it before it refuses.
func (r *referee) judge(t *testing.T, what string, b []byte) {
	t.Helper()
	m, ours := Parse(b)
	if ours != nil {
		require.Nil(t, m)
		var e *Error
		require.True(t, errors.As(ours, &e) || errors.Is(ours, ErrNotWasm) || errors.Is(ours, ErrComponent))
		require.NotContains(t, ours.Error(), "\n", what)
		if strings.Contains(ours.Error(), "announced") || strings.Contains(ours.Error(), "locals are over the limit") {
			r.counts["refused, not shown to wazero"]++
			return
		}
	}
	compiled, theirs := r.compile(b)
	if theirs == nil {
		defer func() { require.NoError(t, compiled.Close(context.Background())) }()
	}
	switch {
	case ours == nil && theirs == nil:
		r.counts["accepted by both"]++
		compareBoundary(t, what, m, compiled)
	case ours != nil && theirs != nil:
		r.counts["refused by both"]++
	case ours == nil:
		r.counts["DIFFERENT"]++
		assert.Fail(t, "wazero refuses it, wasmbin does not", "%s: %v\n%x", what, theirs, b[:min(len(b), 2000)])
	case exception(ours) != "":
		r.counts["exception: "+exception(ours)]++
		r.exceptions = append(r.exceptions, what)
	default:
		r.counts["DIFFERENT"]++
		assert.Fail(t, "wasmbin refuses it, wazero does not", "%s: %v\n%x", what, ours, b[:min(len(b), 2000)])
	}
}

// TestStricter shows each exception that is no cap by a module which wazero accepts.
func TestStricter(t *testing.T) {
	memory, i := pt.Section(5, []byte{1, 0, 0}), pt.Const(1)
	imports := func(n int, of ...byte) []byte {
		return pt.Section(2, pt.U32(n), slices.Repeat(slices.Concat([]byte{1, 'm', 0}, of), n))
	}
	for name, modules := range map[string][][]byte{
		"proposed types": {
			pt.Binary(pt.Section(1, []byte{1, 0x60, 1, 0x69, 0})),
			pt.Binary(pt.Section(1, []byte{1, 0x4e, 1, 0x60, 0, 0})),
			pt.Binary(pt.Section(4, []byte{1, 0x40, 0, pt.FuncRef, 0, 1, 0xd0, pt.FuncRef, 0x0b})),
			one(nil, nil, []byte{0xd0, 0x69, 0x1a}),
			one(nil, nil, []byte{0x02, 0xc0, 0x7f, 0x0b}),
		},
		"table type":       {pt.Binary(imports(1, 1, pt.I32, 0, 0))},
		"stray bits":       {one(nil, nil, []byte{0x41, 0x80, 0x80, 0x80, 0x80, 0x40, 0x1a})},
		"one memory":       {pt.Binary(imports(2, 2, 0, 0))},
		"mutable constant": {pt.Binary(imports(1, 3, pt.I32, 1), memory, pt.Section(11, []byte{1, 0, 0x23, 0, 0x0b, 0}))},
		"typed select":     {one(nil, nil, i, i, i, []byte{0x1c, 1, pt.I64, 0x1a})},
		// To wazero, this is i8x16.abs and unreachable instead of an over-long v128.load.
		"SIMD opcode": {one(nil, nil, append([]byte{0xfd, 12}, make([]byte, 16)...), []byte{0xfd, 0x80, 0x00, 0x00, 0x00})},
		"names": {
			pt.Binary(pt.Custom("name", []byte{0, 9, 1, 'm'})),
			pt.Binary(pt.Custom("name", []byte{0, 1, 1, 'm'})),
		},
		"empty data count": {pt.Binary(pt.Section(12))},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReferee(t)
			for _, b := range modules {
				r.judge(t, name, b)
			}
			assert.Equal(t, map[string]int{"exception: " + name: len(modules)}, r.counts)
		})
	}
	for _, s := range stricter {
		assert.NotEmpty(t, s.why)
	}
}
