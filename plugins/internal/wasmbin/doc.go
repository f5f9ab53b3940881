// Package wasmbin reads core WebAssembly modules, far enough to judge a plugin by its bytes: section
// headers, types, imports, exports, memories, tables, globals, custom sections, and the bodies of functions
// for the structural caps and for what they could do to state outside linear memory. It also makes the few
// edits that packing and loading need.
//
// It never runs anything and trusts nothing: a malformed module is an *Error with section and offset, never
// a panic, and memory stays within a small multiple of the input. It is no validator: types inside function
// bodies are wazero's to check. Only package plugins imports it.
package wasmbin
