package abi

// Version of the contract, as SPEC.md describes it.
const (
	// Major is the ABI major version. Majors live side by side, each with its own import module.
	Major = 1
	// Minor is the ABI minor version. A minor adds operations, optional fields and optional exports,
	// never imports and never types.
	Minor = 0
	// Release is how the version is written for people. It stays a release candidate until guest SDKs in
	// four languages have used it.
	Release = "1.0-rc"
)

// Names that a module of ABI major 1 carries. They are read from the module's bytes, before any guest
// code runs.
const (
	// ManifestSection is the custom section that holds the manifest, exactly once.
	ManifestSection = "axis.manifest"
	// MarkerExport is a function () -> () that is never called. It tells a plugin that was not packed
	// from a module that is no plugin at all.
	MarkerExport = "axis_abi_v1"
	// HookPrefix precedes a hook's name in its export: axis_v1_direct_final.
	HookPrefix = "axis_v1_"
	// MemoryExport is the module's own, only memory.
	MemoryExport = "memory"
	// InitExport is the optional initialiser () -> () of a reactor module.
	InitExport = "_initialize"
	// StartExport is refused: it belongs to a command module, which exits as soon as it is started.
	StartExport = "_start"
	// ImportModule is the module that the host functions of this major are imported from.
	ImportModule = "axis_v1"
	// WASIModule is the only other module that a guest may import from, reduced to WASIImports.
	WASIModule = "wasi_snapshot_preview1"
)
