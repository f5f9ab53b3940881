// Package wasmbin reads and validates core WebAssembly modules, so that a plugin is judged by its bytes alone:
// structure, types, indexes, constant expressions, segments, and each instruction of each function, by the
// algorithm of the specification's appendix; and the structural caps. It also makes the few edits that packing
// and loading need.
//
// It accepts what wazero 1.12 accepts with CoreFeaturesV2, less the caps and what wazero takes against the
// specification; wazero_test.go lists that, and tests compare the verdicts in both directions. What wazero
// refuses though the specification allows it is refused too: imports of a module without a name, an
// unreadable name section, opcodes behind 0xfd that are longer than needed.
//
// It never runs anything and trusts nothing: a bad module is an *Error with section and offset, never a
// panic; memory stays within a small multiple of the input, and time is linear in it. Only package plugins
// imports it.
package wasmbin
