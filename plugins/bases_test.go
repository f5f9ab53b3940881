package plugins

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// base is a small sound plugin that tests cut and mutate.
type base struct {
	name string
	file []byte
}

// bases gives plugins which together have each kind of section and segment and each group of instructions.
func bases() []base {
	var list []base
	for _, b := range []struct {
		name  string
		build func(m *pt.Module)
	}{
		{"answer", func(m *pt.Module) { m.Hook("direct_final", say(1)) }},
		{"control", buildControl},
		{"loop", buildLoop},
		{"bulk", buildBulk},
		{"tables", buildTables},
		{"globals", buildGlobals},
		{"vectors", buildVectors},
		{"numbers", buildNumbers},
	} {
		m := small("x and a text to look at")
		b.build(m)
		m.Manifest(manifest("direct_final"))
		list = append(list, base{b.name, m.Bytes()})
	}
	return append(list, base{"tools", toolBase()}, base{"whole", wholeBase()})
}

func buildControl(m *pt.Module) {
	m.Hook("direct_final",
		pt.Local(0), []byte{0x04, pt.I32}, pt.Const(1), []byte{0x05}, pt.Const(2), []byte{0x0b, 0x1a}, // if, else, drop
		[]byte{0x02, 0x40, 0x02, 0x40}, pt.Local(0), []byte{0x0e, 2, 0, 1, 1, 0x0b, 0x0b}, // br_table out of two blocks
		pt.Const(3), pt.Const(4), pt.Local(0), []byte{0x1b, 0x1a}, // select
		[]byte{0x02, 0x40}, pt.Local(0), []byte{0x0d, 0}, pt.Const(0), []byte{0x0f, 0x0b}, // return from a block
		say(2))
}

// buildLoop makes a hook that counts a local down from what it is given.
func buildLoop(m *pt.Module) {
	code := pt.Code(
		pt.Local(0), []byte{0x21, 1, 0x03, 0x40}, // local.set 1, loop
		pt.Local(1), []byte{0x04, 0x40}, pt.Local(1), pt.Const(1), []byte{0x6b, 0x21, 1, 0x0c, 1, 0x0b, 0x0b},
		say(1))
	locals := []byte{2, 1, pt.I32, 2, pt.I64}
	m.RawFunc("axis_v1_direct_final", []byte{pt.I32}, []byte{pt.I32}, slices.Concat(locals, code, []byte{0x0b}))
}

func buildBulk(m *pt.Module) {
	m.PassiveData([]byte("passive"))
	m.Hook("direct_final",
		pt.Const(100), pt.Const('a'), pt.Const(50), []byte{0xfc, 11, 0}, // fill
		pt.Const(200), pt.Const(100), pt.Const(50), []byte{0xfc, 10, 0, 0}, // copy
		pt.Const(0), pt.Const(0), pt.Const(7), []byte{0xfc, 8, 1, 0, 0xfc, 9, 1}, // init, drop
		pt.Const(1), []byte{0x40, 0, 0x1a, 0x3f, 0, 0x1a}, // memory.grow, memory.size
		say(7))
}

func buildTables(m *pt.Module) {
	m.Table(4)
	f := m.Func("", []byte{pt.I32}, []byte{pt.I32}, pt.Local(0))
	m.Elements(1, f, f)
	m.RawElements(slices.Concat([]byte{1, 0}, pt.Vec(pt.U32(f)))) // passive
	m.Hook("direct_final",
		pt.Const(7), pt.Const(1), pt.Code([]byte{0x11}, pt.U32(m.Type([]byte{pt.I32}, []byte{pt.I32})), []byte{0}, pt.Drop()),
		pt.Const(0), pt.Const(0), pt.Const(1), []byte{0xfc, 12, 1, 0, 0xfc, 13, 1}, // table.init, elem.drop
		pt.Const(0), []byte{0x25, 0, 0xd1, 0x1a}, pt.Const(3), []byte{0xd2}, pt.U32(f), []byte{0x26, 0}, // get, set
		say(1))
}

