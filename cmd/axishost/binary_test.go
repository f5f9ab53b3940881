package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
const tooLong = 100 * time.Second

// command makes a command line of axishost; words are split at blanks.
func (s *shell) command(ctx context.Context, words string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.binary, strings.Fields(words)...)
	cmd.Dir, cmd.Env = s.dir, s.env
	if s.as != nil {
		s.as(cmd)
	}
	return cmd
}

// run runs a command to its end, which must come in time.
func (s *shell) run(words string) said {
	s.t.Helper()
	r := s.start(words)
	require.NotEqual(s.t, -1, r.code, "%s does not end: %s", words, r.err)
	return r
}

// start is run that may be called from any goroutine: the code of a command that hangs is -1.
func (s *shell) start(words string) said {
	ctx, cancel := context.WithTimeout(context.Background(), tooLong)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := s.command(ctx, words)
	cmd.Stdout, cmd.Stderr = &out, &errs
	begun := time.Now()
	err := cmd.Run()
	r := said{s.t, words, 0, out.String(), errs.String(), time.Since(begun)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		r.code = -1
	case errors.As(err, &exit):
		r.code = exit.ExitCode()
	case err != nil:
		r.code, r.err = -1, err.Error()
	}
	return r
}

// hanging starts a command that asks a model, named m, and waits until it does: the model says nothing until
// answer is called. An interrupt ends it sooner. ended gives what it did, when it has ended.
func (s *shell) hanging(words string) (ended func() said, interrupt func(), answer func()) {
	s.t.Helper()
	asked, answering := make(chan struct{}), make(chan struct{})
	var first, second sync.Once
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		first.Do(func() { close(asked) })
		select {
		case <-answering:
			stream(w, "at last")
		case <-r.Context().Done():
		}
	}))
	s.t.Cleanup(model.Close)
	var out, errs bytes.Buffer
	cmd := s.command(context.Background(), words)
	cmd.Env = append(slices.Clone(cmd.Env), "OPENAI_BASE_URL="+model.URL+"/v1")
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(s.t, cmd.Start())
	s.t.Cleanup(func() { _ = cmd.Process.Kill() })
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
	select {
	case <-asked:
	case <-done:
		require.Fail(s.t, "it asked no model", errs.String())
	case <-time.After(tooLong):
		require.Fail(s.t, "it asks no model")
	}
	ended = func() said {
		select {
		case <-done:
		case <-time.After(tooLong):
			require.Fail(s.t, "it does not end", words)
		}
		return said{s.t, words, cmd.ProcessState.ExitCode(), out.String(), errs.String(), 0}
	}
	return ended, func() { _ = cmd.Process.Signal(os.Interrupt) }, func() { second.Do(func() { close(answering) }) }
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

// longScript makes a script of a task that writes about n*size bytes that do not get smaller.
func longScript(t *testing.T, n, size int) string {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, size*3/4)
	var replies []any
	for range n {
		for i := range text {
			text[i] = byte(random.Uint32())
		}
		call := map[string]any{"name": "none", "arguments": map[string]any{"text": base64.StdEncoding.EncodeToString(text)}}
		replies = append(replies, map[string]any{"tool_calls": []any{call}})
	}
	replies = append(replies, map[string]any{"content": "finished"})
	script, err := json.Marshal(map[string]any{"replies": replies})
	require.NoError(t, err)
	return string(script)
}

// everyCommand are commands that open a store, and would write to it or not.
var everyCommand = []string{"tasks list", "tasks show last", "resume last --model script:one.yaml", "run --model script:one.yaml x", "stats", "doctor"}

// refuses checks that every command is refused on a store, with a line that matches.
func (s *shell) refuses(store, pattern string) {
	s.t.Helper()
	for _, words := range everyCommand {
		s.run(words+" --store "+store).refused(exitStore, pattern)
	}
}
