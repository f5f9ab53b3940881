package hostfn

import (
	"context"
	"slices"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasmrt"
)

// hostCall is host_call(op, op_len, req, req_len): performs a granted operation and gives a handle of its
// response, or an error code.
func hostCall(ctx context.Context, c *Call, mem wasmrt.Memory, p []uint64) (int64, error) {
	if uint32(p[1]) > abi.MaxOperationName || uint32(p[3]) > abi.MaxRequestBytes {
		return int64(abi.CodeTooLarge), nil
	}
	name, err := mem.View(uint32(p[0]), uint32(p[1]))
	if err != nil {
		return 0, err
	}
	request, err := mem.View(uint32(p[2]), uint32(p[3]))
	if err != nil {
		return 0, err
	}
	operation, granted := c.Granted[abi.Operation(name)]
	switch {
	case !granted && has(c, abi.Operation(name)) == abi.OperationUnknown:
		return int64(abi.CodeUnknown), nil
	case !granted && slices.Contains(c.NotNow, abi.Operation(name)):
		return int64(abi.CodeNotNow), nil
	case !granted:
		return int64(abi.CodeDenied), nil
	case !operation.Takes(request):
		return int64(abi.CodeInvalid), nil
	case len(c.responses) >= abi.MaxHandles:
		return int64(abi.CodeTooMany), nil
	}
	// The request is copied: an operation may outlive this view of guest memory.
	response, code := operation.Perform(ctx, append([]byte(nil), request...))
	switch {
	case code != 0:
		return int64(code), nil
	case len(response) > abi.MaxResponseBytes:
		return int64(abi.CodeTooLarge), nil
	case c.responses == nil:
		c.responses = map[int][]byte{}
	}
	c.handles++
	c.responses[c.handles] = response
	return int64(c.handles), nil
}

// hostHas is host_has(op, op_len): whether an operation is granted, known, or neither.
func hostHas(_ context.Context, c *Call, mem wasmrt.Memory, p []uint64) (int64, error) {
	if uint32(p[1]) > abi.MaxOperationName {
		return int64(abi.CodeTooLarge), nil
	}
	name, err := mem.View(uint32(p[0]), uint32(p[1]))
	if err != nil {
		return 0, err
	}
	return int64(has(c, abi.Operation(name))), nil
}

// has tells what the host can do of an operation: one that is specified and not served is unknown to it.
func has(c *Call, name abi.Operation) abi.Code {
	if _, granted := c.Granted[name]; granted {
		return abi.OperationGranted
	}
	if info, ok := abi.LookupOperation(name); ok && info.Served {
		return abi.OperationDenied
	}
	return abi.OperationUnknown
}

// respLen is resp_len(handle).
func respLen(_ context.Context, c *Call, _ wasmrt.Memory, p []uint64) (int64, error) {
	response, ok := c.responses[int(int32(p[0]))]
	if !ok {
		return int64(abi.CodeBadHandle), nil
	}
	return int64(len(response)), nil
}

// respRead is resp_read(handle, off, buf, cap).
func respRead(_ context.Context, c *Call, mem wasmrt.Memory, p []uint64) (int64, error) {
	response, ok := c.responses[int(int32(p[0]))]
	n, err := copyOut(response, mem, uint32(p[1]), uint32(p[2]), uint32(p[3]))
	if err == nil && !ok {
		n = int64(abi.CodeBadHandle)
	}
	return n, err
}

// respClose is resp_close(handle).
func respClose(_ context.Context, c *Call, _ wasmrt.Memory, p []uint64) (int64, error) {
	handle := int(int32(p[0]))
	if _, ok := c.responses[handle]; !ok {
		return int64(abi.CodeBadHandle), nil
	}
	delete(c.responses, handle)
	return 0, nil
}
