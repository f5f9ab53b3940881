package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkRunDemo times the real binary running `make demo` with a warm compilation cache: process start,
// two plugins loaded, four model calls over HTTP, a tool call, thirty-five events in a durable log.
// `make bench` builds what it needs.
func BenchmarkRunDemo(b *testing.B) {
	root := filepath.Join("..", "..", "bin")
	binary := filepath.Join(root, "axishost")
	if _, err := os.Stat(binary); err != nil {
		b.Skip("bin/axishost is not built: run make bench")
	}
	demo := func() {
		cmd := exec.Command(binary, "run", "--store", filepath.Join(b.TempDir(), "store"),
			"--model", "script:testdata/demo.yaml", "--recipe", filepath.Join(root, "plugins", "boxed.wasm"),
			"--tool", filepath.Join(root, "plugins", "calc.wasm"), "What is 17 * 23?")
		out, err := cmd.Output()
		if err != nil || strings.TrimSpace(string(out)) != "391" {
			b.Fatalf("demo: %v: %s", err, out)
		}
	}
	b.Setenv("AXISHOST_CACHE", b.TempDir())
	demo() // fills the cache
	for b.Loop() {
		demo()
	}
}
