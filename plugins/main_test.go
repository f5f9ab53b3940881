package plugins

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(processDir); dir != "" {
		if err := loadInProcess(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(scratch())
		os.Exit(code)
	}))
}

// scratch is a directory for what the tests of this process share: built guests and their compiled code.
var scratch = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "plugins-test-")
	if err != nil {
		panic(err)
	}
	return dir
})

// The guests of these tests, each built once.
var (
	behaveGuest = sync.OnceValues(func() ([]byte, error) { return buildGuest("./testdata/guests/behave") })
	boxedGuest  = sync.OnceValues(func() ([]byte, error) { return buildGuest("../recipes/boxed") })
)

// buildGuest compiles a guest with stock Go, as an author would.
func buildGuest(pkg string) ([]byte, error) {
	file := filepath.Join(scratch(), filepath.Base(pkg)+".wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", file, pkg)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %s: %w: %s", pkg, err, out)
	}
	return os.ReadFile(file)
}

const behaveManifest = `{"abi": {"major": 1, "minor": 0}, "name": "behave", "version": "1.0.0", "kind": "both",
	"hooks": ["refusal", "start"], "optional": ["config/1"], "limits": {"memory_bytes": 33554432},
	"tools": [{` + allHooks + `"name": "act", "description": "", "input_schema": {}, "effect": "pure"},
		{"name": "bare", "description": "", "input_schema": {}, "effect": "pure"}]}`

// allHooks are the fields of a tool that answers every hook of tools.
const allHooks = `"reconcile": true, "compensate": true, "preview": true, "check": true, `

// behave is the guest that does what its input says, packed.
func behave(tb testing.TB) []byte {
	tb.Helper()
	b, err := behaveGuest()
	require.NoError(tb, err)
	return pack(tb, b, behaveManifest)
}

func pack(tb testing.TB, module []byte, manifest string) []byte {
	tb.Helper()
	b, err := Pack(module, []byte(manifest), PackOptions{})
	require.NoError(tb, err)
	return b
}

// load loads a packed plugin, which the test's end closes. Compiled code is shared with other tests.
func load(tb testing.TB, packed []byte, opts Options) *Plugin {
	tb.Helper()
	if opts.HookTimeout == 0 {
		opts.HookTimeout = time.Minute // the machine may be busy, and the race detector on
	}
	if opts.CacheDir == "" {
		opts.CacheDir = filepath.Join(scratch(), "cache")
	}
	i, err := Inspect(packed)
	require.NoError(tb, err)
	p, err := Load(context.Background(), i, opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, p.Close()) })
	return p
}

// manifest is one of a recipe with those hooks, named small; more is put in front of its fields.
func manifest(hooks string, more ...string) string {
	var list []string
	for h := range strings.FieldsSeq(hooks) {
		list = append(list, fmt.Sprintf("%q", h))
	}
	return fmt.Sprintf(`{%s"abi": {"major": 1, "minor": 0}, "name": "small", "version": "1.0.0", "kind": "recipe", "hooks": [%s]}`,
		strings.Join(more, ""), strings.Join(list, ", "))
}

// toolManifest is one of a plugin named small with the tool act; more is put in front of the tool's fields.
func toolManifest(more string) string {
	return `{"abi": {"major": 1, "minor": 0}, "name": "small", "version": "1.0.0", "kind": "tools", "tools": [{` + more +
		`"name": "act", "description": "", "input_schema": {}, "effect": "pure"}]}`
}

// The numbers of the host functions that the hand-made modules of these tests import, in that order.
const (
	fnInputRead = iota
	fnOutputWrite
	fnErrorSet
	fnLog
	fnHostCall
)

// small is a hand-made module with the host functions and one page of memory that begins with data.
func small(data string) *pt.Module {
	m := pt.New(pt.Host(abi.FuncInputRead, abi.FuncOutputWrite, abi.FuncErrorSet, abi.FuncLog, abi.FuncHostCall)...)
	m.Data(0, []byte(data))
	return m
}

// full gives how often a long test repeats: less often in a short run, and under the race detector.
func full(often, less int) int {
	if raceEnabled {
		return less
	}
	return long(often, less)
}

// long is full for what is cheap enough under the race detector, too.
func long(often, less int) int {
	if testing.Short() {
		return less
	}
	return often
}

// say is code of a hook that decides with the first n bytes of memory.
func say(n int) []byte {
	return pt.Code(pt.Const(0), pt.Const(int64(n)), pt.Call(fnOutputWrite), pt.Drop(), pt.Const(1))
}

// words asks refusal for words, which it must decide.
func words(tb testing.TB, p *Plugin, input string) string {
	tb.Helper()
	answer, err := p.Hook(context.Background(), abi.HookRefusal, []byte(input))
	require.NoError(tb, err)
	require.True(tb, answer.Decided)
	return string(answer.Output)
}
