package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/axishost/axishost/host/config"
	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(cacheDir())
	if dir := guests.dir; dir != "" {
		_ = os.RemoveAll(dir)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// guests are the packed recipes, built once for all tests.
var guests struct {
	once sync.Once
	dir  string
	err  error
}

// guest gives a packed recipe of this repository.
func guest(t testing.TB, name string) *plugins.Inspection {
	t.Helper()
	if testing.Short() {
		t.Skip("builds WebAssembly guests; left out with -short")
	}
	guests.once.Do(func() {
		guests.dir, guests.err = buildGuests("../recipes/boxed", "../recipes/calc", "../recipes/careful", "../recipes/lookup", "../recipes/ledger",
			"testdata/guests/strict", "../cmd/axishost/testdata/guests/witness")
	})
	require.NoError(t, guests.err)
	b, err := plugins.ReadFile(filepath.Join(guests.dir, name+".wasm"))
	require.NoError(t, err)
	i, err := plugins.Inspect(b)
	require.NoError(t, err)
	return i
}

func buildGuests(sources ...string) (string, error) {
	dir, err := os.MkdirTemp("", "axishost-guests-*")
	if err != nil {
		return "", err
	}
	for _, source := range sources {
		name := filepath.Base(source)
		out := filepath.Join(dir, name+".wasm")
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, "./"+source)
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("building %s: %w: %s", name, err, text)
		}
		module, err := os.ReadFile(out)
		if err != nil {
			return dir, err
		}
		manifest, err := os.ReadFile(filepath.Join(source, "axis.json"))
		if err != nil {
			return dir, err
		}
		packed, err := plugins.Pack(module, manifest, plugins.PackOptions{})
		if err != nil {
			return dir, err
		}
		if err := os.WriteFile(out, packed, 0o644); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// fakeModel answers by ordinal, as a scripted endpoint does, and remembers what it was asked.
type fakeModel struct {
	mu      sync.Mutex
	replies []any // model.Reply or error
	asked   []model.Request
	block   chan struct{} // closed lets calls through; nil does not hold them
	blocked chan struct{} // gets a value when a call is held
}

func (f *fakeModel) Complete(ctx context.Context, req model.Request, _ func(model.Progress)) (*model.Reply, error) {
	f.mu.Lock()
	f.asked = append(f.asked, req)
	f.mu.Unlock()
	if f.block != nil {
		select {
		case f.blocked <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		select {
		case <-f.block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if req.Ordinal > len(f.replies) {
		return nil, fmt.Errorf("asked for reply %d of %d", req.Ordinal, len(f.replies))
	}
	switch r := f.replies[req.Ordinal-1].(type) {
	case model.Reply:
		return &r, nil
	default:
		return nil, r.(error)
	}
}

func says(text string) model.Reply {
	return model.Reply{Message: model.Message{Role: "assistant", Content: text}, FinishReason: "stop"}
}

func callsTool(name, arguments string) model.Reply {
	return model.Reply{
		Message:      model.Message{Role: "assistant", ToolCalls: []model.ToolCall{{ID: "c1", Name: name, Arguments: arguments}}},
		FinishReason: "tool_calls",
	}
}

// demo is the conversation of `make demo`.
func demo() []any {
	return []any{
		says("I'm sorry, but I can't help with that."),
		says("<tool_call>{\"name\": \"calc\"</tool_call>"),
		callsTool("calc", `{"expression":"17 * 23"}`),
		says(`17 * 23 is \boxed{391}.`),
	}
}

// submission gives a task with the demo's plugins and configuration.
func submission(t testing.TB) Submission {
	recipe, calc := guest(t, "boxed"), guest(t, "calc")
	manifest, err := config.FromManifest(recipe.Manifest)
	require.NoError(t, err)
	merged, err := config.Merge(manifest)
	require.NoError(t, err)
	return Submission{Goal: "What is 17 * 23?", ModelName: "fake", Recipe: recipe, Tools: []*plugins.Inspection{calc}, Config: merged.Task}
}

// bare gives a task without plugins, whose retries do not wait long.
func bare() Submission {
	c := core.DefaultConfig()
	c.Limits.RetryBase = 1
	return Submission{Goal: "count", ModelName: "fake", Config: c}
}

// cache keeps compiled guests for all tests of the process.
var cacheDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "axishost-cache-*")
	if err != nil {
		panic(err)
	}
	return dir
})

func open(t testing.TB, log store.Log, m Model, events Events) *Host {
	h, err := Open(Options{Log: log, Model: m, CacheDir: cacheDir(), Version: "test", Events: events})
	require.NoError(t, err)
	return h
}

func newLog(t testing.TB) store.Log {
	log := memstore.New()
	t.Cleanup(func() { _ = log.Close() })
	return log
}

// history reads a task's events.
func history(t testing.TB, h *Host, id string) []*Event {
	var out []*Event
	require.NoError(t, h.Read(t.Context(), id, 0, func(e *Event) error {
		out = append(out, e)
		return nil
	}))
	return out
}

func count(events []*Event, want event.Type) int {
	n := 0
	for _, e := range events {
		if e.Payload.Type() == want {
			n++
		}
	}
	return n
}

func toJSON(t testing.TB, v any) string {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}
