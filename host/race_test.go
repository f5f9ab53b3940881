//go:build race

package host

// raced tells that the race detector is on: guests then take ten times as long.
const raced = true
