//go:build race

package main

// raced tells that the race detector is on.
const raced = true
