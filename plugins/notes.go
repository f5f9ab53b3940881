package plugins

import (
	"fmt"
	"slices"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasmbin"
)

// Limits are what one instance may use and one call give back, as the manifest has it or by default: what holds
// where the operator lowers nothing. They are zero where there is no manifest.
func (i *Inspection) Limits() abi.Limits {
	if i.Manifest == nil {
		return abi.Limits{}
	}
	return abi.Limits{MemoryBytes: i.memoryLimit(), OutputBytes: i.outputLimit()}
}

// Notes tell where what the module imports and what its manifest declares do not go together, though neither is
// wrong: one of them was forgotten.
func (i *Inspection) Notes() []string {
	if i.Manifest == nil || i.module == nil {
		return nil
	}
	declared := slices.Concat(i.Manifest.Requires, i.Manifest.Optional)
	calls := i.imports(abi.FuncHostCall)
	var notes []string
	switch {
	case calls && len(declared) == 0:
		notes = append(notes, fmt.Sprintf("imports %s and declares no operation (requires, optional): each that it asks for is denied", abi.FuncHostCall))
	case !calls && len(declared) > 0:
		notes = append(notes, fmt.Sprintf("declares %s and does not import %s: it cannot ask for any", clip(string(declared[0])), abi.FuncHostCall))
	}
	fetches, hosts := slices.Contains(declared, abi.OpHTTPFetch), len(i.Manifest.Caps.HTTP) > 0
	switch {
	case fetches && !hosts:
		notes = append(notes, fmt.Sprintf("declares %s and no host in caps.http: its users cannot see what it wants to reach", abi.OpHTTPFetch))
	case !fetches && hosts:
		notes = append(notes, fmt.Sprintf("has hosts in caps.http and does not declare %s: it cannot reach any", abi.OpHTTPFetch))
	}
	return notes
}

// imports tells whether the module imports a function of the host.
func (i *Inspection) imports(name string) bool {
	return slices.ContainsFunc(i.module.Imports, func(imp wasmbin.Import) bool {
		return imp.Module == abi.ImportModule && imp.Name == name
	})
}
