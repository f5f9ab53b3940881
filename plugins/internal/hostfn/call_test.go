package hostfn

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasmrt"
)

func TestFunctionsAreTheContract(t *testing.T) {
	var got []string
	for _, f := range Functions() {
		assert.Equal(t, abi.ImportModule, f.Module)
		got = append(got, f.Type.String())
	}
	var want []string
	for _, f := range abi.Imports() {
		want = append(want, f.String())
	}
	assert.Equal(t, want, got)
}

// TestNotNow calls each function with arguments that would trap or be invalid: not_now is looked at first.
func TestNotNow(t *testing.T) {
	for _, f := range abi.Imports() {
		t.Run(f.Name, func(t *testing.T) {
			args := make([]int64, len(f.Params))
			for i := range args {
				args[i] = -1
			}
			call, lines := newCall()
			call.Initializing = true
			call.Granted = map[abi.Operation]Operation{abi.OpConfig: Config(nil)}
			rc, err := guest(t, call, "", do(f.Name, args...))
			if f.Name == abi.FuncLog {
				var trap *wasmrt.Trap
				require.ErrorAs(t, err, &trap, "log is performed, and traps")
				rc, err = guest(t, call, "starting", do(abi.FuncLog, 1, 0, 8))
				require.NoError(t, err)
				assert.Equal(t, abi.CodeNoDecision, rc)
				assert.Equal(t, []string{"starting"}, *lines)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, abi.CodeNotNow, rc)
			assert.False(t, call.Wrote)
			assert.Empty(t, call.ErrorText)
		})
	}
}

// TestOutsideACall: without a call in the context nothing may be done.
func TestOutsideACall(t *testing.T) {
	for _, f := range Functions() {
		stack := make([]uint64, 4)
		require.NoError(t, f.Call(context.Background(), wasmrt.Memory{}, stack))
		assert.Equal(t, int32(abi.CodeNotNow), int32(uint32(stack[0])), f.Type.Name)
	}
}

// TestRanges puts each kind of range into each function that takes one.
func TestRanges(t *testing.T) {
	functions := map[string]struct {
		code func(ptr, n int64) []byte
		cap  int64 // a length above it is too_large before the range is looked at
	}{
		"input_read":        {func(p, n int64) []byte { return do(abi.FuncInputRead, 0, p, n) }, 0},
		"input_read at end": {func(p, n int64) []byte { return do(abi.FuncInputRead, -1, p, n) }, 0},
		"output_write":      {func(p, n int64) []byte { return do(abi.FuncOutputWrite, p, n) }, 0},
		"output_emit":       {func(p, n int64) []byte { return do(abi.FuncOutputEmit, 0, p, n) }, abi.MaxEmitBytes},
		"error_set":         {func(p, n int64) []byte { return do(abi.FuncErrorSet, -14, p, n) }, 0},
		"log":               {func(p, n int64) []byte { return do(abi.FuncLog, 1, p, n) }, 0},
		"host_call name":    {func(p, n int64) []byte { return do(abi.FuncHostCall, p, n, 0, 0) }, abi.MaxOperationName},
		"host_call request": {func(p, n int64) []byte { return do(abi.FuncHostCall, 0, 0, p, n) }, abi.MaxRequestBytes},
		"host_has":          {func(p, n int64) []byte { return do(abi.FuncHostHas, p, n) }, abi.MaxOperationName},
		"resp_read":         {func(p, n int64) []byte { return do(abi.FuncRespRead, 1, 0, p, n) }, 0},
	}
	ranges := []struct {
		ptr, n int64
		inside bool
	}{
		{0, 0, true}, {page - 1, 1, true}, {page, 0, true}, {page - 64, 64, true},
		{page, 1, false}, {page + 1, 0, false}, {page - 1, 2, false}, {0, page + 1, false},
		{0xffffffff, 2, false}, {0xffffffff, 0, false}, {0xffffffff, 0xffffffff, false},
		{2, 0xffffffff, false}, {0x80000000, 0x80000000, false}, {page - 64, 65, false},
	}
	for name, f := range functions {
		for _, r := range ranges {
			t.Run(fmt.Sprintf("%s %#x+%#x", name, r.ptr, r.n), func(t *testing.T) {
				call, _ := newCall()
				call.Input = []byte("input")
				rc, err := guest(t, call, "", f.code(r.ptr, r.n))
				switch {
				case f.cap > 0 && r.n > f.cap:
					require.NoError(t, err)
					assert.Equal(t, abi.CodeTooLarge, rc)
				case r.inside:
					require.NoError(t, err)
				default:
					var trap *wasmrt.Trap
					require.ErrorAs(t, err, &trap)
					assert.Equal(t, fmt.Sprintf("out of bounds memory access: %s was given %d bytes at %d of %d",
						strings.Fields(name)[0], r.n, r.ptr, page), trap.Reason)
					assert.False(t, call.Wrote)
					assert.Empty(t, call.ErrorText)
				}
			})
		}
	}
}

