package abi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

var update = flag.Bool("update", false, "write the golden encodings anew")

// goldens are the encodings that must not change: a released file is never edited, only added to.
func goldens() map[string]any {
	return map[string]any{
		"keywords":             abi.Keywords{Keywords: []string{"I'm sorry, but I can't", "无法回答"}},
		"keywords-none":        abi.Keywords{Keywords: []string{}},
		"format-error":         abi.FormatError{Keywords: []string{"<tool_call>"}, Strategy: "reprompt", Reprompt: "again"},
		"format-error-default": abi.FormatError{Keywords: []string{"<tool_call>"}},
		"prompt-final":         abi.PromptFinal{Prompt: true},
		"start-input":          abi.StartInput{Task: "What is 17 * 23?", Config: json.RawMessage(`{"style":"brief"}`)},
		"start-output":         abi.StartOutput{System: "Answer in \\boxed{}.", User: "What is 17 * 23?"},
		"start-output-none":    abi.StartOutput{},
		"final-input": abi.FinalInput{Messages: []abi.Message{
			{Role: "system", Content: "Answer in \\boxed{}."},
			{Role: "user", Content: "What is 17 * 23?"},
			{Role: "assistant", ToolCalls: []abi.ToolCall{{ID: "c1", Name: "calc", Arguments: `{"expression": `}}},
			{Role: "tool", Content: "391", Name: "calc", ToolCallID: "c1"},
		}},
		"verify-input": abi.VerifyInput{
			Task: "What is 17 * 23?", Answer: "391",
			Evidence: []abi.Evidence{{Step: 1, Tool: "calc", Result: "391"}},
		},
		"verify-output":    abi.VerifyOutput{Verified: true, Evidence: json.RawMessage(`{"step":1}`)},
		"verify-output-no": abi.VerifyOutput{Reason: "no tool result holds the answer"},
		"tool-input":       abi.ToolInput{Tool: "calc", Arguments: json.RawMessage(`{"expression":"17*23"}`), OperationID: "op-1", Attempt: 1},
		"tool-input-leases": abi.ToolInput{
			Tool: "append", Arguments: json.RawMessage(`{"account":"cash"}`), OperationID: "op-1", Attempt: 1,
			Leases: []abi.Lease{{Resource: "account:cash", Fence: 9}},
		},
		"tool-output":          abi.ToolOutput{Status: abi.ToolOK, Result: "391"},
		"tool-output-evidence": abi.ToolOutput{Status: abi.ToolOK, Result: "391", Evidence: json.RawMessage(`["calc"]`)},
		"tool-output-failed": abi.ToolOutput{
			Status: abi.ToolFailed, Result: "the quota is used up", Class: abi.ClassRateLimited, RetryAfterMillis: 1500,
		},
		"tool-output-unknown": abi.ToolOutput{Status: abi.ToolUnknown, Result: "the reply was lost"},
		"compact-input": abi.CompactInput{Window: 131072, Used: 118000, Messages: []abi.CompactMessage{
			{Index: 0, Role: "user", Tokens: 9, Bytes: 16},
			{Index: 1, Role: "assistant", Tokens: 40, ToolCalls: []string{"search", "calc"}},
			{Index: 2, Role: "tool", Name: "search", Tokens: 117000, Bytes: 468000},
		}},
		"compact-output":         abi.CompactOutput{From: 1, To: 3, Prompt: "Sum up what was found."},
		"compact-output-default": abi.CompactOutput{To: 1},
		"compact-output-discard": abi.CompactOutput{From: 1, Discard: true},
		"dedupe-input":           abi.DedupeInput{Tool: "calc", Arguments: json.RawMessage(`{"expression":"17*23"}`)},
		"outcome-input": abi.OutcomeInput{
			Tool: "calc", Arguments: json.RawMessage(`{"expression":"17*"}`), Status: abi.ToolFailed,
			Class: abi.ClassInvalidArguments, Result: "the expression ends early",
		},
		"outcome-input-ok": abi.OutcomeInput{Tool: "clock", Status: abi.ToolOK, Result: "12:00"},
		"outcome-output":   abi.OutcomeOutput{Verdict: abi.VerdictRollback},
		"repair-input": abi.RepairInput{
			Tool: "calc", Schema: json.RawMessage(`{"type":"object"}`), Arguments: `{"expression": "17*23"`,
		},
		"reconcile-input": abi.ReconcileInput{
			Tool: "append", Arguments: json.RawMessage(`{"text":"a"}`), OperationID: "op-1", Attempt: 1, Try: 2,
		},
		"reconcile-found": abi.ReconcileOutput{
			Status: abi.ReconcileFound, Result: "line 7", Evidence: json.RawMessage(`{"line":7}`), Reason: "the ledger has op-1",
		},
		"reconcile-absent": abi.ReconcileOutput{Status: abi.ReconcileAbsent, Reason: "the ledger refuses op-1 from now on"},
		"reconcile-inconclusive": abi.ReconcileOutput{
			Status: abi.ReconcileInconclusive, Reason: "the ledger does not answer", RetryAfterMillis: 2000,
		},
		"compensate-input": abi.CompensateInput{
			Tool: "append", Arguments: json.RawMessage(`{"text":"a"}`), OperationID: "op-1", CompensationID: "undo-1",
			Result: "line 7", Evidence: json.RawMessage(`{"line":7}`),
		},
		"preview-input": abi.PreviewInput{Tool: "append", Arguments: json.RawMessage(`{"text":" a"}`)},
		"preview-output": abi.PreviewOutput{
			Arguments: json.RawMessage(`{"text":"a"}`), Impact: "Adds a line to the ledger.", Reversible: abi.ReversibleYes,
			Resources: []string{"ledger:main"},
		},
		"preview-output-small": abi.PreviewOutput{Reversible: abi.ReversibleUnknown},
		"check-before":         abi.CheckInput{Tool: "append", Stage: abi.CheckBefore, Arguments: json.RawMessage(`{"text":"a"}`)},
		"check-after":          abi.CheckInput{Tool: "append", Stage: abi.CheckAfter, Arguments: json.RawMessage(`{"text":"a"}`), Result: "line 7"},
		"check-ok":             abi.CheckResult{OK: true},
		"check-no":             abi.CheckResult{Reason: "the ledger is closed"},

		"http-request": abi.HTTPRequest{
			Method: "POST", URL: "https://api.example.com/lines?all=1",
			Headers: map[string]abi.HeaderValue{"authorization": {Secret: "LEDGER_TOKEN"}, "idempotency-key": {Text: "op-1"}, "x-empty": {}},
			Body:    `{"text":"a"}`, TimeoutMillis: 10000,
		},
		"http-request-bytes": abi.HTTPRequest{Method: "PUT", URL: "http://127.0.0.1:8080/", BodyBase64: []byte{0, 0xff, 0xfe}},
		"http-response": abi.HTTPResponse{
			Status: 201, Headers: map[string][]string{"content-type": {"application/json"}, "x-two": {"a", "b"}}, Body: `{"line":7}`,
		},
		"http-response-bytes":  abi.HTTPResponse{Status: 200, BodyBase64: []byte{0xff}},
		"http-response-unsent": abi.HTTPResponse{Error: &abi.HTTPError{Text: "connection refused"}},
		"http-response-sent":   abi.HTTPResponse{Error: &abi.HTTPError{Text: "the connection was lost", Sent: true}},

		"manifest":       fullManifest(),
		"manifest-write": writingManifest(),
		"manifest-small": abi.Manifest{
			ABI: abi.ManifestVersion{Major: 1}, Name: "plain", Version: "0.1.0", Kind: abi.KindRecipe,
		},
	}
}

