// Package hostfn is the host's side of the imports of abi.ImportModule: one file per capability. Each
// function works on the Call in its context, checks lengths before it copies, computes pointers once, and
// keeps no view of guest memory. A guest's own mistake is an error code; only a range outside its memory
// traps.
//
// It knows nothing of manifests or of the host's state. Only package plugins imports it.
package hostfn
