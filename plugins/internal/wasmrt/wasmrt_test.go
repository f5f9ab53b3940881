package wasmrt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is what the guests of these tests import as function 0.
func host(call func(context.Context, Memory, []uint64) error) Options {
	i32 := []abi.ValueType{abi.I32}
	return Options{MemoryPages: 4, Functions: []HostFunction{{Module: "host", Type: abi.Function{Name: "f", Params: i32, Results: i32}, Call: call}}}
}

func guest(hook ...[]byte) *pt.Module {
	m := pt.New(pt.Import{Module: "host", Name: "f", Params: []byte{pt.I32}, Results: []byte{pt.I32}})
	m.Hook("run", hook...)
	return m
}

func identity(context.Context, Memory, []uint64) error { return nil }

func compileModule(t *testing.T, binary []byte, opts Options) *Module {
	t.Helper()
	m, err := Compile(t.Context(), binary, opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close(context.Background())) })
	return m
}

func start(t *testing.T, binary []byte, opts Options, globals ...string) *Instance {
	t.Helper()
	i, err := compileModule(t, binary, opts).Instantiate(t.Context(), globals)
	require.NoError(t, err)
	t.Cleanup(i.Close)
	return i
}

const run = "axis_v1_run"

func TestCall(t *testing.T) {
	i := start(t, guest(pt.Local(0), pt.Call(0)).Bytes(), host(func(_ context.Context, _ Memory, stack []uint64) error {
		stack[0] = uint64(uint32(stack[0]) + 1)
		return nil
	}))
	for in, want := range map[uint32]int32{0: 1, 41: 42, 1<<31 - 1: -1 << 31, 1<<32 - 2: -1} {
		got, err := i.Call(t.Context(), run, in)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := i.Call(t.Context(), "absent", 0)
	var trap *Trap
	require.ErrorAs(t, err, &trap)
	assert.EqualError(t, err, "export absent is missing")
}

// TestFaults: what a host function returns, or the guest does, is found again behind wazero.
func TestFaults(t *testing.T) {
	boom := errors.New("boom\nwasm stack trace:\n\tforged")
	call := func(err error) func(context.Context, Memory, []uint64) error {
		return func(context.Context, Memory, []uint64) error { return err }
	}
	for name, tt := range map[string]struct {
		host func(context.Context, Memory, []uint64) error
		code []byte
		want error
	}{
		"trap of the host": {call(&Trap{Reason: "no such range"}), pt.Code(pt.Const(0), pt.Call(0)), &Trap{Reason: "no such range"}},
		"exit":             {call(&Exit{Code: 3}), pt.Code(pt.Const(0), pt.Call(0)), &Exit{Code: 3}},
		"exit 0":           {call(&Exit{}), pt.Code(pt.Const(0), pt.Call(0)), &Exit{}},
		"error":            {call(boom), pt.Code(pt.Const(0), pt.Call(0)), &Trap{Reason: "boom"}},
		"trap":             {identity, pt.Unreachable(), &Trap{Reason: "unreachable"}},
		"division":         {identity, pt.Code(pt.Const(1), pt.Const(0), []byte{0x6e}), &Trap{Reason: "integer divide by zero"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := start(t, guest(tt.code).Bytes(), host(tt.host)).Call(t.Context(), run, 0)
			require.Error(t, err)
			assert.IsType(t, tt.want, err)
			assert.EqualError(t, err, tt.want.Error())

			// The same in the initialiser.
			m := guest(pt.Const(0))
			m.Func("_initialize", nil, nil, pt.Code(tt.code, pt.Drop()))
			_, err = compileModule(t, m.Bytes(), host(tt.host)).Instantiate(t.Context(), nil)
			require.Error(t, err)
			assert.IsType(t, tt.want, err)
			assert.EqualError(t, err, tt.want.Error())
		})
	}
}

func TestFrames(t *testing.T) {
	m := guest(pt.Call(3))
	inner := m.Func("", nil, []byte{pt.I32}, pt.Unreachable())
	require.Equal(t, 3, inner)
	names := pt.Code([]byte{1}, pt.Sized(pt.Vec(pt.Code(pt.U32(2), pt.Name("outer")), pt.Code(pt.U32(3), pt.Name("inner"))))) // function names
	m.Custom("name", names)
	_, err := start(t, m.Bytes(), host(identity)).Call(t.Context(), run, 0)
	var trap *Trap
	require.ErrorAs(t, err, &trap)
	assert.Equal(t, []string{"inner() i32", "outer(i32) i32"}, trap.Frames)
}

// TestFramesAreBounded: whatever a guest calls its functions, its stack is a few short lines.
func TestFramesAreBounded(t *testing.T) {
	m := guest(pt.Local(0), pt.Const(-1), pt.Add(), []byte{0x22, 0, 0x04, 0x40}, // itself, as often as it is told
		pt.Local(0), pt.Call(2), pt.Drop(), []byte{0x0b}, pt.Unreachable())
	name := strings.Repeat("forged()\n\t.", 100) + strings.Repeat("ö", 1<<20)
	m.Custom("name", pt.Code([]byte{1}, pt.Sized(pt.Vec(pt.Code(pt.U32(2), pt.Name(name))))))
	_, err := start(t, m.Bytes(), host(identity)).Call(t.Context(), run, 5)
	var trap *Trap
	require.ErrorAs(t, err, &trap)
	assert.Len(t, trap.Frames, maxFrames)
	assert.Equal(t, strings.Repeat("ö", maxFrameBytes/2)+"…", frames(strings.Repeat("ö", 1<<20))[0])
}

// TestContext: the end of the context is its own error, with its cause.
func TestContext(t *testing.T) {
	cause := errors.New("enough")
	for _, name := range []string{"before", "meanwhile"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			i := start(t, guest(pt.Const(0), pt.Call(0), pt.Drop(), pt.Forever(), pt.Const(0)).Bytes(),
				host(func(context.Context, Memory, []uint64) error { cancel(cause); return nil }))
			if name == "before" {
				cancel(cause)
			}
			_, err := i.Call(ctx, run, 0)
			assert.Equal(t, cause, err)
		})
	}
}

