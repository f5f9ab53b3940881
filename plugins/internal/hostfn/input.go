package hostfn

import (
	"context"

	"github.com/axishost/axishost/plugins/internal/wasmrt"
)

// inputRead is input_read(off, buf, cap): copies from the input, and says how many bytes.
func inputRead(_ context.Context, c *Call, mem wasmrt.Memory, p []uint64) (int64, error) {
	return copyOut(c.Input, mem, uint32(p[0]), uint32(p[1]), uint32(p[2]))
}

// copyOut copies from src at off into guest memory, at most capacity bytes. The range that the guest
// declares is checked whole, also where less is copied.
func copyOut(src []byte, mem wasmrt.Memory, off, buf, capacity uint32) (int64, error) {
	dst, err := mem.View(buf, capacity)
	if err != nil || uint64(off) >= uint64(len(src)) {
		return 0, err
	}
	return int64(copy(dst, src[off:])), nil
}
