// Package wasi is the empty world that a guest's language runtime finds: the part of WASI preview 1 that
// abi.WASIImports lists. No arguments, environment, files or network; a clock that steps by itself; seeded
// randomness; what is written to standard output or error is kept, so that a panic's text reaches the user.
//
// It is written here rather than taken from wazero because a guest must not find in it what an earlier call
// left: wazero's world has a table of open files that a guest can close. This one's only state is the clock
// and the random sequence, and Reset puts both back. Only package plugins imports it.
package wasi
