package hostfn

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/axishost/axishost/abi"
)

// granted is a call that may use config/1 and two operations of these tests.
func granted() (*Call, *[]string) {
	call, lines := newCall()
	anything := func([]byte) bool { return true }
	call.Granted = map[abi.Operation]Operation{
		abi.OpConfig: Config([]byte(`{"key":"value"}`)),
		"echo/1":     {anything, func(_ context.Context, request []byte) ([]byte, abi.Code) { return request, 0 }},
		"fail/1":     {anything, func(context.Context, []byte) ([]byte, abi.Code) { return nil, abi.CodeIO }},
		"huge/1": {anything, func(context.Context, []byte) ([]byte, abi.Code) {
			return make([]byte, abi.MaxResponseBytes+1), 0
		}},
	}
	return call, lines
}

func TestHostCall(t *testing.T) {
	for name, tt := range map[string]struct {
		operation string
		request   int64
		want      abi.Code
	}{
		"granted":             {"config/1", 0, 1},
		"with a request":      {"config/1", 1, abi.CodeInvalid},
		"echo":                {"echo/1", 3, 1},
		"fails":               {"fail/1", 0, abi.CodeIO},
		"response too large":  {"huge/1", 0, abi.CodeTooLarge},
		"not specified":       {"nonsense/1", 0, abi.CodeUnknown},
		"other major":         {"config/2", 0, abi.CodeUnknown},
		"empty name":          {"", 0, abi.CodeUnknown},
		"specified, unserved": {"kv.get/1", 0, abi.CodeUnknown},
		"upper case":          {"CONFIG/1", 0, abi.CodeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			call, _ := granted()
			assert.Equal(t, tt.want, answer(t, call, tt.operation+"abc",
				do(abi.FuncHostCall, 0, int64(len(tt.operation)), int64(len(tt.operation)), tt.request)))
		})
	}
	t.Run("not granted", func(t *testing.T) {
		call, _ := newCall()
		assert.Equal(t, abi.CodeDenied, answer(t, call, "config/1", do(abi.FuncHostCall, 0, 8, 0, 0)))
		assert.Equal(t, abi.CodeDenied, answer(t, call, "http.fetch/1", do(abi.FuncHostCall, 0, 12, 0, 0)))
	})
	t.Run("not now", func(t *testing.T) {
		call, _ := newCall()
		call.NotNow = []abi.Operation{abi.OpHTTPFetch, abi.OpKVGet}
		assert.Equal(t, abi.CodeNotNow, answer(t, call, "http.fetch/1", do(abi.FuncHostCall, 0, 12, 0, 0)))
		assert.Equal(t, abi.CodeUnknown, answer(t, call, "kv.get/1", do(abi.FuncHostCall, 0, 8, 0, 0)), "the host has it at no time")
		assert.Equal(t, abi.OperationDenied, answer(t, call, "http.fetch/1", do(abi.FuncHostHas, 0, 12)))
	})
}

func TestHostHas(t *testing.T) {
	call, _ := granted()
	bare, _ := newCall()
	for name, tt := range map[string]struct {
		call      *Call
		operation string
		want      abi.Code
	}{
		"granted":             {call, "config/1", abi.OperationGranted},
		"known, not granted":  {bare, "config/1", abi.OperationDenied},
		"specified, unserved": {call, "kv.get/1", abi.OperationUnknown},
		"not specified":       {call, "nonsense/1", abi.OperationUnknown},
		"empty":               {call, "", abi.OperationUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, answer(t, tt.call, tt.operation, do(abi.FuncHostHas, 0, int64(len(tt.operation)))))
		})
	}
}

func TestResponses(t *testing.T) {
	open := do(abi.FuncHostCall, 0, 6, 6, 10) // echo/1 of 0123456789
	const data = "echo/10123456789"
	length := func(handle int64) []byte { return do(abi.FuncRespLen, handle) }
	read := func(handle, off, n int64) []byte { return do(abi.FuncRespRead, handle, off, 100, n) }
	closed := func(handle int64) []byte { return do(abi.FuncRespClose, handle) }
	for name, tt := range map[string]struct {
		code []byte
		want abi.Code
	}{
		"first handle":       {open, 1},
		"second handle":      {then(open, open), 2},
		"never twice":        {then(open, closed(1), open), 2},
		"length":             {then(open, length(1)), 10},
		"read all":           {then(open, read(1, 0, 20)), 10},
		"read the rest":      {then(open, read(1, 7, 20)), 3},
		"read at the end":    {then(open, read(1, 10, 20)), 0},
		"read far past it":   {then(open, read(1, 0xffffffff, 20)), 0},
		"close":              {then(open, closed(1)), 0},
		"close twice":        {then(open, closed(1), closed(1)), abi.CodeBadHandle},
		"length when closed": {then(open, closed(1), length(1)), abi.CodeBadHandle},
		"read when closed":   {then(open, closed(1), read(1, 0, 1)), abi.CodeBadHandle},
		"handle 0":           {then(open, length(0)), abi.CodeBadHandle},
		"handle -1":          {then(open, read(-1, 0, 1)), abi.CodeBadHandle},
		"never given":        {length(1), abi.CodeBadHandle},
		"sixteen":            {times(abi.MaxHandles, open), abi.MaxHandles},
		"seventeen":          {times(abi.MaxHandles+1, open), abi.CodeTooMany},
		"room again":         {then(times(abi.MaxHandles, open), closed(3), open), abi.MaxHandles + 1},
	} {
		t.Run(name, func(t *testing.T) {
			call, _ := granted()
			assert.Equal(t, tt.want, answer(t, call, data, tt.code))
		})
	}
	t.Run("bytes", func(t *testing.T) {
		call, lines := granted()
		answer(t, call, data, then(open, read(1, 2, 3), do(abi.FuncLog, 1, 100, 3)))
		assert.Equal(t, []string{"234"}, *lines)
	})
}

// TestRequestIsCopied: an operation may keep its request after the guest went on.
func TestRequestIsCopied(t *testing.T) {
	call, lines := granted()
	call.Input = []byte("xyz")
	answer(t, call, "echo/1abc", then(
		do(abi.FuncHostCall, 0, 6, 6, 3),
		do(abi.FuncInputRead, 0, 6, 3), // overwrites the request in memory
		do(abi.FuncRespRead, 1, 0, 100, 3),
		do(abi.FuncLog, 1, 100, 3),
	))
	assert.Equal(t, []string{"abc"}, *lines)
}

func TestConfig(t *testing.T) {
	for want, object := range map[string][]byte{"{}": nil, `{"a":1}`: []byte(`{"a":1}`)} {
		call, lines := newCall()
		call.Granted = map[abi.Operation]Operation{abi.OpConfig: Config(object)}
		n := answer(t, call, "config/1", then(do(abi.FuncHostCall, 0, 8, 0, 0), do(abi.FuncRespLen, 1)))
		assert.Equal(t, abi.Code(len(want)), n)
		call.responses, call.handles = nil, 0
		answer(t, call, "config/1", then(do(abi.FuncHostCall, 0, 8, 0, 0), do(abi.FuncRespRead, 1, 0, 100, 50), do(abi.FuncLog, 1, 100, int64(len(want)))))
		assert.Equal(t, []string{want}, *lines)
	}
}
