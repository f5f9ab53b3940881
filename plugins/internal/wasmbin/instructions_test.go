package wasmbin

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	pt "github.com/axishost/axishost/plugins/plugintest"
)

// TestImmediates puts each opcode in front of a run of nops and an end, and finds out how many bytes belong to
// it: with too few passed over, what remains of the immediates would be taken for instructions.
func TestImmediates(t *testing.T) {
	tests := map[string]struct{ code, immediates []byte }{
		"br":            {[]byte{0x0c}, []byte{0xff, 0x01}},
		"br_if":         {[]byte{0x0d}, []byte{0xff, 0x01}},
		"br_table":      {[]byte{0x0e}, []byte{2, 0xff, 0x01, 0xff, 0x02, 0xff, 0x03}},
		"call":          {[]byte{0x10}, []byte{0xff, 0x01}},
		"call_indirect": {[]byte{0x11}, []byte{0xff, 0x01, 0xff, 0x02}},
		"select":        {[]byte{0x1c}, []byte{2, pt.I32, pt.V128}},
		"local.get":     {[]byte{0x20}, []byte{0xff, 0x01}},
		"table.set":     {[]byte{0x26}, []byte{0xff, 0x01}},
		"load":          {[]byte{0x28}, []byte{2, 0xff, 0xff, 0xff, 0xff, 0x0f}},
		"store":         {[]byte{0x3e}, []byte{2, 0xff, 0x01}},
		"memory.size":   {[]byte{0x3f}, []byte{0xff}},
		"memory.grow":   {[]byte{0x40}, []byte{0xff}},
		"i32.const":     {[]byte{0x41}, []byte{0xff, 0xff, 0xff, 0xff, 0x07}},
		"i64.const":     {[]byte{0x42}, append(bytes.Repeat([]byte{0xff}, 9), 0x7f)},
		"f32.const":     {[]byte{0x43}, []byte{0xff, 0xff, 0xff, 0xff}},
		"f64.const":     {[]byte{0x44}, bytes.Repeat([]byte{0xff}, 8)},
		"ref.null":      {[]byte{0xd0}, []byte{0xff}},
		"ref.func":      {[]byte{0xd2}, []byte{0xff, 0x01}},
		"memory.init":   {[]byte{0xfc, 8}, []byte{0xff, 0x01, 0xff}},
		"memory.copy":   {[]byte{0xfc, 10}, []byte{0xff, 0xff}},
		"table.copy":    {[]byte{0xfc, 14}, []byte{0xff, 0x01, 0xff, 0x01}},
		"v128.load":     {[]byte{0xfd, 0}, []byte{0xff, 0x01, 0xff, 0x01}},
		"v128.const":    {[]byte{0xfd, 12}, bytes.Repeat([]byte{0xff}, 16)},
		"i8x16.shuffle": {[]byte{0xfd, 13}, bytes.Repeat([]byte{0xff}, 16)},
		"extract_lane":  {[]byte{0xfd, 21}, []byte{0xff}},
		"load lane":     {[]byte{0xfd, 84}, []byte{0xff, 0x01, 0xff, 0x01, 0xff}},
		"load zero":     {[]byte{0xfd, 92}, []byte{0xff, 0x01, 0xff, 0x01}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := &pt.Module{}
			m.Func("", nil, nil, pt.Code(tt.code, tt.immediates, []byte{0x01, 0x01}))
			_, err := Parse(m.Bytes())
			assert.NoError(t, err, "the end behind the immediates is found")
			m = &pt.Module{}
			m.Func("", nil, nil, pt.Code(tt.code, tt.immediates[:len(tt.immediates)-1]))
			_, err = Parse(m.Bytes())
			assert.Error(t, err, "an immediate is missing: it swallows the end")
		})
	}
}

// TestEveryOpcode compares which opcodes are known with wazero. A module that uses one without operands is
// not valid, so what counts is whether wazero knows the instruction at all.
func TestEveryOpcode(t *testing.T) {
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	defer func() { require.NoError(t, runtime.Close(ctx)) }()
	try := func(code ...byte) {
		m := &pt.Module{}
		m.Memory(1)
		m.Table(1)
		m.PassiveData([]byte("x"))
		// Whatever is taken from the stack is there: the code behind unreachable has values of any type.
		m.Func("", nil, nil, pt.Code([]byte{0x00}, code, make([]byte, 18), []byte{0x00}))
		_, err := Parse(m.Bytes())
		if err != nil && bytes.Contains([]byte(err.Error()), []byte("is not supported")) {
			_, err = runtime.CompileModule(ctx, m.Bytes())
			assert.Error(t, err, "wazero knows instruction %#x", code)
		}
	}
	for op := range 256 {
		switch op {
		case opMisc, opSIMD:
			for sub := range 300 {
				try(pt.Code([]byte{byte(op)}, pt.U32(sub))...)
			}
		default:
			try(byte(op))
		}
	}
}

// TestBlockTypes: no value, each value type, and a type's number.
func TestBlockTypes(t *testing.T) {
	for _, block := range [][]byte{{0x40}, {pt.I32}, {pt.I64}, {pt.F32}, {pt.F64}, {pt.V128}, {pt.FuncRef}, {pt.ExternRef}, {0xff, 0x01}} {
		for _, op := range []byte{opBlock, opLoop, opIf} {
			t.Run(fmt.Sprintf("%#x %#x", op, block), func(t *testing.T) {
				m := &pt.Module{}
				m.Func("", nil, nil, pt.Code([]byte{op}, block, []byte{0x0b}))
				_, err := Parse(m.Bytes())
				assert.NoError(t, err)
			})
		}
	}
}
