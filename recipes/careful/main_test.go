package main

import (
	"encoding/json"
	"testing"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func invoke(t *testing.T, hook abi.Hook, input any) guest.Outcome {
	t.Helper()
	raw, err := json.Marshal(input)
	require.NoError(t, err)
	stub := guest.Stub{}
	return stub.Invoke(hook, string(raw))
}

func TestQueriesThatAreTheSame(t *testing.T) {
	key := func(tool, arguments string) string {
		out := invoke(t, abi.HookDedupe, abi.DedupeInput{Tool: tool, Arguments: json.RawMessage(arguments)})
		require.Equal(t, abi.CodeDecided, out.Code)
		return out.Output
	}
	same := key("search", `{"q":"The  Rivers","n":3}`)
	assert.Equal(t, same, key("search", `{"n":3,"q":"the rivers "}`))
	assert.NotEqual(t, same, key("search", `{"n":4,"q":"the rivers"}`))
	assert.NotEqual(t, same, key("lookup", `{"n":3,"q":"the rivers"}`))
}

func TestFailuresThatAreHidden(t *testing.T) {
	for class, want := range map[abi.FailureClass]string{
		abi.ClassTransient: "rollback", abi.ClassRateLimited: "rollback", abi.ClassInvalidArguments: "rollback",
		abi.ClassPermanent: "ok", abi.ClassPermission: "ok", "": "ok",
	} {
		out := invoke(t, abi.HookToolOutcome, abi.OutcomeInput{Tool: "calc", Status: abi.ToolFailed, Class: class})
		assert.JSONEq(t, `{"verdict":"`+want+`"}`, out.Output, class)
	}
}

func TestFencedArguments(t *testing.T) {
	for raw, want := range map[string]string{
		"```json\n{\"a\": 1}\n```": `{"a":1}`,
		"```{\"a\":1}```":          `{"a":1}`,
		`{"a":1}`:                  "",
		"```json\n[1]\n```":        "",
		"```json\n{\"a\":\n```":    "",
		"":                         "",
	} {
		out := invoke(t, abi.HookRepairArguments, abi.RepairInput{Tool: "calc", Arguments: raw})
		if want == "" {
			assert.Equal(t, abi.CodeNoDecision, out.Code, raw)
			continue
		}
		assert.Equal(t, want, out.Output)
	}
}
