package abi

import (
	"fmt"
	"slices"
	"strings"
)

// ValueType is a WebAssembly value type as it is written in the text format.
type ValueType string

// The value types that functions of this contract use.
const (
	I32 ValueType = "i32"
	I64 ValueType = "i64"
)

// Function is the name and type of a function that crosses the boundary.
type Function struct {
	Name    string
	Params  []ValueType
	Results []ValueType
}

// String writes the function as SPEC.md does: input_read(i32, i32, i32) -> i32.
func (f Function) String() string { return f.Name + f.Type() }

// shownValues is how many parameters, and how many results, Type writes: more than any function of a contract here
// has, and few enough that a list of ten thousand types, which a module can announce in a few bytes, is short.
const shownValues = 16

// Type writes the function's type without its name; of a long one its beginning.
func (f Function) Type() string {
	if len(f.Results) == 0 {
		return "(" + valueList(f.Params) + ") -> ()"
	}
	return "(" + valueList(f.Params) + ") -> " + valueList(f.Results)
}

func valueList(types []ValueType) string {
	var s strings.Builder
	for i, t := range types {
		if i > 0 {
			s.WriteString(", ")
		}
		if i == shownValues {
			fmt.Fprintf(&s, "… %d more", len(types)-i)
			break
		}
		s.WriteString(string(t))
	}
	return s.String()
}

// SameType tells whether f and g take and give the same values.
func (f Function) SameType(g Function) bool {
	return slices.Equal(f.Params, g.Params) && slices.Equal(f.Results, g.Results)
}

// Names of the host functions, module ImportModule.
const (
	FuncInputRead   = "input_read"
	FuncOutputWrite = "output_write"
	FuncOutputEmit  = "output_emit"
	FuncErrorSet    = "error_set"
	FuncLog         = "log"
	FuncHostCall    = "host_call"
	FuncHostHas     = "host_has"
	FuncRespLen     = "resp_len"
	FuncRespRead    = "resp_read"
	FuncRespClose   = "resp_close"
)

// Imports lists the host functions of ABI 1 with their types. The result is the caller's own.
func Imports() []Function {
	i32 := func(n int) []ValueType { return slices.Repeat([]ValueType{I32}, n) }
	return []Function{
		{FuncInputRead, i32(3), i32(1)},
		{FuncOutputWrite, i32(2), i32(1)},
		{FuncOutputEmit, i32(3), i32(1)},
		{FuncErrorSet, i32(3), i32(1)},
		{FuncLog, i32(3), i32(1)},
		{FuncHostCall, i32(4), []ValueType{I64}},
		{FuncHostHas, i32(2), i32(1)},
		{FuncRespLen, i32(1), i32(1)},
		{FuncRespRead, i32(4), i32(1)},
		{FuncRespClose, i32(1), i32(1)},
	}
}

// WASIImports lists the functions of WASIModule that a guest may import: what stock Go and wasi-libc need
// to start. They see an empty world: no arguments, environment, files or network, a fake clock, seeded
// randomness. The result is the caller's own.
func WASIImports() []string {
	return []string{
		"args_get", "args_sizes_get", "clock_time_get", "environ_get", "environ_sizes_get", "fd_close",
		"fd_fdstat_get", "fd_fdstat_set_flags", "fd_prestat_dir_name", "fd_prestat_get", "fd_read",
		"fd_seek", "fd_write", "poll_oneoff", "proc_exit", "random_get", "sched_yield",
	}
}

// HookType is the type of every hook's export: the input's length in, a return code out.
func HookType(h Hook) Function {
	return Function{Name: h.Export(), Params: []ValueType{I32}, Results: []ValueType{I32}}
}
