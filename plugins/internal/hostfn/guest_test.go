package hostfn

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasmrt"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// names are the host functions as the guests of these tests import them.
func names() []string {
	var out []string
	for _, f := range abi.Imports() {
		out = append(out, f.Name)
	}
	return out
}

// do calls a host function with those arguments and leaves its result as an i32.
func do(name string, args ...int64) []byte {
	var code []byte
	for _, a := range args {
		code = append(code, pt.Const(a)...)
	}
	code = append(code, pt.Call(slices.Index(names(), name))...)
	if name == abi.FuncHostCall {
		code = append(code, 0xa7) // i32.wrap_i64
	}
	return code
}

// then runs steps one after the other and leaves the result of the last one.
func then(steps ...[]byte) []byte {
	var code []byte
	for i, step := range steps {
		code = append(code, step...)
		if i < len(steps)-1 {
			code = append(code, pt.Drop()...)
		}
	}
	return code
}

// times repeats a step, leaving its last result.
func times(n int, step []byte) []byte {
	return then(slices.Repeat([][]byte{step}, n)...)
}

// page is the size of the memory of the guests of these tests.
const page = 64 << 10

// guest runs code in a fresh guest with one page of memory, filled with data, and gives what code leaves.
func guest(t *testing.T, c *Call, data string, code []byte) (abi.Code, error) {
	t.Helper()
	m := pt.New(pt.Host(names()...)...)
	m.Data(0, []byte(data))
	m.Hook("run", code)
	ctx := context.Background()
	module, err := wasmrt.Compile(ctx, m.Bytes(), wasmrt.Options{MemoryPages: 1, Functions: Functions()})
	require.NoError(t, err)
	defer func() { require.NoError(t, module.Close(ctx)) }()
	i, err := module.Instantiate(ctx, nil)
	require.NoError(t, err)
	defer i.Close()
	rc, err := i.Call(With(ctx, c), "axis_v1_run", 0)
	return abi.Code(rc), err
}

// answer is guest for code that must not trap.
func answer(t *testing.T, c *Call, data string, code []byte) abi.Code {
	t.Helper()
	rc, err := guest(t, c, data, code)
	require.NoError(t, err)
	return rc
}

// newCall is a call with an output limit, and the lines that it logs.
func newCall() (*Call, *[]string) {
	var lines []string
	return &Call{OutputLimit: 64, Log: func(_ abi.LogLevel, text string) { lines = append(lines, text) }}, &lines
}
