//go:build race

package plugins

// raceEnabled tells that the race detector slows everything down.
const raceEnabled = true
