package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// ask asks the tool act through the method for a hook, and gives what it answers as JSON.
func ask(ctx context.Context, p *Plugin, hook abi.Hook, do string, ops Operations) (string, error) {
	in := act(do)
	answers := map[abi.Hook]func() (any, error){
		abi.HookToolCall: func() (any, error) { return p.CallTool(ctx, in, ops) },
		abi.HookToolReconcile: func() (any, error) {
			return p.Reconcile(ctx, abi.ReconcileInput{Tool: in.Tool, Arguments: in.Arguments, OperationID: "op", Try: 1}, ops)
		},
		abi.HookToolCompensate: func() (any, error) {
			return p.Compensate(ctx, abi.CompensateInput{Tool: in.Tool, Arguments: in.Arguments, OperationID: "op", CompensationID: "undo"}, ops)
		},
		abi.HookToolPreview: func() (any, error) {
			return p.Preview(ctx, abi.PreviewInput{Tool: in.Tool, Arguments: in.Arguments})
		},
		abi.HookToolCheck: func() (any, error) {
			return p.Check(ctx, abi.CheckInput{Tool: in.Tool, Stage: abi.CheckBefore, Arguments: in.Arguments})
		},
	}
	out, err := answers[hook]()
	encoded, _ := json.Marshal(out)
	return string(encoded), err
}

// TestToolHooks asks a Go guest through each method; nothing is kept from one call to the next.
func TestToolHooks(t *testing.T) {
	p := load(t, behave(t), Options{Config: json.RawMessage(`{"key": "value"}`)})
	for hook, want := range map[abi.Hook]string{
		abi.HookToolCall:       `{"status": "ok", "result": "1"}`,
		abi.HookToolReconcile:  `{"status": "found", "result": "1"}`,
		abi.HookToolCompensate: `{"status": "ok", "result": "1"}`,
		abi.HookToolPreview:    `{"impact": "1", "reversible": "no"}`,
		abi.HookToolCheck:      `{"ok": false, "reason": "1"}`,
	} {
		for range 3 {
			got, err := ask(t.Context(), p, hook, "count", nil)
			require.NoError(t, err)
			assert.JSONEq(t, want, got, string(hook))
		}
		got, err := ask(t.Context(), p, hook, "config", nil)
		require.NoError(t, err)
		assert.JSONEq(t, strings.Replace(want, `"1"`, `"value"`, 1), got, string(hook))
	}
}

// toolHooks are the hooks of tools, of which the first three run in an instance of their own.
var toolHooks = []abi.Hook{abi.HookToolCall, abi.HookToolReconcile, abi.HookToolCompensate, abi.HookToolPreview, abi.HookToolCheck}

// answering is a plugin whose hooks of tools all run code, with data in memory.
func answering(data, manifest string, code ...[]byte) []byte {
	m := small(data)
	for _, hook := range toolHooks {
		m.Hook(string(hook), code...)
	}
	m.Manifest(manifest)
	return m.Bytes()
}

// TestBadOutputOfToolHooks: what is no answer of the hook is bad output, and names the tool.
func TestBadOutputOfToolHooks(t *testing.T) {
	status := func(of string) string { return `status "done" must be ` + of }
	for output, wants := range map[string][]string{
		"":           {"a decision without output", "a decision without output", "a decision without output", "a decision without output", "a decision without output"},
		"done":       {"not a JSON object", "not a JSON object", "not a JSON object", "not a JSON object", "not a JSON object"},
		"{\"\xff\"}": {"text is not UTF-8", "text is not UTF-8", "text is not UTF-8", "text is not UTF-8", "text is not UTF-8"},
		`{"status": "done", "reversible": "maybe"}`: {
			status("ok, failed or unknown"), status("found, absent or inconclusive"), status("ok, failed or unknown"),
			`reversible "maybe" must be yes, no or unknown`, "ok is missing",
		},
		`{"status": 1, "impact": 1, "ok": 1}`: {"", "", "", "", ""}, // not the JSON it should be
	} {
		p := load(t, answering(output, toolManifest(allHooks), say(len(output))), Options{})
		for n, hook := range toolHooks {
			for range 2 {
				_, err := ask(t.Context(), p, hook, "", nil)
				var fault *CallError
				require.ErrorAs(t, err, &fault)
				assert.Equal(t, FaultBadOutput, fault.Kind)
				assert.Equal(t, hook, fault.Hook)
				assert.Equal(t, "act", fault.Tool)
				if wants[n] != "" {
					assert.EqualError(t, err, fmt.Sprintf(`plugin "small": %s gave bad output: %s`, hook, wants[n]))
				}
			}
		}
	}
	p := load(t, answering("", toolManifest(allHooks), pt.Const(0)), Options{})
	for _, hook := range toolHooks {
		_, err := ask(t.Context(), p, hook, "", nil)
		assert.EqualError(t, err, fmt.Sprintf(`plugin "small": %s gave bad output: a tool call must decide`, hook))
	}
}

