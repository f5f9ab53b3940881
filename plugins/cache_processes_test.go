package plugins

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

// processDir, where it is set, makes the test binary a process that loads a plugin with that cache directory.
const processDir = "PLUGINS_TEST_CACHE"

// loadInProcess loads the plugin in dir, says when it compiles, and prints what it answers.
func loadInProcess(dir string) error {
	packed, err := os.ReadFile(filepath.Join(dir, "plugin.wasm"))
	if err != nil {
		return err
	}
	i, err := Inspect(packed)
	if err != nil {
		return err
	}
	p, err := Load(context.Background(), i, Options{
		CacheDir: filepath.Join(dir, "cache"),
		Events:   Events{Compiling: func(string) { fmt.Println("compiling") }},
	})
	if err != nil {
		return err
	}
	answer, err := p.Hook(context.Background(), abi.HookRefusal, []byte("echo 1"))
	if err == nil {
		fmt.Printf("%s\n", answer.Output)
	}
	return err
}

// process starts such a process, and gives its lines.
func process(t *testing.T, dir string) (*exec.Cmd, *bufio.Scanner) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), processDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// TestCacheOfProcesses: processes share a cache that is empty at first and damaged afterwards, and some are killed
// as they compile. Each of the others gets the right answer, and in the end nothing is compiled.
func TestCacheOfProcesses(t *testing.T) {
	dir, packed := t.TempDir(), one(t, "1.0.0")
	if !raceEnabled { // else a Go guest takes ten seconds to compile
		packed = behave(t)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plugin.wasm"), packed, 0o600))
	for round := range full(3, 2) {
		var wg sync.WaitGroup
		for n := range 6 {
			cmd, lines := process(t, dir)
			wg.Go(func() { outlive(t, cmd, lines, n%3 == 0) })
		}
		wg.Wait()
		cmd, lines := process(t, dir)
		outlive(t, cmd, lines, false)
		cmd, lines = process(t, dir)
		require.True(t, lines.Scan())
		assert.JSONEq(t, `{"keywords": ["1"]}`, lines.Text(), "from the cache")
		require.NoError(t, cmd.Wait())
		damageAll(t, dir, round)
	}
}

// outlive waits for the answer of a process, or kills it while it compiles.
func outlive(t *testing.T, cmd *exec.Cmd, lines *bufio.Scanner, kill bool) {
	last := ""
	for lines.Scan() {
		if last = lines.Text(); last == "compiling" && kill {
			assert.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			return
		}
	}
	assert.NoError(t, cmd.Wait())
	assert.JSONEq(t, `{"keywords": ["1"]}`, last)
}

// damageAll changes a byte of each file in the cache, near its beginning, where wazero has counts and addresses.
func damageAll(t *testing.T, dir string, round int) {
	files, err := filepath.Glob(filepath.Join(dir, "cache", "*", "*", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		if at := 20 + 7*round; at < len(b) {
			b[at] ^= 0xff
		}
		require.NoError(t, os.WriteFile(file, b, 0o600))
	}
}
