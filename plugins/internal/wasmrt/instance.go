package wasmrt

import (
	"context"
	"errors"

	"github.com/axishost/axishost/abi"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Instance is one instance of a module.
type Instance struct {
	mod     api.Module
	globals []api.MutableGlobal
	image   []byte   // linear memory as Snapshot found it
	values  []uint64 // and the globals
}

// Instantiate makes an instance, anonymous so that it can never stand for another module's imports, and
// runs its initialiser where it has one. globals names the exported globals that Snapshot is to keep.
func (m *Module) Instantiate(ctx context.Context, globals []string) (*Instance, error) {
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	mod, err := m.runtime.InstantiateModule(ctx, m.compiled, config)
	if err != nil {
		return nil, fault(ctx, err)
	}
	// Called here and not as wazero's start function, whose faults it would put words of its own around.
	if initialize := mod.ExportedFunction(abi.InitExport); initialize != nil {
		if _, err := initialize.Call(ctx); err != nil {
			_ = mod.Close(context.Background())
			return nil, fault(ctx, err)
		}
	}
	i := &Instance{mod: mod}
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

// Snapshot keeps the instance's memory and globals, for Restore.
func (i *Instance) Snapshot() {
	view, _ := i.mod.Memory().Read(0, i.mod.Memory().Size())
	i.image = append(i.image[:0], view...)
	i.values = i.values[:0]
	for _, g := range i.globals {
		i.values = append(i.values, g.Get())
	}
}

// Restore puts the instance back to its snapshot. It is false when that is not possible, since memory has
// grown and cannot be made smaller: the instance must then be closed.
func (i *Instance) Restore() bool {
	view, ok := i.mod.Memory().Read(0, i.mod.Memory().Size())
	if !ok || len(view) != len(i.image) {
		return false
	}
	copy(view, i.image)
	for n, g := range i.globals {
		g.Set(i.values[n])
	}
	return true
}

// MemoryBytes is the size of linear memory.
func (i *Instance) MemoryBytes() uint32 { return i.mod.Memory().Size() }

// Close releases the instance.
func (i *Instance) Close() { _ = i.mod.Close(context.Background()) }