// TestTimesOfToolHooks: what may use operations has the time of its tool, the others that of a hook.
func TestTimesOfToolHooks(t *testing.T) {
	p := load(t, answering("", toolManifest(allHooks+`"timeout_ms": 40, `), pt.Forever(), pt.Const(0)), Options{})
	p.opts.HookTimeout = 30 * time.Millisecond
	for _, hook := range toolHooks[3:] {
		_, err := ask(t.Context(), p, hook, "", nil)
		assert.EqualError(t, err, fmt.Sprintf(`plugin "small": %s did not finish in 30ms and was stopped (limits.hook_timeout_ms)`, hook))
	}
	p.opts.HookTimeout = time.Minute
	for _, hook := range toolHooks[:3] {
		_, err := ask(t.Context(), p, hook, "", nil)
		assert.ErrorContains(t, err, "did not finish in 40ms and was stopped (the tool's timeout_ms in the manifest)")
	}
}

// fetching is a plugin whose hooks of tools ask for http.fetch/1 with the request "x", and fail with the code
// that this gives; handle 1 is the answer "decided". Each hook writes an answer that fits them all.
func fetching(manifest string) []byte {
	const name, answer = "http.fetch/1", `{"status": "ok", "result": "", "impact": "", "reversible": "no", "ok": true}`
	return answering(name+"x"+answer, manifest,
		pt.Const(int64(len(name)+1)), pt.Const(int64(len(answer))), pt.Call(fnOutputWrite), pt.Drop(),
		pt.Const(0), pt.Const(int64(len(name))), pt.Const(int64(len(name))), pt.Const(1), pt.Call(fnHostCall), []byte{0xa7})
}

// asking is toolManifest with what it asks for; the hooks of tools all run.
func asking(operations string) string {
	return strings.Replace(toolManifest(allHooks), `"kind"`, operations+` "kind"`, 1)
}

// TestOperations: what a call may use is what the manifest names and the caller gives.
func TestOperations(t *testing.T) {
	answers := func(code abi.Code) Operations {
		return Operations{abi.OpHTTPFetch: {
			Takes:   func(request []byte) bool { return string(request) == "x" },
			Perform: func(context.Context, []byte) ([]byte, abi.Code) { return []byte("response"), code },
		}}
	}
	refuses := answers(0)
	fetch := refuses[abi.OpHTTPFetch]
	fetch.Takes = func([]byte) bool { return false }
	refuses[abi.OpHTTPFetch] = fetch
	const optional, required = `"optional": ["http.fetch/1"],`, `"optional": ["config/1", "http.fetch/1"],`
	for name, tt := range map[string]struct {
		manifest string
		ops      Operations
		want     string
	}{
		"given":     {optional, answers(0), ""},
		"among all": {required, answers(0), ""},
		"not given": {optional, nil, "failed (denied): it gave no reason (error_set was not called)"},
		"not named": {"", answers(0), "failed (denied): it gave no reason (error_set was not called)"},
		"fails":     {optional, answers(abi.CodeIO), "failed (io): it gave no reason (error_set was not called)"},
		"invalid":   {optional, refuses, "failed (invalid): it gave no reason (error_set was not called)"},
	} {
		t.Run(name, func(t *testing.T) {
			p := load(t, fetching(asking(tt.manifest)), Options{})
			before := maps.Clone(p.granted)
			for _, hook := range toolHooks[:2] {
				_, err := ask(t.Context(), p, hook, "", tt.ops)
				switch {
				case hook == abi.HookToolReconcile && tt.want == "":
					assert.EqualError(t, err, `plugin "small": tool_reconcile gave bad output: status "ok" must be found, absent or inconclusive`)
				case tt.want == "":
					assert.NoError(t, err)
				default:
					assert.EqualError(t, err, fmt.Sprintf(`plugin "small": %s %s`, hook, tt.want))
				}
			}
			assert.Len(t, p.granted, len(before), "a grant is one call's")
			code := abi.CodeDenied
			if tt.manifest != "" {
				code = abi.CodeNotNow
			}
			for _, hook := range toolHooks[3:] {
				_, err := ask(t.Context(), p, hook, "", tt.ops)
				assert.EqualError(t, err, fmt.Sprintf(`plugin "small": %s failed (%s): it gave no reason (error_set was not called)`, hook, code))
			}
		})
	}
}

// TestOperationOfAnEndedCall: an operation hears that its call has ended, and the caller's end is no fault.
func TestOperationOfAnEndedCall(t *testing.T) {
	p := load(t, fetching(asking(`"optional": ["http.fetch/1"],`)), Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	waits := Operations{abi.OpHTTPFetch: {
		Takes: func([]byte) bool { return true },
		Perform: func(within context.Context, _ []byte) ([]byte, abi.Code) {
			cancel(assert.AnError)
			<-within.Done()
			return nil, abi.CodeCanceled
		},
	}}
	_, err := ask(ctx, p, abi.HookToolCall, "", waits)
	var fault *CallError
	if errors.As(err, &fault) { // the guest may hear the code before it is stopped
		assert.Equal(t, abi.CodeCanceled, fault.Code)
		return
	}
	assert.ErrorIs(t, err, assert.AnError)
}
