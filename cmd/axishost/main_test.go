package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary axishost itself where a script runs axishost, and mortal where one runs that.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"axishost": main, "mortal": func() { os.Exit(run(mortal)) }})
}
