package plugintest

import (
	"slices"

	"github.com/axishost/axishost/abi"
)

// Host gives host functions of ABI 1 to import, by name, in that order.
func Host(names ...string) []Import {
	var out []Import
	for _, name := range names {
		n := slices.IndexFunc(abi.Imports(), func(f abi.Function) bool { return f.Name == name })
		f := abi.Imports()[n]
		out = append(out, Import{abi.ImportModule, name, values(f.Params), values(f.Results)})
	}
	return out
}

func values(types []abi.ValueType) []byte {
	var out []byte
	for _, t := range types {
		out = append(out, map[abi.ValueType]byte{abi.I32: I32, abi.I64: I64}[t])
	}
	return out
}
