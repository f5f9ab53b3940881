package wasmrt

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/axishost/axishost/abi"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// HostFunction is a function that guests import.
type HostFunction struct {
	Module string
	Type   abi.Function
	// Call gets its parameters in stack and leaves its result in stack[0]. An i32 parameter is the low half
	// of its slot; the high half is not defined. An error ends the guest's call with it: it is for what a
	// guest must not survive, such as a range outside its memory or an exit. It is not called once ctx has ended,
	// and one that takes time in proportion to what the guest asks for gives ctx's cause when that ends meanwhile.
	Call func(ctx context.Context, mem Memory, stack []uint64) error
}

// Memory is a guest's linear memory during one host call.
type Memory struct {
	mem    api.Memory
	caller string // the host function that looks at it
}

// View gives n bytes at ptr, not copied: valid until the host function returns and no longer. The error is
// a *Trap when the range is not in memory.
func (m Memory) View(ptr, n uint32) ([]byte, error) {
	b, ok := m.mem.Read(ptr, n)
	if !ok {
		return nil, &Trap{Reason: fmt.Sprintf("out of bounds memory access: %s was given %d bytes at %d of %d",
			m.caller, n, ptr, m.mem.Size())}
	}
	return b, nil
}

// Options of Compile.
type Options struct {
	// CacheDir keeps compiled code between processes, in a directory for each module; empty keeps it in memory only,
	// and so does one that is another user's or that others can write to.
	CacheDir string
	// Compiling, where it is set, is called before a compilation that CacheDir does not spare.
	Compiling func()
	// MemoryPages caps linear memory, in pages of 64 KiB.
	MemoryPages uint32
	Functions   []HostFunction
}

// Module is one compiled module.
type Module struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	image    atomic.Pointer[image] // of the first instance that kept one
}

// Compile validates and compiles a module. The caller closes the result.
func Compile(ctx context.Context, binary []byte, opts Options) (*Module, error) {
	onDisk := newCodeCache(opts.CacheDir, binary)
	cache, whole := onDisk.open()
	if !whole && opts.Compiling != nil {
		opts.Compiling()
	}
	if cache == nil {
		return compile(ctx, binary, opts, wazero.NewCompilationCache())
	}
	m, err := compile(ctx, binary, opts, cache)
	if err != nil && ctx.Err() == nil {
		// The disk may be full: that must not keep anyone from running a plugin.
		return compile(ctx, binary, opts, wazero.NewCompilationCache())
	}
	onDisk.seal(!whole)
	return m, err
}

func compile(ctx context.Context, binary []byte, opts Options, cache wazero.CompilationCache) (*Module, error) {
	m := &Module{cache: cache}
	config := wazero.NewRuntimeConfigCompiler().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithMemoryLimitPages(opts.MemoryPages).
		WithCloseOnContextDone(true).
		WithDebugInfoEnabled(false).
		WithCompilationCache(m.cache)
	opening.Lock()
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	opening.Unlock()
	if err := m.defineHost(ctx, opts.Functions); err != nil {
		_ = m.Close(ctx)
		return nil, err
	}
	ctx = experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
	compiled, err := m.runtime.CompileModule(ctx, binary)
	if err != nil {
		_ = m.Close(ctx)
		return nil, err
	}
	m.compiled = compiled
	return m, nil
}

// defineHost makes the modules that guests import from.
func (m *Module) defineHost(ctx context.Context, functions []HostFunction) error {
	builders := map[string]wazero.HostModuleBuilder{}
	var order []string
	for _, f := range functions {
		b := builders[f.Module]
		if b == nil {
			b = m.runtime.NewHostModuleBuilder(f.Module)
			builders[f.Module] = b
			order = append(order, f.Module)
		}
		b.NewFunctionBuilder().
			WithGoModuleFunction(adapt(f), valueTypes(f.Type.Params), valueTypes(f.Type.Results)).
			Export(f.Type.Name)
	}
	for _, name := range order {
		if _, err := builders[name].Instantiate(ctx); err != nil {
			return fmt.Errorf("host module %s: %w", name, err)
		}
	}
	return nil
}

// adapt makes a host function wazero's. It does nothing for a call whose time is over, and ends that: wazero's own
// switch is looked at in loops alone, and code without any would go on. An error unwinds the guest as a panic that wazero recovers; faults
// (fault.go) finds it again. The one panic here is wazero's way of trapping.
func adapt(f HostFunction) api.GoModuleFunction {
	return api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
		if ctx.Err() != nil {
			panic(context.Cause(ctx))
		}
		if err := f.Call(ctx, Memory{mod.Memory(), f.Type.Name}, stack); err != nil {
			panic(err)
		}
	})
}

func valueTypes(types []abi.ValueType) []api.ValueType {
	out := make([]api.ValueType, len(types))
	for i, t := range types {
		switch t {
		case abi.I64:
			out[i] = api.ValueTypeI64
		default:
			out[i] = api.ValueTypeI32
		}
	}
	return out
}

// Close releases the module and everything that was instantiated from it.
func (m *Module) Close(ctx context.Context) error {
	err := m.runtime.Close(ctx)
	if cacheErr := m.cache.Close(ctx); err == nil {
		err = cacheErr
	}
	return err
}
