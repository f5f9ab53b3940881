package plugins

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

var ledgerGuest = sync.OnceValues(func() ([]byte, error) { return buildGuest("./testdata/guests/ledger") })

const ledgerManifest = `{"abi": {"major": 1, "minor": 0}, "name": "ledger", "version": "1.0.0", "kind": "tools",
	"requires": ["http.fetch/1"], "caps": {"http": ["ledger.example"]},
	"tools": [{` + allHooks + `"name": "append", "description": "", "input_schema": {}, "effect": "write",
		"resources": ["ledger:main"], "risk": 5}]}`

// ledger is the other side: a web server in a map, and what goes wrong with the next answer.
type ledger struct {
	lines map[string]string
	shut  map[string]bool
	lose  *abi.HTTPError // of the next answer
	code  abi.Code       // of the next request
	asked []string
}

func newLedger() *ledger { return &ledger{lines: map[string]string{}, shut: map[string]bool{}} }

// operations gives http.fetch/1 as a host would.
func (l *ledger) operations() Operations {
	return Operations{abi.OpHTTPFetch: {
		Takes: func(request []byte) bool { _, err := abi.ParseHTTPRequest(request); return err == nil },
		Perform: func(_ context.Context, request []byte) ([]byte, abi.Code) {
			r, _ := abi.ParseHTTPRequest(request)
			l.asked = append(l.asked, r.Method+" "+r.Headers["idempotency-key"].Text)
			if code := l.code; code != 0 {
				l.code = 0
				return nil, code
			}
			response := abi.HTTPResponse{Error: l.lose}
			if l.lose == nil || l.lose.Sent {
				status, body := l.answer(r)
				if l.lose == nil {
					response.Status, response.Headers = status, map[string][]string{"etag": {"7"}}
					response.SetContent([]byte(body))
				}
			}
			l.lose = nil
			encoded, _ := json.Marshal(response)
			return encoded, 0
		},
	}}
}

func (l *ledger) answer(r *abi.HTTPRequest) (int, string) {
	id := strings.TrimPrefix(r.URL, "http://ledger.example/lines/")
	line, there := l.lines[id]
	switch {
	case r.Method == http.MethodDelete:
		delete(l.lines, id)
		l.shut[id] = true
		return http.StatusGone, ""
	case r.Method == http.MethodGet && there:
		return http.StatusOK, line
	case r.Method == http.MethodGet:
		return http.StatusNotFound, ""
	case l.shut[id]:
		return http.StatusConflict, ""
	}
	l.lines[id] = string(r.Content())
	return http.StatusCreated, l.lines[id]
}

// TestLedger lets a Go guest write to a server that answers, fails and loses its answers.
func TestLedger(t *testing.T) {
	module, err := ledgerGuest()
	require.NoError(t, err)
	p := load(t, pack(t, module, ledgerManifest), Options{})
	in := abi.ToolInput{Tool: "append", Arguments: json.RawMessage(`{"text": "a line é"}`), OperationID: "op-1", Attempt: 1}
	lost := &abi.HTTPError{Text: "the connection was lost", Sent: true}
	looks := func(l *ledger) abi.ReconcileOutput {
		out, err := p.Reconcile(t.Context(), abi.ReconcileInput{Tool: "append", Arguments: in.Arguments, OperationID: "op-1", Try: 1}, l.operations())
		require.NoError(t, err)
		return out
	}
	writes := func(l *ledger) abi.ToolOutput {
		out, err := p.CallTool(t.Context(), in, l.operations())
		require.NoError(t, err)
		return out
	}
	t.Run("written", func(t *testing.T) {
		l := newLedger()
		assert.Equal(t, abi.ToolOutput{Status: abi.ToolOK, Result: "a line é", Evidence: json.RawMessage(`"7"`)}, writes(l))
		assert.Equal(t, []string{"PUT op-1"}, l.asked)
	})
	t.Run("written, answer lost, found, undone", func(t *testing.T) {
		l := newLedger()
		l.lose = lost
		assert.Equal(t, abi.ToolOutput{Status: abi.ToolUnknown, Result: "http.fetch/1: the connection was lost"}, writes(l))
		l.lose = lost
		assert.Equal(t, abi.ReconcileOutput{Status: abi.ReconcileInconclusive, Reason: "http.fetch/1: the connection was lost"}, looks(l))
		assert.Equal(t, abi.ReconcileOutput{Status: abi.ReconcileFound, Result: "a line é"}, looks(l))
		out, err := p.Compensate(t.Context(), abi.CompensateInput{
			Tool: "append", Arguments: in.Arguments, OperationID: "op-1", CompensationID: "undo-1", Result: "a line é",
		}, l.operations())
		require.NoError(t, err)
		assert.Equal(t, abi.ToolOutput{Status: abi.ToolOK, Result: "a line é was struck out (410)"}, out)
		assert.Equal(t, []string{"PUT op-1", "GET ", "GET ", "DELETE undo-1"}, l.asked)
		assert.Empty(t, l.lines)
	})
	t.Run("not sent, absent, and not any more", func(t *testing.T) {
		l := newLedger()
		l.lose = &abi.HTTPError{Text: "connection refused"}
		assert.Equal(t, abi.ToolOutput{Status: abi.ToolFailed, Class: abi.ClassTransient, Result: "http.fetch/1: connection refused"}, writes(l))
		assert.Equal(t, abi.ReconcileAbsent, looks(l).Status)
		assert.Equal(t, abi.ToolFailed, writes(l).Status)
		assert.Empty(t, l.lines)
	})
	t.Run("codes", func(t *testing.T) {
		for code, want := range map[abi.Code]abi.ToolOutput{
			abi.CodeDenied:  {Status: abi.ToolFailed, Class: abi.ClassPermission, Result: "http.fetch/1: denied"},
			abi.CodeTimeout: {Status: abi.ToolUnknown, Result: "http.fetch/1: timeout"},
		} {
			l := newLedger()
			l.code = code
			assert.Equal(t, want, writes(l))
		}
		out, err := p.CallTool(t.Context(), in, nil)
		require.NoError(t, err)
		assert.Equal(t, abi.ClassPermission, out.Class, "nothing is granted")
	})
	t.Run("without operations", func(t *testing.T) {
		preview, err := p.Preview(t.Context(), abi.PreviewInput{Tool: "append", Arguments: json.RawMessage(`{"text": " a "}`)})
		require.NoError(t, err)
		assert.Equal(t, abi.PreviewOutput{
			Arguments: json.RawMessage(`{"text":"a"}`), Impact: "Adds a line.", Reversible: abi.ReversibleYes, Resources: []string{"ledger:main"},
		}, preview)
		_, err = p.Preview(t.Context(), abi.PreviewInput{Tool: "append", Arguments: json.RawMessage(`{"txt": ""}`)})
		assert.EqualError(t, err, `plugin "ledger": tool_preview failed (failed): unknown field "txt"`)
		checked, err := p.Check(t.Context(), abi.CheckInput{Tool: "append", Stage: abi.CheckBefore, Arguments: in.Arguments})
		require.NoError(t, err)
		assert.Equal(t, abi.CheckResult{Reason: "http.fetch/1: not_now"}, checked)
		checked, err = p.Check(t.Context(), abi.CheckInput{Tool: "append", Stage: abi.CheckAfter, Arguments: in.Arguments, Result: "a"})
		require.NoError(t, err)
		assert.Equal(t, abi.CheckResult{OK: true}, checked)
	})
}
