package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/axishost/axishost/plugins"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// TestScripts runs testdata/script: one situation a file. Scripts find packed plugins in $PLUGINS, an
// endpoint at $ENDPOINT, the demo's replies in $DEMO.
func TestScripts(t *testing.T) {
	built, cache := buildPlugins(t), t.TempDir()
	warm(t, built, cache)
	endpoint := newFakeEndpoint(t)
	demo, err := filepath.Abs("testdata/demo.yaml")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Values[heldKey{}] = &held{}
			env.Values[ledgerKey{}] = &scriptLedger{}
			home := filepath.Join(env.WorkDir, "home")
			env.Vars = append(env.Vars,
				"HOME="+home, "XDG_DATA_HOME="+filepath.Join(home, "data"), "XDG_CACHE_HOME="+filepath.Join(home, "cache"),
				"AXISHOST_STORE=", "AXISHOST_CONFIG=", "AXISHOST_CACHE="+cache,
				"OPENAI_API_KEY=", "OPENAI_BASE_URL=", "OPENAI_MODEL=",
				"PLUGINS="+built, "ENDPOINT="+endpoint.url, "DEMO=script:"+demo, "ROLLBACKS="+filepath.Join(filepath.Dir(demo), "rollbacks"))
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "says": says, "background": background, "exited": exited, "fill": fill, "nowhere": nowhere,
			"suspend": suspend, "continue": resumed,
			"requested": endpoint.requested, "ledger": ledger, "lookups": lookups, "effects": effects, "voids": voids,
		},
	})
}

// buildPlugins builds the recipes and the guests of the tests as a user would, and packs them. Beside
// NAME.wasm stand NAME.json and NAME.raw.wasm, which is not packed; command.wasm is no reactor; asking.wasm is
// boxed with a manifest that asks more of the conversation.
func buildPlugins(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, source := range map[string]string{
		"boxed": "../../recipes/boxed", "calc": "../../recipes/calc", "lookup": "../../recipes/lookup",
		"careful": "../../recipes/careful", "ledger": "../../recipes/ledger",
		"moody":   "./testdata/guests/moody",
		"witness": "./testdata/guests/witness",
		"unruly":  "./testdata/guests/unruly",
	} {
		goBuild(t, filepath.Join(dir, name+".raw.wasm"), "./"+source, "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildmode=c-shared")
		pack(t, filepath.Join(dir, name), filepath.Join(dir, name+".raw.wasm"), filepath.Join(source, "axis.json"))
	}
	pack(t, filepath.Join(dir, "asking"), filepath.Join(dir, "boxed.raw.wasm"), "testdata/guests/asking.json")
	goBuild(t, filepath.Join(dir, "command.wasm"), "./testdata/guests/command", "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	return dir
}

func goBuild(t *testing.T, output, source string, env ...string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", output, source)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "building %s: %s", source, out)
}

// pack packs a module, and leaves its manifest beside it.
func pack(t *testing.T, output, module, manifest string) {
	t.Helper()
	wasm, err := os.ReadFile(module)
	require.NoError(t, err)
	text, err := os.ReadFile(manifest)
	require.NoError(t, err)
	packed, err := plugins.Pack(wasm, text, plugins.PackOptions{})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(output+".json", text, 0o600))
	require.NoError(t, os.WriteFile(output+".wasm", packed, 0o600))
}

// warm compiles the plugins once, before all scripts do at the same time, and without the race detector, under
// which that takes ten times as long.
func warm(t *testing.T, built, cache string) {
	t.Helper()
	dir, binary := t.TempDir(), builtBinary(t)
	for _, recipe := range []string{"boxed", "asking", "careful", "unruly"} {
		cmd := exec.Command(binary, "run", "--model", "script:testdata/one.yaml", "--recipe", filepath.Join(built, recipe+".wasm"),
			"--tool", filepath.Join(built, "calc.wasm"), "--tool", filepath.Join(built, "moody.wasm"),
			"--tool", filepath.Join(built, "ledger.wasm"), "--set", "tools.ledger.url=http://localhost:1",
			"--tool", filepath.Join(built, "witness.wasm"), "--tool", filepath.Join(built, "lookup.wasm"), "--set", "tools.lookup.table={a: b}", "x")
		cmd.Env = []string{"HOME=" + dir, "AXISHOST_CACHE=" + cache}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// exits runs a command that must exit with a code: exits CODE COMMAND [ARG...].
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exited with %d, want %s", code, args[0])
	}
}

