package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary axishost itself where a script runs axishost, and mortal where one runs that.
func TestMain(m *testing.M) {
	testscript.Main(tidied{m}, map[string]func(){"axishost": main, "mortal": func() { os.Exit(run(mortal)) }})
}

// tidied runs the tests, and removes what they share.
type tidied struct{ *testing.M }

func (m tidied) Run() int {
	code := m.M.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	return code
}