// TestContextInStraightLines: code without loops, which wazero does not stop, is stopped where it calls the host.
func TestContextInStraightLines(t *testing.T) {
	cause := errors.New("enough")
	for name, hook := range map[string][]byte{
		"calls":        slices.Repeat(pt.Code(pt.Const(0), pt.Call(0), pt.Drop()), 1000),
		"in recursion": pt.Code(pt.Const(0), pt.Call(0), pt.Drop(), pt.Local(0), pt.Call(2), pt.Drop()),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			calls := 0
			i := start(t, guest(hook, pt.Const(0)).Bytes(), host(func(context.Context, Memory, []uint64) error {
				if calls++; calls == 3 {
					cancel(cause)
				}
				return nil
			}))
			_, err := i.Call(ctx, run, 0)
			assert.Equal(t, cause, err)
			assert.Equal(t, 3, calls)
		})
	}
}

// TestContextWithinAHostFunction: what a host function gives for the end of the context is that end.
func TestContextWithinAHostFunction(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	i := start(t, guest(pt.Const(0), pt.Call(0)).Bytes(), host(func(ctx context.Context, _ Memory, _ []uint64) error {
		cancel(errors.New("enough"))
		return fmt.Errorf("reading: %w", context.Cause(ctx))
	}))
	_, err := i.Call(ctx, run, 0)
	assert.EqualError(t, err, "enough")
}

