// Package wasmrt runs guests: it is the only importer of wazero, and turns what wazero says into this
// project's own typed faults. A Module is one compiled plugin in a runtime of its own; only the compilation
// cache on disk is shared. An Instance is used by one goroutine at a time and never again after a fault.
//
// It knows nothing of manifests, hooks or grants: host functions are handed to it. Only packages plugins,
// hostfn and wasi import it.
package wasmrt
