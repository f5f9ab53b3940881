package wasmrt

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/axishost/axishost/abi"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Instance is one instance of a module.
type Instance struct {
	of      *Module
	mod     api.Module
	globals []api.MutableGlobal
	image   *image // as Snapshot found it
}

// image is what an instance's state was. It is never changed.
type image struct {
	memory  []byte
	globals []uint64
}

// Instantiate makes an instance, anonymous so that it can never stand for another module's imports, and
// runs its initialiser where it has one. globals names the exported globals that Snapshot is to keep.
func (m *Module) Instantiate(ctx context.Context, globals []string) (*Instance, error) {
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	mod, err := m.runtime.InstantiateModule(ctx, m.compiled, config)
	if err != nil {
		return nil, &InstantiateError{err.Error()}
	}
	// Called here and not as wazero's start function, whose faults it would put words of its own around.
	if initialize := mod.ExportedFunction(abi.InitExport); initialize != nil {
		if _, err := initialize.Call(ctx); err != nil {
			_ = mod.Close(context.Background())
			return nil, fault(ctx, err)
		}
	}
	i := &Instance{of: m, mod: mod}
	for _, name := range globals {
		if g, ok := mod.ExportedGlobal(name).(api.MutableGlobal); ok {
			i.globals = append(i.globals, g)
		}
	}
	return i, nil
}

// Call calls an export of type (i32) -> i32. It returns at ctx's deadline or cancellation, with ctx's
// error. After any error the instance must be closed.
func (i *Instance) Call(ctx context.Context, export string, in uint32) (int32, error) {
	// Looked up each time: it has the guest's stack, which only grows, and would hold what one deep call took.
	f := i.mod.ExportedFunction(export)
	if f == nil {
		return 0, &Trap{Reason: "export " + export + " is missing"}
	}
	stack := [1]uint64{uint64(in)}
	if err := f.CallWithStack(ctx, stack[:]); err != nil {
		err = fault(ctx, err)
		var trap *Trap
		if errors.As(err, &trap) {
			trap.MemoryBytes = int64(i.MemoryBytes())
		}
		return 0, err
	}
	return int32(uint32(stack[0])), nil
}

// Snapshot keeps the instance's memory and globals, for Restore. Initialisers find the same world each time, and
// leave the same memory: all instances of a module then have one copy of it.
func (i *Instance) Snapshot() {
	view := i.memory()
	var values []uint64
	for _, g := range i.globals {
		values = append(values, g.Get())
	}
	first := i.of.image.Load()
	if first != nil && bytes.Equal(view, first.memory) && slices.Equal(values, first.globals) {
		i.image = first
		return
	}
	i.image = &image{slices.Clone(view), values}
	i.of.image.CompareAndSwap(nil, i.image)
}

// memory is all of linear memory, not copied.
func (i *Instance) memory() []byte {
	view, _ := i.mod.Memory().Read(0, i.mod.Memory().Size())
	return view
}

// Restore puts the instance back to its snapshot. It is false when that is not possible, since memory has
// grown and cannot be made smaller: the instance must then be closed.
func (i *Instance) Restore() bool {
	view := i.memory()
	if len(view) != len(i.image.memory) {
		return false
	}
	restorePages(view, i.image.memory)
	for n, g := range i.globals {
		g.Set(i.image.globals[n])
	}
	return true
}

// restorePage is what is compared at once: a call touches few pages of its memory, and reading both is faster than
// writing one.
const restorePage = 4 << 10

func restorePages(view, image []byte) {
	for from := 0; from < len(image); from += restorePage {
		to := min(from+restorePage, len(image))
		if !bytes.Equal(view[from:to], image[from:to]) {
			copy(view[from:to], image[from:to])
		}
	}
}

// MemoryBytes is the size of linear memory.
func (i *Instance) MemoryBytes() uint32 { return i.mod.Memory().Size() }

// Close releases the instance.
func (i *Instance) Close() { _ = i.mod.Close(context.Background()) }
