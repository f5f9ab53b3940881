package hostfn

import (
	"context"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasmrt"
)

// outputWrite is output_write(buf, len): appends to the output. A write that does not fit leaves nothing.
func outputWrite(_ context.Context, c *Call, mem wasmrt.Memory, p []uint64) (int64, error) {
	b, err := mem.View(uint32(p[0]), uint32(p[1]))
	if err != nil {
		return 0, err
	}
	if len(c.Output)+len(b) > c.OutputLimit {
		c.Refused = true
		return int64(abi.CodeNoSpace), nil
	}
	c.Output = append(c.Output, b...)
	c.Wrote = true
	return 0, nil
}

// outputEmit is output_emit(kind, buf, len): a line of progress, or a piece of the result. What one call
// emits counts against the output limit, apart from the output itself.
func outputEmit(_ context.Context, c *Call, mem wasmrt.Memory, p []uint64) (int64, error) {
	kind, n := abi.EmitKind(uint32(p[0])), uint32(p[2])
	if n > abi.MaxEmitBytes {
		return int64(abi.CodeTooLarge), nil
	}
	b, err := mem.View(uint32(p[1]), n)
	switch {
	case err != nil:
		return 0, err
	case kind != abi.EmitProgress && kind != abi.EmitChunk:
		return int64(abi.CodeInvalid), nil
	case c.emits >= abi.MaxEmits || c.emitted+len(b) > c.OutputLimit:
		return int64(abi.CodeNoSpace), nil
	}
	c.emits++
	c.emitted += len(b)
	if c.Emit != nil {
		c.Emit(kind, Printable(b, abi.MaxEmitBytes))
	}
	return 0, nil
}

// errorSet is error_set(code, buf, len): the call's error, the last one winning.
func errorSet(_ context.Context, c *Call, mem wasmrt.Memory, p []uint64) (int64, error) {
	b, err := mem.View(uint32(p[1]), uint32(p[2]))
	if err != nil {
		return 0, err
	}
	code := abi.Code(uint32(p[0]))
	if code >= 0 {
		return int64(abi.CodeInvalid), nil
	}
	c.ErrorText = Printable(b, abi.MaxErrorBytes)
	return 0, nil
}
