package abi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

func TestCheckOutput(t *testing.T) {
	tests := []struct {
		hook         abi.Hook
		output, want string
	}{
		{abi.HookDirectFinal, "", ""},
		{abi.HookDirectFinal, "391", ""},
		{abi.HookFinalOutput, "\xff", "text is not UTF-8"},
		{abi.HookRefusal, `{"keywords": []}`, ""},
		{abi.HookRefusal, ``, "a decision without output"},
		{abi.HookRefusal, `["no"]`, "not a JSON object"},
		{abi.HookRefusal, "{\"keywords\": [\"\xff\"]}", "text is not UTF-8"},
		{
			abi.HookRefusal, `{"keywords": "no"}`,
			"not the JSON it should be: json: cannot unmarshal string into Go struct field Keywords.keywords of type []string",
		},
		{abi.HookFormatError, `{"keywords": ["k"], "strategy": "rollback"}`, ""},
		{abi.HookFormatError, `{"keywords": ["k"], "strategy": "again"}`, `strategy "again" must be ignore, reprompt or rollback`},
		{abi.HookFormatError, `{`, "not a JSON object"},
		{abi.HookPromptFinal, `{"prompt": true, "later": 1}`, ""},
		{abi.HookPromptFinal, `true`, "not a JSON object"},
		{abi.HookStart, `{"system": ""}`, ""},
		{abi.HookStart, `null`, "not a JSON object"},
		{abi.HookVerify, `{"verified": true, "evidence": [1]}`, ""},
		{abi.HookVerify, `[]`, "not a JSON object"},
		{abi.HookToolCall, `{"status": "unknown", "result": ""}`, ""},
		{abi.HookToolCall, `{"status": "done", "result": ""}`, `status "done" must be ok, failed or unknown`},
		{abi.HookToolCall, `""`, "not a JSON object"},
		{abi.HookScore, `{"score": 1}`, ""},
		{abi.HookScore, `{"score"`, "not JSON"},
	}
	for _, test := range tests {
		t.Run(string(test.hook)+" "+test.output, func(t *testing.T) {
			err := abi.CheckOutput(test.hook, []byte(test.output))
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			assert.EqualError(t, err, test.want)
		})
	}
}
