package guest

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

// ledgerTool registers a tool with all functions, which answer by their arguments, and one with none but run.
func ledgerTool() {
	type arguments struct{ Text string }
	Tool("append", func(Call) Result { return OK("line 7") }).
		Reconcile(func(c Call) Reconciliation {
			var in arguments
			switch err := c.Decode(&in); {
			case err != nil:
				return Inconclusive("%v", err)
			case in.Text == "silent":
				return Reconciliation{}
			case c.Try == 1:
				out := Inconclusive("the ledger does not answer")
				out.RetryAfterMillis = 500
				return out
			case c.OperationID == "op-1":
				return Found("line 7")
			}
			return Absent("the ledger refuses %s", c.OperationID)
		}).
		Compensate(func(u Undo) Result {
			var in arguments
			if err := u.Decode(&in); err != nil {
				return Invalid("%v", err)
			}
			return OK(u.OperationID + " " + u.CompensationID + " " + u.Result + string(u.Evidence) + in.Text)
		}).
		Preview(func(c Call) (abi.PreviewOutput, error) {
			var in arguments
			if err := c.Decode(&in); err != nil {
				return abi.PreviewOutput{}, err
			}
			if in.Text == "silent" {
				return abi.PreviewOutput{Impact: "Adds."}, nil
			}
			return abi.PreviewOutput{Arguments: c.Arguments, Impact: "Adds " + in.Text, Reversible: abi.ReversibleYes}, nil
		}).
		Check(func(c Checked) (bool, string) {
			var in arguments
			if err := c.Decode(&in); err != nil {
				return false, err.Error()
			}
			return c.Stage == abi.CheckBefore || c.Result == in.Text, "the line was cut off"
		})
	Tool("bare", func(Call) Result { return OK("") })
}

func TestToolHooks(t *testing.T) {
	testHooks(t, register(t, ledgerTool), []hookTest{
		{"found", abi.HookToolReconcile, `{"tool":"append","arguments":{},"operation_id":"op-1","try":2}`, abi.CodeDecided,
			`{"status":"found","result":"line 7"}`, ""},
		{"absent", abi.HookToolReconcile, `{"tool":"append","arguments":{},"operation_id":"op-2","try":2}`, abi.CodeDecided,
			`{"status":"absent","reason":"the ledger refuses op-2"}`, ""},
		{"inconclusive", abi.HookToolReconcile, `{"tool":"append","arguments":{},"operation_id":"op-1","try":1}`, abi.CodeDecided,
			`{"status":"inconclusive","reason":"the ledger does not answer","retry_after_ms":500}`, ""},
		{"no status", abi.HookToolReconcile, `{"tool":"append","arguments":{"Text":"silent"}}`, abi.CodeBadOutput,
			"", `tool "append" gave an answer without a status`},
		{"compensate", abi.HookToolCompensate,
			`{"tool":"append","arguments":{"Text":"!"},"operation_id":"op-1","compensation_id":"undo-1","result":"line ","evidence":7}`,
			abi.CodeDecided, `{"status":"ok","result":"op-1 undo-1 line 7!"}`, ""},
		{"preview", abi.HookToolPreview, `{"tool":"append","arguments":{"Text":"a"}}`, abi.CodeDecided,
			`{"arguments":{"Text":"a"},"impact":"Adds a","reversible":"yes"}`, ""},
		{"preview, error", abi.HookToolPreview, `{"tool":"append","arguments":{"txt":1}}`, abi.CodeFailed, "", `unknown field "txt"`},
		{"preview, not reversible or irreversible", abi.HookToolPreview, `{"tool":"append","arguments":{"Text":"silent"}}`,
			abi.CodeBadOutput, "", `tool "append" gave a preview that does not say whether the call is reversible`},
		{"before", abi.HookToolCheck, `{"tool":"append","stage":"before","arguments":{"Text":"a"}}`, abi.CodeDecided,
			`{"ok":true}`, ""},
		{"after", abi.HookToolCheck, `{"tool":"append","stage":"after","arguments":{"Text":"a"},"result":"b"}`, abi.CodeDecided,
			`{"ok":false,"reason":"the line was cut off"}`, ""},
		{"no function", abi.HookToolCheck, `{"tool":"bare","stage":"after","arguments":{}}`, abi.CodeUnsupported, "",
			`tool "bare" registered nothing for hook tool_check`},
		{"no tool", abi.HookToolReconcile, `{"tool":"other"}`, abi.CodeUnsupported, "",
			`tool "other" is not registered (registered: append, bare)`},
		{"bad input", abi.HookToolPreview, `{"tool":"append","arguments":`, abi.CodeBadInput, "", "input: unexpected end of JSON input"},
		{"bad field", abi.HookToolReconcile, `{"tool":"append","try":"one"}`, abi.CodeBadInput, "",
			"input: json: cannot unmarshal string into Go struct field ReconcileInput.try of type int64"},
	})
}

func TestRegisteringAFunctionTwicePanics(t *testing.T) {
	check := func(Checked) (bool, string) { return true, "" }
	assert.PanicsWithValue(t, `guest: tool_check of tool "x" is registered twice`, func() {
		register(t, func() { Tool("x", func(Call) Result { return OK("") }).Check(check).Check(check) })
	})
}

// TestStubOfTools asks through the Stub what a host asks.
func TestStubOfTools(t *testing.T) {
	saved := plugin
	defer func() { plugin = saved }()
	plugin = register(t, ledgerTool)
	arguments := json.RawMessage(`{"Text": "a"}`)

	found, err := Stub{}.Reconcile(abi.ReconcileInput{Tool: "append", Arguments: arguments, OperationID: "op-1", Try: 2})
	require.NoError(t, err)
	assert.Equal(t, Found("line 7"), found)
	undone, err := Stub{}.Compensate(abi.CompensateInput{Tool: "append", Arguments: arguments, OperationID: "o", CompensationID: "c", Result: "r"})
	require.NoError(t, err)
	assert.Equal(t, OK("o c ra"), undone)
	preview, err := Stub{}.Preview(abi.PreviewInput{Tool: "append", Arguments: arguments})
	require.NoError(t, err)
	assert.Equal(t, "Adds a", preview.Impact)
	checked, err := Stub{}.Check(abi.CheckInput{Tool: "append", Stage: abi.CheckAfter, Arguments: arguments, Result: "a"})
	require.NoError(t, err)
	assert.True(t, checked.OK)
	_, err = Stub{}.Check(abi.CheckInput{Tool: "bare", Arguments: arguments})
	require.True(t, errors.Is(err, abi.CodeUnsupported))
	assert.EqualError(t, err, `tool_check: unsupported: tool "bare" registered nothing for hook tool_check`)
}
