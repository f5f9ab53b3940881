package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// built is the real binary, without the race detector: built once, for the tests that start it many times or
// as another user. TestMain removes it.
var built struct {
	sync.Once
	dir string
}

// builtBinary gives the path of the real binary, which every user can start.
func builtBinary(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		dir, err := os.MkdirTemp("", "axishost-test-")
		require.NoError(t, err)
		require.NoError(t, os.Chmod(dir, 0o755))
		goBuild(t, filepath.Join(dir, "axishost"), ".", "GOFLAGS=")
		built.dir = dir
	})
	require.NotEmpty(t, built.dir, "the binary could not be built")
	return filepath.Join(built.dir, "axishost")
}

// shell is a place where the real binary is started, with files and a home of its own.
type shell struct {
	t      *testing.T
	binary string
	dir    string
	env    []string
	// as, where it is set, changes how the next commands are started.
	as func(cmd *exec.Cmd)
}

func newShell(t *testing.T) *shell {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the binary; left out with -short")
	}
	s := &shell{t: t, binary: builtBinary(t), dir: t.TempDir()}
	s.env = []string{"HOME=" + s.dir, "AXISHOST_CACHE=" + filepath.Join(s.dir, "cache"), "PATH=" + os.Getenv("PATH")}
	require.NoError(t, os.Chmod(filepath.Dir(s.dir), 0o755)) // another user gets there
	s.write("one.yaml", "replies: [{content: done}]\n")
	return s
}

func (s *shell) write(name, text string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644))
}

func (s *shell) path(name string) string { return filepath.Join(s.dir, name) }

// said is what a command did.
type said struct {
	t        *testing.T
	line     string
	code     int
	out, err string
	took     time.Duration
}

// tooLong is when a command counts as hanging.
const tooLong = time.Minute

// command makes a command line of axishost; words are split at blanks.
func (s *shell) command(ctx context.Context, words string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.binary, strings.Fields(words)...)
	cmd.Dir, cmd.Env = s.dir, s.env
	if s.as != nil {
		s.as(cmd)
	}
	return cmd
}

// run runs a command to its end.
func (s *shell) run(words string) said {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), tooLong)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := s.command(ctx, words)
	cmd.Stdout, cmd.Stderr = &out, &errs
	begun := time.Now()
	err := cmd.Run()
	require.NoError(s.t, ctx.Err(), "%s hangs: %s", words, &errs)
	r := said{s.t, words, 0, out.String(), errs.String(), time.Since(begun)}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.code = exit.ExitCode()
	} else {
		require.NoError(s.t, err)
	}
	return r
}

// succeeds runs a command that must succeed, and gives its output.
func (s *shell) succeeds(words string) string {
	s.t.Helper()
	r := s.run(words)
	require.Zero(s.t, r.code, "%s: %s", words, r.err)
	return r.out
}

// refused checks that a command ended with a code and one line of error that matches.
func (r said) refused(code int, pattern string) {
	r.t.Helper()
	require.Equal(r.t, code, r.code, "%s: %s%s", r.line, r.out, r.err)
	line, err := errorLine(r.err)
	require.NoError(r.t, err, "%s: %s", r.line, r.err)
	require.Regexp(r.t, pattern, line, r.line)
}

// whole checks that a store holds tasks in this number, and no damage.
func (s *shell) whole(store string, tasks int) {
	s.t.Helper()
	list := s.succeeds("tasks list --json --store " + store)
	require.Equal(s.t, tasks, strings.Count(list, `"id":`), list)
	require.Contains(s.t, s.succeeds("doctor --store "+store), "damage   none")
}
