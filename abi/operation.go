package abi

// Operation names one thing that host_call can do, as name/major. Adding one never changes the import list.
type Operation string

// The operations of ABI 1.
const (
	OpConfig        Operation = "config/1"
	OpClockNow      Operation = "clock.now/1"
	OpRandom        Operation = "random/1"
	OpHTTPFetch     Operation = "http.fetch/1"
	OpKVGet         Operation = "kv.get/1"
	OpKVPut         Operation = "kv.put/1"
	OpKVList        Operation = "kv.list/1"
	OpFSRead        Operation = "fs.read/1"
	OpFSWrite       Operation = "fs.write/1"
	OpFSList        Operation = "fs.list/1"
	OpArtifactPut   Operation = "artifact.put/1"
	OpArtifactGet   Operation = "artifact.get/1"
	OpModelComplete Operation = "model.complete/1"
)

// OperationInfo describes one operation of the specification.
type OperationInfo struct {
	Name Operation
	// Served tells that this host can perform it. A plugin that requires one that is specified but not
	// served is refused by name.
	Served bool
}

// Operations lists every operation of the specification, in its order. The result is the caller's own.
func Operations() []OperationInfo {
	return []OperationInfo{
		{OpConfig, true}, {OpClockNow, false}, {OpRandom, false}, {OpHTTPFetch, true},
		{OpKVGet, false}, {OpKVPut, false}, {OpKVList, false},
		{OpFSRead, false}, {OpFSWrite, false}, {OpFSList, false},
		{OpArtifactPut, false}, {OpArtifactGet, false}, {OpModelComplete, false},
	}
}

// LookupOperation finds an operation of the specification by name.
func LookupOperation(name Operation) (OperationInfo, bool) {
	for _, op := range Operations() {
		if op.Name == name {
			return op, true
		}
	}
	return OperationInfo{}, false
}
