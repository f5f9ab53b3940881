//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/require"
)

// mortalVariable says how many commits a mortal lives.
const mortalVariable = "MORTAL_COMMITS"

// mortal makes axishost kill itself, as kill -9 does, once its n-th commit is durable.
func mortal(log store.Log) store.Log {
	left, _ := strconv.Atoi(os.Getenv(mortalVariable))
	return &mortalLog{Log: log, left: left}
}

type mortalLog struct {
	store.Log
	left int
}

func (l *mortalLog) Commit(ctx context.Context, c store.Commit) error {
	err := l.Log.Commit(ctx, c)
	if l.left--; l.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it arrives
	}
	return err
}

// TestKillBetweenAnyTwoEvents kills a run after each of its commits in turn (the events of one commit are there
// together or not at all), and resumes it. It comes to the same end, and no tool call that was completed is made
// again: the tool tells of each execution itself.
func TestKillBetweenAnyTwoEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("builds plugins; left out with -short")
	}
	dir := t.TempDir()
	for name, source := range map[string]string{"boxed": "../../recipes/boxed", "witness": "./testdata/guests/witness"} {
		raw := filepath.Join(dir, name+".raw.wasm")
		goBuild(t, raw, "./"+source, "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildmode=c-shared")
		pack(t, filepath.Join(dir, name), raw, filepath.Join(source, "axis.json"))
	}
	run := func(n int, args ...string) (stdout, stderr string, err error) {
		name := builtBinary(t)
		if n > 0 {
			name = "mortal"
		}
		var out, said strings.Builder
		cmd := exec.Command(name, args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "AXISHOST_STORE=" + filepath.Join(dir, "store"),
			"AXISHOST_CACHE=" + filepath.Join(dir, "cache"), mortalVariable + "=" + strconv.Itoa(n)}
		cmd.Stdout, cmd.Stderr = &out, &said
		err = cmd.Run()
		return out.String(), said.String(), err
	}
	begin := []string{"run", "--recipe", filepath.Join(dir, "boxed.wasm"), "--tool", filepath.Join(dir, "witness.wasm"),
		"--model", "script:testdata/kill.yaml", "x"}
	_, said, err := run(0, begin...) // compiles, without the race detector
	require.NoError(t, err, said)
	for n := 1; ; n++ {
		out, said, err := run(n, begin...)
		if err == nil { // it ended within n commits: every place was tried
			require.Greater(t, n, 10)
			require.Equal(t, "42\n", out)
			t.Logf("killed after each of %d commits, and resumed", n-1)
			return
		}
		require.Equal(t, syscall.SIGKILL, err.(*exec.ExitError).Sys().(syscall.WaitStatus).Signal(), "%s", said)
		before := events(t, run)
		out, again, err := run(0, "resume", "last")
		require.NoError(t, err, "after %d commits: %s", n, again)
		require.Equal(t, "42\n", out)
		after := events(t, run)
		require.Equal(t, before, after[:len(before)], "events have changed")
		require.Equal(t, 3, strings.Count(strings.Join(after, "\n"), `"type":"ToolSucceeded"`))
		for _, op := range completed(before) {
			require.NotContains(t, again, "executed "+op, "a completed call was made again after %d commits", n)
		}
	}
}

// events gives the events of the last task.
func events(t *testing.T, run func(int, ...string) (string, string, error)) []string {
	out, said, err := run(0, "tasks", "events", "last")
	require.NoError(t, err, said)
	return strings.Split(strings.TrimSpace(out), "\n")
}

// completed gives the operations that events say have succeeded.
func completed(events []string) []string {
	operations := map[string]string{}
	var done []string
	for _, e := range events {
		step := between(e, `"step":`, ",")
		if strings.Contains(e, `"type":"ToolRequested"`) {
			operations[step] = between(e, `"operation_id":"`, `"`)
		} else if strings.Contains(e, `"type":"ToolSucceeded"`) {
			done = append(done, operations[step])
		}
	}
	return done
}

func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return found
}
