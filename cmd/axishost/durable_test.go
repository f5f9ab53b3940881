package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDemoDurable: what make demo-durable shows is so: killed between effect and reply, the task is resumed, finds out
// what it did, and nothing is done twice.
func TestDemoDurable(t *testing.T) {
	dir, binary := t.TempDir(), builtBinary(t)
	demo := filepath.Join(dir, "durable")
	goBuild(t, demo, "./testdata/durable")
	goBuild(t, filepath.Join(dir, "raw.wasm"), "./../../recipes/ledger", "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildmode=c-shared")
	pack(t, filepath.Join(dir, "ledger"), filepath.Join(dir, "raw.wasm"), "../../recipes/ledger/axis.json")
	cmd := exec.Command(demo, binary, filepath.Join(dir, "ledger.wasm"), filepath.Join(dir, "store"))
	cmd.Env = append(os.Environ(), "HOME="+dir, "AXISHOST_CACHE="+filepath.Join(dir, "cache"), "AXISHOST_CONFIG=", "AXISHOST_KEY_FILE=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, line := range []string{
		"== the ledger made entry e2, and kills the host before it answers",
		`unknown  append {"account":"cash","amount":-30,"text":"rent"} may have happened (lost): `,
		"happened: entry e2: -30 to cash", "done     succeeded, not verified, in ",
	} {
		assert.Equal(t, 1, strings.Count(string(out), line), "%s\n%s", line, out)
	}
}
