package hostfn

import (
	"context"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasmrt"
)

// Call is one call of a guest: what it was given, what it gave back, and what it may do meanwhile. It is
// used by one goroutine.
type Call struct {
	Input []byte
	// OutputLimit caps Output, in bytes.
	OutputLimit int
	// Initializing tells that _initialize runs: only log may be called.
	Initializing bool
	// Granted are the operations that the guest may use, and how each is performed.
	Granted map[abi.Operation]Operation
	// NotNow are operations that the plugin may ask for in other calls, and not in this one.
	NotNow []abi.Operation
	// Log and Emit receive the guest's lines, made printable. They may be nil.
	Log  func(level abi.LogLevel, text string)
	Emit func(kind abi.EmitKind, text string)

	Output []byte
	// Wrote tells that output_write succeeded, be it with nothing: the guest has given output.
	Wrote bool
	// ErrorText is what error_set was last given, made printable.
	ErrorText string
	// Refused tells that output past OutputLimit was refused, DroppedLines how many lines past MaxLogLines were.
	Refused      bool
	DroppedLines int

	logLines  int
	emits     int
	emitted   int            // bytes
	responses map[int][]byte // by handle
	handles   int            // the last one given; none is given twice
}

// Operation is one host operation.
type Operation struct {
	// Takes tells whether request is what the operation takes. It is asked before any quota, and does nothing.
	Takes func(request []byte) bool
	// Perform performs it. The response is kept until the call ends. The code is 0 or an error.
	Perform func(ctx context.Context, request []byte) (response []byte, code abi.Code)
}

type callKey struct{}

// With gives a context in which the functions of this package act on c.
func With(ctx context.Context, c *Call) context.Context { return context.WithValue(ctx, callKey{}, c) }

// body is a host function's body: its parameters are unsigned 32-bit.
type body func(ctx context.Context, c *Call, mem wasmrt.Memory, p []uint64) (int64, error)

// Functions gives the functions of abi.Imports.
func Functions() []wasmrt.HostFunction {
	bodies := map[string]body{
		abi.FuncInputRead: inputRead, abi.FuncOutputWrite: outputWrite, abi.FuncOutputEmit: outputEmit,
		abi.FuncErrorSet: errorSet, abi.FuncLog: logLine, abi.FuncHostCall: hostCall,
		abi.FuncHostHas: hostHas, abi.FuncRespLen: respLen, abi.FuncRespRead: respRead,
		abi.FuncRespClose: respClose,
	}
	var out []wasmrt.HostFunction
	for _, f := range abi.Imports() {
		out = append(out, wasmrt.HostFunction{Module: abi.ImportModule, Type: f, Call: guard(f, bodies[f.Name])})
	}
	return out
}

// guard finds the call, refuses what _initialize may not do, and puts the result on the stack.
func guard(f abi.Function, b body) func(context.Context, wasmrt.Memory, []uint64) error {
	wide := f.Results[0] == abi.I64
	return func(ctx context.Context, mem wasmrt.Memory, stack []uint64) error {
		result := int64(abi.CodeNotNow)
		c, _ := ctx.Value(callKey{}).(*Call)
		if c != nil && (!c.Initializing || f.Name == abi.FuncLog) {
			var err error
			if result, err = b(ctx, c, mem, stack); err != nil {
				return err
			}
		}
		if stack[0] = uint64(result); !wide {
			stack[0] = uint64(uint32(result))
		}
		return nil
	}
}