// TestRestore: memory and the named globals are put back; a memory that has grown cannot be.
func TestRestore(t *testing.T) {
	m := guest(
		pt.Local(0), []byte{0x04, 0x40}, pt.Const(1), []byte{0x40, 0}, pt.Drop(), []byte{0x0b}, // with input: memory.grow
		pt.Const(100), pt.Const(100), pt.Load8(), pt.Const(1), pt.Add(), pt.Store8(),
		pt.Global(0), pt.Const(10), pt.Add(), pt.SetGlobal(0),
		pt.Global(0), pt.Const(100), pt.Load8(), pt.Add())
	m.Global(pt.I32, true, pt.Const(0))
	m.Export("g", pt.KindGlobal, 0)
	i := start(t, m.Bytes(), host(identity), "g", "absent")
	count := func(in uint32) int32 {
		got, err := i.Call(t.Context(), run, in)
		require.NoError(t, err)
		return got
	}
	assert.Equal(t, int32(11), count(0))
	i.Snapshot()
	assert.Equal(t, int32(22), count(0))
	assert.Equal(t, int32(33), count(0))
	require.True(t, i.Restore())
	assert.Equal(t, int32(22), count(0), "as it was at the snapshot")
	assert.Equal(t, uint32(abi.PageBytes), i.MemoryBytes())
	count(1)
	assert.Equal(t, uint32(2*abi.PageBytes), i.MemoryBytes())
	assert.False(t, i.Restore())
}

// TestImageIsShared: instances with the same image have one copy of it; one that differs has its own.
func TestImageIsShared(t *testing.T) {
	m := guest(pt.Const(100), pt.Local(0), pt.Store8(), pt.Const(100), pt.Load8())
	m.Global(pt.I32, true, pt.Const(0))
	m.Export("g", pt.KindGlobal, 0)
	module := compileModule(t, m.Bytes(), host(identity))
	var all [4]*Instance
	for n := range all {
		i, err := module.Instantiate(t.Context(), []string{"g"})
		require.NoError(t, err)
		t.Cleanup(i.Close)
		switch n {
		case 2: // other memory
			_, err = i.Call(t.Context(), run, 7)
			require.NoError(t, err)
		case 3: // another global
			i.globals[0].Set(1)
		}
		i.Snapshot()
		all[n] = i
	}
	assert.Same(t, all[0].image, all[1].image)
	assert.NotSame(t, all[0].image, all[2].image)
	assert.NotSame(t, all[0].image, all[3].image)
	for n, want := range []int32{0, 0, 7, 0} {
		require.True(t, all[n].Restore())
		assert.Equal(t, byte(want), all[n].memory()[100])
	}
	assert.Equal(t, uint64(1), all[3].globals[0].Get())
}

func TestMemoryLimit(t *testing.T) {
	i := start(t, guest(pt.Local(0), []byte{0x40, 0}).Bytes(), host(identity))
	got, err := i.Call(t.Context(), run, 3)
	require.NoError(t, err)
	assert.Equal(t, int32(1), got, "to 4 pages")
	got, err = i.Call(t.Context(), run, 1)
	require.NoError(t, err)
	assert.Equal(t, int32(-1), got)
}

func TestView(t *testing.T) {
	i := start(t, guest(pt.Local(0), pt.Call(0)).Bytes(), host(func(_ context.Context, mem Memory, stack []uint64) error {
		b, err := mem.View(uint32(stack[0]), 2)
		if err == nil {
			b[0] = 7
		}
		return err
	}))
	_, err := i.Call(t.Context(), run, 65534)
	require.NoError(t, err)
	_, err = i.Call(t.Context(), run, 0xffffffff)
	assert.EqualError(t, err, "out of bounds memory access: f was given 2 bytes at 4294967295 of 65536")
}

func TestCompileInvalid(t *testing.T) {
	for name, binary := range map[string][]byte{
		"not wasm":       []byte("hello"),
		"types":          guest(pt.Const64(0)).Bytes(),
		"missing import": pt.New(pt.Import{Module: "host", Name: "other"}).Bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			for _, dir := range []string{"", t.TempDir()} {
				opts := host(identity)
				opts.CacheDir = dir
				m, err := Compile(t.Context(), binary, opts)
				if name == "missing import" { // found when it is instantiated: plugins checks imports before
					require.NoError(t, err)
					_, err = m.Instantiate(t.Context(), nil)
					require.NoError(t, m.Close(t.Context()))
				}
				assert.Error(t, err)
			}
		})
	}
}
