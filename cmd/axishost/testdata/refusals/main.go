// Refusals writes a file for each way in which a plugin is refused into a directory: make demo-refusals.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/axishost/axishost/plugins/plugintest"
)

func main() {
	dir := os.Args[1]
	if err := os.MkdirAll(dir, 0o755); err != nil {
		log.Fatal(err)
	}
	for _, r := range plugintest.AllRefused() {
		if err := os.WriteFile(filepath.Join(dir, r.Name+".wasm"), r.File, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