func buildGlobals(m *pt.Module) {
	m.Global(pt.I32, true, pt.Const(0))
	m.Global(pt.I64, true, pt.Const64(1))
	m.Global(pt.F32, true, []byte{0x43, 0, 0, 0, 0})
	m.Global(pt.F64, false, append([]byte{0x44}, make([]byte, 8)...))
	m.Hook("direct_final", pt.Global(0), pt.Const(1), pt.Add(), pt.SetGlobal(0), pt.Global(1), pt.SetGlobal(1), pt.Global(2), pt.SetGlobal(2), say(1))
}

func buildVectors(m *pt.Module) {
	v := append([]byte{0xfd, 12}, make([]byte, 16)...)
	m.Global(pt.V128, true, v)
	m.Hook("direct_final",
		v, v, []byte{0xfd, 0xae, 1}, pt.SetGlobal(0), // i32x4.add
		pt.Const(16), []byte{0xfd, 0, 4, 0}, pt.Global(0), append([]byte{0xfd, 13}, make([]byte, 16)...), // load, shuffle
		[]byte{0xfd, 0x15, 3, 0x1a}, // extract a lane
		pt.Const(32), v, []byte{0xfd, 11, 4, 0}, say(1))
}

func buildNumbers(m *pt.Module) {
	f64 := append([]byte{0x44}, make([]byte, 8)...)
	m.Hook("direct_final",
		f64, f64, []byte{0xa2, 0x9f, 0xfc, 2, 0x1a}, // multiply, root, truncate
		pt.Const64(-7), pt.Const64(2), []byte{0x7f, 0xa7, 0xac, 0xb9, 0xb6, 0x1a}, // divide, convert
		pt.Local(0), []byte{0x67, 0x68, 0xc0, 0x1a}, // clz, ctz, extend
		pt.Const(8), pt.Const(8), []byte{0x28, 2, 0, 0x36, 2, 0}, say(1))
}

func toolBase() []byte {
	const answer = `{"status": "ok", "result": "1"}`
	m := small(answer)
	m.Hook("tool_call", say(len(answer)))
	m.Manifest(toolManifest(`"timeout_ms": 60000, `))
	return m.Bytes()
}

// wholeBase has every kind of section but the start section, which is refused.
func wholeBase() []byte {
	m := small("x")
	m.Table(2)
	m.Global(pt.I32, true, pt.Const(0))
	m.PassiveData([]byte("passive"))
	f := m.Func(abi.InitExport, nil, nil, pt.Code(pt.Const(1), pt.SetGlobal(0)))
	m.Elements(0, f)
	m.Hook("direct_final", say(1))
	m.Hook("refusal", pt.Const(0))
	m.Custom("name", slices.Concat([]byte{0}, pt.Sized(pt.Name("whole")), []byte{1}, pt.Sized(pt.Vec(pt.Code(pt.U32(f), pt.Name("init"))))))
	m.Manifest(manifest("direct_final refusal", `"optional": ["config/1"], "limits": {"memory_bytes": 1048576}, `))
	m.Custom("producers", []byte{0})
	return m.Bytes()
}

// TestBases: what is cut and mutated works as it is, and has every section there is.
func TestBases(t *testing.T) {
	ids := map[byte]bool{}
	for _, b := range bases() {
		for _, s := range split(b.file) {
			ids[s.id] = true
		}
		p := load(t, b.file, Options{})
		if len(p.Manifest().Tools) > 0 {
			_, err := p.CallTool(t.Context(), act(""), nil)
			require.NoError(t, err, b.name)
			continue
		}
		answer, err := p.Hook(t.Context(), abi.HookDirectFinal, []byte("input"))
		require.NoError(t, err, b.name)
		assert.True(t, answer.Decided, b.name)
	}
	assert.Len(t, ids, 12, "0 to 12 without 8")
}