// TestOrderOfChecks gives arguments that are wrong in two ways: the answer is that of the earlier check.
func TestOrderOfChecks(t *testing.T) {
	const outside = page + 1
	traps := map[string][]byte{
		"output_emit: range before kind":      do(abi.FuncOutputEmit, 9, outside, 1),
		"error_set: range before code":        do(abi.FuncErrorSet, 9, outside, 1),
		"log: range before level":             do(abi.FuncLog, 9, outside, 1),
		"output_write: range before space":    do(abi.FuncOutputWrite, 0, page+1),
		"log: range before lines":             then(times(abi.MaxLogLines, do(abi.FuncLog, 1, 0, 0)), do(abi.FuncLog, 1, outside, 1)),
		"host_call: range before operation":   do(abi.FuncHostCall, outside, 1, 0, 0),
		"host_call: request before operation": do(abi.FuncHostCall, 0, 0, outside, 1),
		"resp_read: range before handle":      do(abi.FuncRespRead, 9, 0, outside, 1),
	}
	for name, code := range traps {
		t.Run(name, func(t *testing.T) {
			call, _ := newCall()
			_, err := guest(t, call, "", code)
			var trap *wasmrt.Trap
			assert.ErrorAs(t, err, &trap)
		})
	}
	const config = "config/1"
	full := times(abi.MaxHandles, do(abi.FuncHostCall, 0, int64(len(config)), 0, 0))
	answers := map[string]struct {
		code []byte
		want abi.Code
	}{
		"output_emit: length before range and kind":   {do(abi.FuncOutputEmit, 9, outside, abi.MaxEmitBytes+1), abi.CodeTooLarge},
		"output_emit: kind before space":              {do(abi.FuncOutputEmit, 9, 0, 65), abi.CodeInvalid},
		"log: level before lines":                     {then(times(abi.MaxLogLines, do(abi.FuncLog, 1, 0, 0)), do(abi.FuncLog, 4, 0, 0)), abi.CodeInvalid},
		"host_has: length before range":               {do(abi.FuncHostHas, outside, abi.MaxOperationName+1), abi.CodeTooLarge},
		"host_call: name's length before its range":   {do(abi.FuncHostCall, outside, abi.MaxOperationName+1, outside, 1), abi.CodeTooLarge},
		"host_call: both lengths before any range":    {do(abi.FuncHostCall, outside, 1, outside, abi.MaxRequestBytes+1), abi.CodeTooLarge},
		"host_call: request before number of handles": {then(full, do(abi.FuncHostCall, 0, int64(len(config)), 0, 1)), abi.CodeInvalid},
		"host_call: operation before handles":         {then(full, do(abi.FuncHostCall, 0, 1, 0, 0)), abi.CodeUnknown},
		"host_call: handles":                          {then(full, do(abi.FuncHostCall, 0, int64(len(config)), 0, 0)), abi.CodeTooMany},
	}
	for name, tt := range answers {
		t.Run(name, func(t *testing.T) {
			call, _ := newCall()
			call.Granted = map[abi.Operation]Operation{abi.OpConfig: Config(nil)}
			assert.Equal(t, tt.want, answer(t, call, config, tt.code))
		})
	}
}

// TestHighHalvesAreIgnored: what stands in the high half of an i32's slot is not defined.
func TestHighHalvesAreIgnored(t *testing.T) {
	call := &Call{}
	for _, f := range Functions() {
		if f.Type.Name != abi.FuncRespLen && f.Type.Name != abi.FuncRespClose {
			continue
		}
		call.responses = map[int][]byte{7: []byte("abc")}
		stack := []uint64{0xdeadbeef_00000007}
		require.NoError(t, f.Call(With(context.Background(), call), wasmrt.Memory{}, stack))
		assert.GreaterOrEqual(t, int32(uint32(stack[0])), int32(0), f.Type.Name)
	}
}
