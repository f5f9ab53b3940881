package wasmbin

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	pt "github.com/axishost/axishost/plugins/plugintest"
)

// everything is a small valid module that uses each group of instructions, segments of every kind, and a
// name section.
func everything() []byte {
	m := &pt.Module{}
	m.RawImport("env", "base", pt.KindGlobal, []byte{pt.I32, 0})
	pair := m.Type([]byte{pt.I32}, []byte{pt.I32, pt.I64})
	m.Table(4)
	m.RawTable([]byte{pt.ExternRef, 1, 1, 9})
	m.Memory(1)
	m.Global(pt.I32, true, pt.Global(0))
	m.Global(pt.V128, true, append([]byte{0xfd, 12}, make([]byte, 16)...))
	m.Global(pt.FuncRef, false, []byte{0xd2, 0})
	m.Data(0, []byte("active"))
	m.PassiveData([]byte("passive"))
	m.Elements(0, 0, 1)
	m.RawElements([]byte{1, 0, 1, 0})                                           // passive functions
	m.RawElements([]byte{3, 0, 1, 1})                                           // declared functions
	m.RawElements([]byte{4, 0x41, 1, 0x0b, 2, 0xd2, 0, 0x0b, 0xd0, 0x70, 0x0b}) // active expressions
	m.RawElements([]byte{5, 0x6f, 1, 0xd0, 0x6f, 0x0b})                         // passive externs
	m.RawElements([]byte{6, 1, 0x41, 0, 0x0b, 0x6f, 0})                         // active in a named table
	m.RawElements([]byte{7, 0x70, 1, 0xd2, 1, 0x0b})                            // declared expressions

	i, j := pt.Const(1), pt.Const64(2)
	load := []byte{0x28, 2, 0}
	control := pt.Code(
		i, []byte{0x04, pt.I32}, i, []byte{0x05}, i, []byte{0x0b, 0x1a}, // if, else, drop
		[]byte{0x02, 0x40, 0x03, 0x40}, i, []byte{0x0d, 1}, i, []byte{0x0e, 1, 0, 1, 0x0b, 0x0b},
		i, []byte{0x02, byte(pair)}, j, []byte{0x0b, 0x1a, 0x1a}, // a block with parameters
		i, i, []byte{0x11, byte(pair), 0, 0x1a, 0x1a}, // call_indirect
		i, i, i, []byte{0x1b, 0x1a}, []byte{0xd0, 0x70, 0xd0, 0x70}, i, []byte{0x1c, 1, 0x70, 0xd1, 0x1a},
		pt.Local(0), []byte{0x22, 0, 0x21, 0}, []byte{0x02, 0x40, 0x0f, 0x6a, 0x1a, 0x0b, 0x00},
	)
	memory := pt.Code(
		i, load, load, []byte{0x1a}, i, i, []byte{0x36, 2, 4}, []byte{0x3f, 0, 0x40, 0, 0x1a},
		i, i, i, []byte{0xfc, 8, 1, 0}, []byte{0xfc, 9, 1}, i, i, i, []byte{0xfc, 10, 0, 0}, i, i, i, []byte{0xfc, 11, 0},
		i, i, i, []byte{0xfc, 12, 1, 0}, []byte{0xfc, 13, 1}, i, i, i, []byte{0xfc, 14, 0, 0},
		[]byte{0xd2, 1}, i, []byte{0xfc, 15, 0, 0x1a}, []byte{0xfc, 16, 1, 0x1a}, i, []byte{0xd0, 0x6f}, i, []byte{0xfc, 17, 1},
		i, []byte{0x25, 0, 0x1a}, i, []byte{0xd0, 0x6f, 0x26, 1},
	)
	zeros := make([]byte, 16)
	numbers := pt.Code(
		i, j, []byte{0xa7, 0x6a, 0xac, 0xc4, 0x1a}, []byte{0x43, 0, 0, 0, 0, 0xfc, 1, 0x1a}, append([]byte{0x44}, zeros[:8]...), []byte{0xb6, 0x91, 0x1a},
		[]byte{0xfd, 12}, zeros, pt.SetGlobal(2), pt.Global(2), pt.Global(2), []byte{0xfd, 13}, zeros,
		i, []byte{0xfd, 0x17, 15}, []byte{0xfd, 0x80, 1}, i, []byte{0xfd, 0x6b, 0xfd, 0x53, 0x1a}, // replace, abs, shift, any_true
		i, pt.Global(2), []byte{0xfd, 0x55, 1, 0, 7, 0x1a}, i, []byte{0xfd, 0x5c, 2, 0, 0xfd, 0x1b, 3, 0x1a},
	)
	m.Func("control", []byte{pt.I64, pt.I64}, nil, control)
	m.Func("memory", nil, nil, memory)
	m.Func("numbers", []byte{pt.F64}, nil, numbers)
	m.Custom("name", []byte{0, 2, 1, 'm', 1, 4, 1, 0, 1, 'f', 2, 6, 1, 0, 1, 0, 1, 'l', 9, 1, 0})
	return slices.Clone(m.Bytes())
}

func TestEverything(t *testing.T) {
	_, err := Parse(everything())
	require.NoError(t, err)
}
