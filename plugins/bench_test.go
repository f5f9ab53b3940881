package plugins

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasmbin"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// boxed is the recipe of that name, packed.
func boxed(tb testing.TB) []byte {
	tb.Helper()
	b, err := boxedGuest()
	require.NoError(tb, err)
	m, err := os.ReadFile("../recipes/boxed/axis.json")
	require.NoError(tb, err)
	return pack(tb, b, string(m))
}

// reply is what a model might say, of 1 KiB.
func reply() []byte {
	return []byte(strings.Repeat("We multiply the two numbers and look at the digits one by one. ", 17))[:1024]
}

// BenchmarkHook compares a text hook of a Go guest with the same export called straight through wazero with
// the same settings, on one instance that is never put back. See RATIONALE.md for the figures.
func BenchmarkHook(b *testing.B) {
	packed, input := boxed(b), reply()
	b.Run("plugin", func(b *testing.B) {
		p := load(b, packed, Options{})
		for range cap(p.hooks.slots) + 1 { // fills the pool
			_, err := p.Hook(b.Context(), abi.HookRefusal, input)
			require.NoError(b, err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Hook(b.Context(), abi.HookRefusal, input); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plugin, direct_final", func(b *testing.B) {
		p := load(b, packed, Options{})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Hook(b.Context(), abi.HookDirectFinal, input); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("small, from a fresh instance", func(b *testing.B) {
		m := small("x")
		m.Hook("direct_final", say(1))
		m.Table(1)
		m.Func("", nil, nil, pt.Code(pt.Const(0), []byte{0xd0, pt.FuncRef, 0x26, 0})) // ref.null, table.set: it cannot be put back
		m.Manifest(manifest("direct_final"))
		p := load(b, m.Bytes(), Options{})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Hook(b.Context(), abi.HookDirectFinal, input); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("straight", func(b *testing.B) {
		call := straight(b, packed, input)
		b.ReportAllocs()
		for b.Loop() {
			call()
		}
	})
}

// straight gives a function that calls refusal through wazero alone.
func straight(b *testing.B, packed, input []byte) func() {
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().
		WithCoreFeatures(api.CoreFeaturesV2).WithCloseOnContextDone(true).WithMemoryLimitPages(abi.DefaultMemoryBytes/abi.PageBytes))
	b.Cleanup(func() { require.NoError(b, runtime.Close(ctx)) })
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)
	var output []byte
	host := runtime.NewHostModuleBuilder(abi.ImportModule)
	for _, f := range abi.Imports() {
		results := []api.ValueType{api.ValueTypeI32}
		if f.Results[0] == abi.I64 {
			results[0] = api.ValueTypeI64
		}
		params := make([]api.ValueType, len(f.Params))
		for i := range params {
			params[i] = api.ValueTypeI32
		}
		host.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, mod api.Module, stack []uint64) {
			switch f.Name {
			case abi.FuncInputRead:
				mod.Memory().Write(uint32(stack[1]), input)
				stack[0] = uint64(len(input))
			case abi.FuncOutputWrite:
				view, _ := mod.Memory().Read(uint32(stack[0]), uint32(stack[1]))
				output = append(output[:0], view...)
				stack[0] = 0
			default:
				stack[0] = 0
			}
		}), params, results).Export(f.Name)
	}
	_, err := host.Instantiate(ctx)
	require.NoError(b, err)
	mod, err := runtime.InstantiateWithConfig(ctx, packed, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	require.NoError(b, err)
	refusal := mod.ExportedFunction(abi.HookRefusal.Export())
	return func() {
		ctx, cancel := context.WithTimeout(ctx, abi.DefaultHookMillis*time.Millisecond)
		defer cancel()
		got, err := refusal.Call(ctx, uint64(len(input)))
		if err != nil || got[0] != uint64(abi.CodeNoDecision) {
			b.Fatal(got, err)
		}
	}
}

func BenchmarkInspect(b *testing.B) {
	packed := boxed(b)
	b.SetBytes(int64(len(packed)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Inspect(packed); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoadWarm loads a plugin whose compiled code is on disk, and closes it.
func BenchmarkLoadWarm(b *testing.B) {
	i, err := Inspect(boxed(b))
	require.NoError(b, err)
	opts := Options{CacheDir: filepath.Join(b.TempDir(), "cache")}
	p, err := Load(b.Context(), i, opts)
	require.NoError(b, err)
	require.NoError(b, p.Close())
	b.ReportAllocs()
	for b.Loop() {
		p, err := Load(b.Context(), i, opts)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTenPlugins loads ten Go guests whose compiled code is on disk, side by side as the host does, and
// closes them: once as inspected before, once from their bytes.
func BenchmarkTenPlugins(b *testing.B) {
	opts := Options{CacheDir: filepath.Join(b.TempDir(), "cache")}
	var files [][]byte
	var inspections []*Inspection
	for n := range 10 {
		m, err := wasmbin.Parse(boxed(b))
		require.NoError(b, err)
		files = append(files, m.AppendCustom("benchmark", []byte{byte(n)})) // makes the digest another
		i, err := Inspect(files[n])
		require.NoError(b, err)
		inspections = append(inspections, i)
	}
	each := func(work func(n int) error) {
		var group sync.WaitGroup
		var errs [10]error
		for n := range errs {
			group.Go(func() { errs[n] = work(n) })
		}
		group.Wait()
		require.NoError(b, errors.Join(errs[:]...))
	}
	loadAndClose := func(i *Inspection) error {
		p, err := Load(context.Background(), i, opts)
		if err != nil {
			return err
		}
		return p.Close()
	}
	each(func(n int) error { return loadAndClose(inspections[n]) })
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			each(func(n int) error { return loadAndClose(inspections[n]) })
		}
	})
	b.Run("inspect and load", func(b *testing.B) {
		for b.Loop() {
			each(func(n int) error {
				i, err := Inspect(files[n])
				if err != nil {
					return err
				}
				return loadAndClose(i)
			})
		}
	})
}

// BenchmarkFirstCall is what a tool call costs beyond its work: an instance of its own.
func BenchmarkFirstCall(b *testing.B) {
	p := load(b, behave(b), Options{})
	for b.Loop() {
		if _, err := p.CallTool(b.Context(), act("none"), nil); err != nil {
			b.Fatal(err)
		}
	}
}
