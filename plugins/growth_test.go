package plugins

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/axishost/axishost/abi"
)

// TestLoadClose loads, asks and closes a small plugin many times, with and without compiled code on disk: nothing is left.
func TestLoadClose(t *testing.T) {
	i, err := Inspect(bases()[0].file)
	require.NoError(t, err)
	for name, opts := range map[string]Options{"compiled": {}, "warm": {CacheDir: filepath.Join(t.TempDir(), "cache")}} {
		t.Run(name, func(t *testing.T) {
			repeat(t, long(1000, 50), func() {
				p, err := Load(t.Context(), i, opts)
				require.NoError(t, err)
				_, err = p.Hook(t.Context(), abi.HookDirectFinal, nil)
				require.NoError(t, err)
				require.NoError(t, p.Close())
			})
		})
	}
}

// TestManySmallHooks makes 100,000 calls of one plugin through its pool: of one that is put back to its image,
// and fewer of one that is replaced each time, by an answer, by a trap and by a tool call.
func TestManySmallHooks(t *testing.T) {
	plugins := map[string]*Plugin{}
	for _, b := range bases() {
		plugins[b.name] = load(t, b.file, Options{})
	}
	trap := small("")
	trap.Hook("direct_final", []byte{0x00})
	trap.Manifest(manifest("direct_final"))
	plugins["trap"] = load(t, trap.Bytes(), Options{})
	const answer = `{"status": "ok", "result": "1"}`
	tool := small(answer)
	tool.Hook("tool_call", say(len(answer)))
	tool.Manifest(toolManifest("")) // with more time than that of bases, for a machine that is busy
	plugins["tool"] = load(t, tool.Bytes(), Options{})
	hook := func(name string) func() error {
		return func() error {
			_, err := plugins[name].Hook(t.Context(), abi.HookDirectFinal, nil)
			return err
		}
	}
	for name, tt := range map[string]struct {
		calls int
		call  func() error
		fails bool
	}{
		"put back": {long(100_000, 2_000), hook("answer"), false},
		"replaced": {full(10_000, 200), hook("tables"), false},
		"trapped":  {full(10_000, 200), hook("trap"), true},
		"tool": {full(10_000, 200), func() error {
			_, err := plugins["tool"].CallTool(t.Context(), act(""), nil)
			return err
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			repeat(t, tt.calls, func() { err := tt.call(); require.Equal(t, tt.fails, err != nil, "%v", err) })
		})
	}
	for name, p := range plugins {
		assert.Len(t, p.hooks.slots, len(p.hooks.idle), name)
	}
}

// repeat runs a cycle many times: nothing grows once it has run for a while.
func repeat(t *testing.T, cycles int, cycle func()) {
	for range cycles/10 + 20 {
		cycle()
	}
	ignore := goleak.IgnoreCurrent()
	before := takeFootprint()
	for range cycles {
		cycle()
	}
	before.sameAfter(t, cycles)
	goleak.VerifyNone(t, ignore)
}
