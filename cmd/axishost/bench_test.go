package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/oklog/ulid/v2"
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

// BenchmarkTasksList times the real binary listing 100,000 tasks: process start, the store opened and closed, and
// a table of 17 MB written to a file. The target is 200 ms.
func BenchmarkTasksList(b *testing.B) {
	binary := filepath.Join("..", "..", "bin", "axishost")
	if _, err := os.Stat(binary); err != nil {
		b.Skip("bin/axishost is not built: run make bench")
	}
	dir := filepath.Join(b.TempDir(), "store")
	const tasks = 100_000
	copyTasks(b, binary, dir, tasks)
	out, err := os.Create(filepath.Join(b.TempDir(), "out"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := out.Seek(0, 0); err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command(binary, "tasks", "list", "--store", dir)
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
	text, err := os.ReadFile(out.Name())
	if err != nil || strings.Count(string(text), "\n") != tasks+1 {
		b.Fatalf("%d lines, %v", strings.Count(string(text), "\n"), err)
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/list")
}

// copyTasks makes a store of many tasks: one that was really run, under as many ids.
func copyTasks(b *testing.B, binary, dir string, tasks int) {
	b.Helper()
	out, err := exec.Command(binary, "run", "--store", dir, "--model", "script:testdata/one.yaml", "a task with a text of usual length").CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	log, err := pebblestore.Open(dir, pebblestore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	heads, err := log.List(b.Context(), store.Query{Before: "~"})
	if err != nil || len(heads) != 1 {
		b.Fatal(heads, err)
	}
	records, err := log.Read(b.Context(), heads[0].Task, 0, 0)
	if err != nil {
		b.Fatal(err)
	}
	var data [][]byte
	for _, r := range records {
		data = append(data, r.Data)
	}
	for done := 1; done < tasks; {
		var c store.Commit
		for ; len(c.Appends) < 1000 && done < tasks; done++ {
			c.Appends = append(c.Appends, store.Append{
				Task: strings.ToLower(ulid.Make().String()), Records: data, Index: heads[0].Index, Label: heads[0].Label,
			})
		}
		if err := log.Commit(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
}
