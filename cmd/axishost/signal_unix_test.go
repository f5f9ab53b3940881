//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSecondInterruptExitsAtOnce holds axishost up where no context reaches, in the read of a pipe into which
// nobody writes: the first Ctrl-C is told, the second one ends it.
func TestSecondInterruptExitsAtOnce(t *testing.T) {
	home := t.TempDir()
	pipe := filepath.Join(home, "config.yaml")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	cmd := exec.Command("axishost", "run", "--config", pipe, "x")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })

	opened := make(chan *os.File)
	go func() { // returns when axishost has opened it to read
		f, _ := os.OpenFile(pipe, os.O_WRONLY, 0)
		opened <- f
	}()
	lines := bufio.NewReader(stderr)
	first := make(chan string)
	go func() {
		line, _ := lines.ReadString('\n')
		first <- line
	}()
	select {
	case f := <-opened:
		defer f.Close()
	case line := <-first:
		require.Fail(t, "axishost did not wait for its configuration", line)
	}

	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Equal(t, "axishost: stopping; once more exits at once\n", <-first)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Empty(t, string(rest), "it must not go the orderly way")
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, exitInterrupted, exit.ExitCode())
}

// TestInterruptEndsTheWaitForATask waits for a task from a pipe, which the first Ctrl-C ends.
func TestInterruptEndsTheWaitForATask(t *testing.T) {
	cmd := exec.Command("axishost", "run", "-")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })

	// More than a pipe holds: once it is written, axishost reads.
	_, err = stdin.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	said, err := io.ReadAll(stderr)
	require.NoError(t, err)
	require.Equal(t, "axishost: stopping; once more exits at once\naxishost: interrupted\n", string(said))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, exitInterrupted, exit.ExitCode())
}
