package plugins

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/hostfn"
	"github.com/axishost/axishost/plugins/internal/wasi"
	"github.com/axishost/axishost/plugins/internal/wasmbin"
	"github.com/axishost/axishost/plugins/internal/wasmrt"
)

// TestManyCalls makes 100,000 calls of 64 KiB on one instance of a stock Go guest under a cap of 16 MiB: since the
// SDK yields, the guest collects its garbage, and its memory stops growing.
func TestManyCalls(t *testing.T) {
	calls := full(100_000, 3_000) // without yielding it dies after about 1,100
	parsed, err := wasmbin.Parse(behave(t))
	require.NoError(t, err)
	binary, globals := parsed.ExportGlobals()
	ctx := context.Background()
	module, err := wasmrt.Compile(ctx, binary, wasmrt.Options{
		CacheDir:    filepath.Join(scratch(), "cache"),
		MemoryPages: 16 << 20 / abi.PageBytes,
		Functions:   append(hostfn.Functions(), wasi.Functions()...),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, module.Close(ctx)) }()
	ctx = wasi.With(ctx, wasi.New([32]byte{}))
	i, err := module.Instantiate(hostfn.With(ctx, &hostfn.Call{Initializing: true}), globals)
	require.NoError(t, err)
	defer i.Close()

	input := make([]byte, 64<<10)
	copy(input, "none ")
	var settled uint32
	var before footprint
	for n := range calls {
		code, err := i.Call(hostfn.With(ctx, &hostfn.Call{Input: input}), "axis_v1_refusal", uint32(len(input)))
		require.NoError(t, err, "call %d", n)
		require.Zero(t, code)
		if n == calls/2 {
			settled, before = i.MemoryBytes(), takeFootprint()
		}
	}
	before.sameAfter(t, calls/2)
	assert.Equal(t, settled, i.MemoryBytes(), "memory grows no more in the second half")
	assert.LessOrEqual(t, i.MemoryBytes(), uint32(12<<20))
	t.Logf("%d calls, %d KiB", calls, i.MemoryBytes()>>10)
}

// TestManyHooks: the same through the pool, where each call starts from the image.
func TestManyHooks(t *testing.T) {
	calls := full(3_000, 100)
	p := load(t, behave(t), Options{MemoryBytes: 16 << 20})
	input := make([]byte, 64<<10)
	copy(input, "none ")
	for range calls {
		_, err := p.Hook(t.Context(), abi.HookRefusal, input)
		require.NoError(t, err)
	}
	for range len(p.hooks.idle) {
		i := <-p.hooks.idle
		assert.LessOrEqual(t, i.guest.MemoryBytes(), uint32(8<<20))
		p.hooks.idle <- i
	}
}
