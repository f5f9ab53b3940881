package guest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

func tools() {
	Tool("sum", func(c Call) Result {
		var in struct {
			A, B int
		}
		if err := c.Decode(&in); err != nil {
			return Invalid("%v", err)
		}
		evidence, err := json.Marshal(map[string]any{"op": c.OperationID, "attempt": c.Attempt})
		if err != nil {
			return Failed(abi.ClassPermanent, "%v", err)
		}
		result := OK(strings.Repeat("I", in.A+in.B))
		result.Evidence = evidence
		return result
	})
	Tool("silent", func(Call) Result { return Result{} })
	Tool("lost", func(Call) Result { return Unknown("the reply of %s was lost", "the bank") })
	Tool("busy", func(Call) Result {
		result := Failed(abi.ClassRateLimited, "wait")
		result.RetryAfterMillis = 1500
		return result
	})
}

func TestCallTool(t *testing.T) {
	r := register(t, tools)
	tests := []struct {
		tool, arguments string
		want            Result
	}{
		{"sum", `{"A": 1, "B": 2}`, Result{
			Status: abi.ToolOK, Result: "III", Evidence: json.RawMessage(`{"attempt":1,"op":"operation-1"}`),
		}},
		{"sum", `{"A": 1, "C": 2}`, Result{
			Status: abi.ToolFailed, Class: abi.ClassInvalidArguments, Result: `unknown field "C"`,
		}},
		{"lost", `{}`, Result{Status: abi.ToolUnknown, Result: "the reply of the bank was lost"}},
		{"busy", `{}`, Result{
			Status: abi.ToolFailed, Class: abi.ClassRateLimited, Result: "wait", RetryAfterMillis: 1500,
		}},
	}
	for _, test := range tests {
		t.Run(test.tool, func(t *testing.T) {
			got, err := Stub{}.callTool(r, test.tool, test.arguments)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestCallToolFails(t *testing.T) {
	r := register(t, tools)
	_, err := Stub{}.callTool(r, "product", `{}`)
	require.ErrorIs(t, err, abi.CodeUnsupported)
	require.EqualError(t, err, `tool_call: unsupported: tool "product" is not registered (registered: busy, lost, silent, sum)`)

	_, err = Stub{}.callTool(r, "silent", `{}`)
	require.ErrorIs(t, err, abi.CodeBadOutput)
	require.EqualError(t, err, `tool_call: bad_output: tool "silent" gave a result without a status`)

	_, err = Stub{}.callTool(r, "sum", `{`)
	require.ErrorContains(t, err, "arguments of sum: ")

	got := Stub{}.invoke(r, abi.HookToolCall, `"sum"`)
	assert.Equal(t, abi.CodeBadInput, got.Code)
}

func TestDecodeStrict(t *testing.T) {
	type nested struct {
		Inner struct {
			Count int `json:"count"`
		} `json:"inner"`
		Text  string            `json:"text"`
		On    bool              `json:"on"`
		Size  float64           `json:"size"`
		List  []string          `json:"list"`
		Table map[string]string `json:"table"`
	}
	tests := []struct{ data, want string }{
		{`{"text": "a", "inner": {"count": 2}, "on": true, "size": 1.5, "list": ["b"], "table": {"k": "v"}}`, ""},
		{" {}\n", ""},
		{``, "a JSON object is expected"},
		{`null`, "a JSON object is expected"},
		{`["text"]`, "a JSON object is expected"},
		{`{"txt": "a"}`, `unknown field "txt"`},
		{`{"text": 5}`, `"text" must be a string, not a number`},
		{`{"on": "yes"}`, `"on" must be true or false, not a string`},
		{`{"size": true}`, `"size" must be a number, not true or false`},
		{`{"list": {}}`, `"list" must be an array, not an object`},
		{`{"table": []}`, `"table" must be an object, not an array`},
		{`{"inner": {"count": 1.5}}`, `"inner.count" must be a whole number in range, not a number`},
		{`{"text": "a"} {}`, "there is more text after the JSON object"},
		{`{"text": "a"`, "not valid JSON: unexpected EOF"},
		{`{"text": a}`, "not valid JSON: invalid character 'a' looking for beginning of value"},
	}
	for _, test := range tests {
		t.Run(test.data, func(t *testing.T) {
			var v nested
			err := decodeStrict([]byte(test.data), &v)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}
