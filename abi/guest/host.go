package guest

import (
	"fmt"

	"github.com/axishost/axishost/abi"
)

// Config reads the plugin's configuration into v, a pointer to a struct. Anything that v has no field for is
// an error. The manifest must name config/1 under requires or optional. It cannot be called from init.
func Config(v any) error {
	response, err := call(abi.OpConfig, "")
	if err != nil {
		return err
	}
	if err := decodeStrict(response, v); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	return nil
}

// Log writes one line to the host's log. Lines are cut at abi.MaxLogBytes, and those of one call past
// abi.MaxLogLines are dropped.
func Log(level abi.LogLevel, text string) { logLine(int32(level), text) }

// Progress tells the person who watches the task how far the call is. What the host has no room for is
// dropped.
func Progress(text string) { outputEmit(int32(abi.EmitProgress), text) }

// call performs an operation of the host and gives its whole response. The error wraps the abi.Code.
func call(op abi.Operation, request string) ([]byte, error) {
	answer := hostCall(string(op), request)
	if answer < 0 {
		return nil, fmt.Errorf("%s: %w", op, abi.Code(answer))
	}
	handle := int32(answer)
	defer respClose(handle)
	size := respLen(handle)
	if size < 0 {
		return nil, fmt.Errorf("%s: response length: %w", op, abi.Code(size))
	}
	response := make([]byte, size)
	if n := respRead(handle, 0, response); n != size {
		return nil, fmt.Errorf("%s: response of %d bytes: resp_read answered %d", op, size, n)
	}
	return response, nil
}
