//go:build !race

package wasmbin

// raceEnabled tells that the race detector slows everything down.
const raceEnabled = false