// notForPeople is what an error's text must not be made of: the innards of Go and of libraries.
var notForPeople = regexp.MustCompile(`0x[0-9a-f]{6}|[&{]\{|map\[|%!|goroutine|Go struct|json: (cannot|unsupported|invalid|unknown)|(^|[^.])\byaml: |error, status code|\bmain\.|invalid argument`)

// says checks the error on stderr: one line, a clear one, that matches: says PATTERN. The command to go on
// with may stand below it.
func says(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: says PATTERN")
	}
	line, err := errorLine(ts.ReadFile("stderr"))
	ts.Check(err)
	if !regexp.MustCompile(args[0]).MatchString(line) {
		ts.Fatalf("no match for %#q in %q", args[0], line)
	}
}

// errorLine gives the one line of error in what was written to stderr, and checks that it is a clear one.
func errorLine(stderr string) (string, error) {
	const prefix = "axishost: "
	var lines []string
	for line := range strings.Lines(stderr) {
		text, ours := strings.CutPrefix(strings.TrimSuffix(line, "\n"), prefix)
		if ours && !strings.HasPrefix(strings.TrimPrefix(text, "then "), "go on with: ") {
			lines = append(lines, text)
		}
	}
	switch {
	case len(lines) != 1:
		return "", fmt.Errorf("%d lines of error, want 1", len(lines))
	case notForPeople.MatchString(lines[0]):
		return "", fmt.Errorf("%q in the error is not for people", notForPeople.FindString(lines[0]))
	case len(lines[0]) > 400:
		return "", fmt.Errorf("the error is %d bytes long", len(lines[0]))
	}
	return lines[0], nil
}

// held is the command in the background of a script.
type held struct{ cmd *exec.Cmd }

type heldKey struct{}

// background remembers the one command that runs in the background, for exited.
func background(ts *testscript.TestScript, _ bool, _ []string) {
	commands := ts.BackgroundCmds()
	if len(commands) != 1 {
		ts.Fatalf("%d commands run in the background, want 1", len(commands))
	}
	ts.Value(heldKey{}).(*held).cmd = commands[0]
}

// exited checks the code of the remembered command, after wait: exited CODE.
func exited(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: exited CODE")
	}
	if code := ts.Value(heldKey{}).(*held).cmd.ProcessState.ExitCode(); strconv.Itoa(code) != args[0] {
		ts.Fatalf("exited with %d, want %s", code, args[0])
	}
}

// suspend stops the remembered command in its tracks; resumed lets it go on.
func suspend(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Defer(func() { signalHeld(ts, syscall.SIGCONT) }) // a script that fails must not wait for it
	signalHeld(ts, syscall.SIGSTOP)
}

func resumed(ts *testscript.TestScript, _ bool, _ []string) { signalHeld(ts, syscall.SIGCONT) }

func signalHeld(ts *testscript.TestScript, signal syscall.Signal) {
	_ = ts.Value(heldKey{}).(*held).cmd.Process.Signal(signal)
}

// fill makes a file of so many bytes: fill FILE BYTES.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill FILE BYTES")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte("x"), n), 0o600))
}

// nowhere checks that a text is in no file below a directory: nowhere TEXT DIR.
func nowhere(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: nowhere TEXT DIR")
	}
	files := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(args[0])) {
			err = fmt.Errorf("%q is in %s", args[0], path)
		}
		return err
	}))
	if files == 0 {
		ts.Fatalf("there is no file in %s", args[1])
	}
}
