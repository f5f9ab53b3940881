package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary axishost itself where a script runs axishost.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"axishost": main})
}
