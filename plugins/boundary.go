package plugins

import (
	"fmt"
	"slices"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasi"
	"github.com/axishost/axishost/plugins/internal/wasmbin"
)

// checkBoundary compares imports and exports with what the contract allows, all mismatches at once.
func checkBoundary(i *Inspection, _ []byte) []string {
	return slices.Concat(i.badImports(), i.badExports(), i.badMemory())
}

// allowedImports gives the types of all functions that a guest may import, by module and name.
func allowedImports() map[string]abi.Function {
	allowed := map[string]abi.Function{}
	for _, f := range abi.Imports() {
		allowed[abi.ImportModule+"."+f.Name] = f
	}
	for _, f := range wasi.Functions() {
		allowed[abi.WASIModule+"."+f.Type.Name] = f.Type
	}
	return allowed
}

func (i *Inspection) badImports() []string {
	var reasons []string
	allowed := allowedImports()
	for _, imp := range i.module.Imports {
		name := clip(imp.Module) + "." + clip(imp.Name)
		want, ok := allowed[imp.Module+"."+imp.Name]
		switch {
		case !ok:
			reasons = append(reasons, fmt.Sprintf("imports %s, which no host of ABI %s gives", name, abi.Release))
		case imp.Kind != wasmbin.ExternFunc:
			reasons = append(reasons, fmt.Sprintf("imports %s as a %s; it is a function", name, imp.Kind))
		case !imp.Type.SameType(want):
			reasons = append(reasons, fmt.Sprintf("imports %s as %s; its type is %s", name, imp.Type.Type(), want.Type()))
		}
	}
	return reasons
}

// badMemory compares the memory that the module starts with to what its manifest asks for.
func (i *Inspection) badMemory() []string {
	if i.startBytes() <= i.memoryLimit() {
		return nil
	}
	return []string{fmt.Sprintf("starts with %s of memory, over its limit of %s; ask for more with limits.memory_bytes in the manifest",
		size(i.startBytes()), size(i.memoryLimit()))}
}

// startBytes is the linear memory that the module starts with, in bytes.
func (i *Inspection) startBytes() int64 { return int64(i.MemoryPages) * abi.PageBytes }

// memoryLimit is how much linear memory the plugin may have, in bytes.
func (i *Inspection) memoryLimit() int64 {
	if n := i.Manifest.Limits.MemoryBytes; n > 0 {
		return n
	}
	return abi.DefaultMemoryBytes
}

// outputLimit is how much one call may give back, in bytes.
func (i *Inspection) outputLimit() int64 {
	if n := i.Manifest.Limits.OutputBytes; n > 0 {
		return n
	}
	return abi.DefaultOutputBytes
}

func (i *Inspection) badExports() []string {
	nullary := abi.Function{}
	want := map[string]abi.Function{abi.MarkerExport: nullary}
	for _, h := range i.Manifest.DeclaredHooks() {
		want[h.Export()] = abi.HookType(h)
	}
	if i.export(abi.InitExport) != nil {
		want[abi.InitExport] = nullary
	}
	var reasons []string
	for name, f := range want {
		e := i.export(name)
		switch {
		case e == nil:
			reasons = append(reasons, fmt.Sprintf("declares a hook and does not export %s", name))
		case e.Kind != wasmbin.ExternFunc:
			reasons = append(reasons, fmt.Sprintf("exports %s as a %s; it must be a function", name, e.Kind))
		case !e.Type.SameType(f):
			reasons = append(reasons, fmt.Sprintf("exports %s as %s; its type must be %s", name, e.Type.Type(), f.Type()))
		}
	}
	if e := i.export(abi.MemoryExport); e == nil || e.Kind != wasmbin.ExternMemory {
		reasons = append(reasons, "does not export its memory as \"memory\"")
	}
	return reasons
}