func fullManifest() abi.Manifest {
	return abi.Manifest{
		ABI: abi.ManifestVersion{Major: 1, Minor: 0}, Name: "everything", Version: "1.2.3-rc.1+build.5",
		Description: "Has every field.", License: "Apache-2.0", Kind: abi.KindBoth,
		Hooks: []abi.Hook{abi.HookDirectFinal, abi.HookRefusal},
		Tools: []abi.ToolSpec{{
			Name: "find", Description: "Finds.", InputSchema: json.RawMessage(`{"type":"object"}`),
			Effect: abi.EffectRead, TimeoutMillis: 5000,
		}},
		Conversation: json.RawMessage(`{"max_turns":10}`),
		ConfigSchema: json.RawMessage(`{"type":"object"}`),
		Requires:     []abi.Operation{abi.OpConfig},
		Optional:     []abi.Operation{abi.OpClockNow},
		Limits:       abi.Limits{MemoryBytes: 32 << 20, OutputBytes: 4096},
	}
}

func writingManifest() abi.Manifest {
	return abi.Manifest{
		ABI: abi.ManifestVersion{Major: 1}, Name: "ledger", Version: "0.1.0", Kind: abi.KindTools,
		Tools: []abi.ToolSpec{{
			Name: "append", Description: "Appends.", InputSchema: json.RawMessage(`{"type":"object"}`), Effect: abi.EffectWrite,
			Reconcile: true, Compensate: true, Preview: true, Check: true,
			Precondition: json.RawMessage(`{"required":["text"]}`),
			OutputSchema: json.RawMessage(`{"type":"object"}`),
			Success:      json.RawMessage(`{"required":["result"]}`),
			Resources:    []string{"ledger:{name}", "file:{target.path}"},
			Risk:         10, Cost: abi.Cost{MoneyMicros: 1500, Tokens: 200},
		}},
		Requires: []abi.Operation{abi.OpHTTPFetch},
		Caps:     abi.Caps{HTTP: []string{"api.example.com", "127.0.0.1:8080"}},
	}
}

func TestGolden(t *testing.T) {
	for name, value := range goldens() {
		t.Run(name, func(t *testing.T) {
			encoded, err := json.Marshal(value)
			require.NoError(t, err)
			file := filepath.Join("testdata", "golden", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(file, append(encoded, '\n'), 0o644))
			}
			golden, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(bytes.TrimSpace(golden)), string(encoded))

			decoded := reflect.New(reflect.TypeOf(value))
			require.NoError(t, json.Unmarshal(golden, decoded.Interface()))
			assert.Equal(t, value, decoded.Elem().Interface())
		})
	}
}

func TestGoldenFilesAreTested(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.json"))
	require.NoError(t, err)
	assert.Len(t, files, len(goldens()), "a golden file has no test")
}

// TestEveryMessageHasAGolden fails when a message type is added without one.
func TestEveryMessageHasAGolden(t *testing.T) {
	covered := map[string]bool{}
	var cover func(reflect.Type)
	cover = func(typ reflect.Type) {
		for slices.Contains([]reflect.Kind{reflect.Slice, reflect.Map, reflect.Pointer}, typ.Kind()) {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		covered[typ.Name()] = true
		for field := range typ.Fields() {
			cover(field.Type)
		}
	}
	for _, value := range goldens() {
		cover(reflect.TypeOf(value))
	}
	for _, file := range []string{"message.go", "toolhooks.go", "http.go", "manifest.go", "toolspec.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if _, isStruct := spec.Type.(*ast.StructType); isStruct {
					assert.True(t, covered[spec.Name.Name], "%s has no golden encoding", spec.Name.Name)
				}
			}
			return true
		})
	}
}
