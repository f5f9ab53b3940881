package guest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

// register runs a plugin's init against a registry of its own. Tests that use it do not run in parallel.
func register(t *testing.T, init func()) *registry {
	t.Helper()
	saved := plugin
	defer func() { plugin = saved }()
	plugin = newRegistry()
	init()
	return plugin
}

// taskHooks registers the hooks of a reply and of a task's two ends. Each answers, or does not decide, by its
// input; an input of "error" is one.
func taskHooks() {
	DirectFinal(func(reply string) (string, bool) { return strings.CutPrefix(reply, "FINAL ") })
	Refusal(func(reply string) ([]string, bool) {
		switch reply {
		case "refusal":
			return []string{"<no>"}, true
		case "none":
			return nil, true
		}
		return nil, false
	})
	FormatError(func(reply string) (abi.FormatError, bool) {
		switch reply {
		case "error":
			return abi.FormatError{Keywords: []string{"k"}, Strategy: "reprompt", Reprompt: "again"}, true
		case "none":
			return abi.FormatError{}, true
		}
		return abi.FormatError{}, false
	})
	PromptFinal(func(reply string) (bool, bool) { return reply == "ask", reply != "undecided" })
	Start(func(in abi.StartInput) (abi.StartOutput, bool, error) {
		if in.Task == "error" {
			return abi.StartOutput{}, true, errors.New("no such task")
		}
		return abi.StartOutput{System: string(in.Config), User: in.Task}, in.Task != "", nil
	})
	Verify(func(in abi.VerifyInput) (abi.VerifyOutput, bool, error) {
		if in.Answer == "unencodable" {
			return abi.VerifyOutput{Evidence: json.RawMessage("{")}, true, nil
		}
		return abi.VerifyOutput{Verified: len(in.Evidence) == 1, Reason: in.Answer}, true, nil
	})
	FinalOutput(func(messages []abi.Message) (string, bool, error) {
		switch len(messages) {
		case 0:
			return "", false, nil
		case 1:
			return messages[0].Content, true, nil
		}
		return "ignored", true, errors.New("too many messages")
	})
}

// hookTest is one call of a hook and what it leaves behind.
type hookTest struct {
	name   string
	hook   abi.Hook
	input  string
	code   abi.Code
	output string
	text   string
}

func TestHooks(t *testing.T) {
	testHooks(t, register(t, taskHooks), []hookTest{
		{"direct final", abi.HookDirectFinal, "FINAL 42", abi.CodeDecided, "42", ""},
		{"direct final, none", abi.HookDirectFinal, "FINAL ", abi.CodeDecided, "", ""},
		{"direct final, undecided", abi.HookDirectFinal, "42", abi.CodeNoDecision, "", ""},
		{"empty reply", abi.HookDirectFinal, "", abi.CodeNoDecision, "", ""},
		{"direct final, not UTF-8", abi.HookDirectFinal, "FINAL \xff", abi.CodeBadOutput, "\xff", "text is not UTF-8"},
		{"refusal", abi.HookRefusal, "refusal", abi.CodeDecided, `{"keywords":["\u003cno\u003e"]}`, ""},
		{"refusal, none", abi.HookRefusal, "none", abi.CodeDecided, `{"keywords":[]}`, ""},
		{"refusal, undecided", abi.HookRefusal, "x", abi.CodeNoDecision, "", ""},
		{
			"format error", abi.HookFormatError, "error", abi.CodeDecided,
			`{"keywords":["k"],"strategy":"reprompt","reprompt":"again"}`, "",
		},
		{"format error, none", abi.HookFormatError, "none", abi.CodeDecided, `{"keywords":[]}`, ""},
		{"format error, undecided", abi.HookFormatError, "x", abi.CodeNoDecision, "", ""},
		{"prompt final", abi.HookPromptFinal, "ask", abi.CodeDecided, `{"prompt":true}`, ""},
		{"prompt final, no", abi.HookPromptFinal, "x", abi.CodeDecided, `{"prompt":false}`, ""},
		{"prompt final, undecided", abi.HookPromptFinal, "undecided", abi.CodeNoDecision, "", ""},
		{
			"start", abi.HookStart, `{"task":"t","config":{"a":1},"later":true}`, abi.CodeDecided,
			`{"system":"{\"a\":1}","user":"t"}`, "",
		},
		{"start, undecided", abi.HookStart, `{"task":""}`, abi.CodeNoDecision, "", ""},
		{"start, error", abi.HookStart, `{"task":"error"}`, abi.CodeFailed, "", "no such task"},
		{"start, bad input", abi.HookStart, `{"task":`, abi.CodeBadInput, "", "input: unexpected end of JSON input"},
		{
			"verify", abi.HookVerify, `{"task":"t","answer":"a","evidence":[{"step":1,"tool":"x","result":"r"}]}`,
			abi.CodeDecided, `{"verified":true,"reason":"a"}`, "",
		},
		{
			"verify, unencodable", abi.HookVerify, `{"task":"t","answer":"unencodable","evidence":[]}`,
			abi.CodeBadOutput, "", "output: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input",
		},
		{"final output", abi.HookFinalOutput, `{"messages":[{"role":"user","content":"é"}]}`, abi.CodeDecided, "é", ""},
		{"final output, undecided", abi.HookFinalOutput, `{"messages":[]}`, abi.CodeNoDecision, "", ""},
		{"final output, error", abi.HookFinalOutput, `{"messages":[{},{}]}`, abi.CodeFailed, "", "too many messages"},
		{
			"final output, bad input", abi.HookFinalOutput, `[]`, abi.CodeBadInput, "",
			"input: json: cannot unmarshal array into Go value of type abi.FinalInput",
		},
		{
			"not registered", abi.HookToolCall, `{}`, abi.CodeUnsupported, "",
			"this plugin registered nothing for hook tool_call",
		},
	})
}

func testHooks(t *testing.T, r *registry, tests []hookTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Stub{}.invoke(r, test.hook, test.input)
			assert.Equal(t, Outcome{Code: test.code, Output: test.output, Error: test.text}, got)
		})
	}
}

func TestOutputPastItsLimit(t *testing.T) {
	r := register(t, taskHooks)
	got := Stub{OutputBytes: 3}.invoke(r, abi.HookDirectFinal, "FINAL 1234")
	assert.Equal(t, Outcome{Code: abi.CodeNoSpace, Error: "output of 4 bytes was not taken: no_space"}, got)
	got = Stub{OutputBytes: 4}.invoke(r, abi.HookDirectFinal, "FINAL 1234")
	assert.Equal(t, Outcome{Code: abi.CodeDecided, Output: "1234"}, got)
}

func TestRegisteringTwicePanics(t *testing.T) {
	none := func(string) ([]string, bool) { return nil, false }
	tool := func(Call) Result { return OK("") }
	assert.PanicsWithValue(t, "guest: hook refusal is registered twice", func() {
		register(t, func() { Refusal(none); Refusal(none) })
	})
	assert.PanicsWithValue(t, `guest: tool "x" is registered twice`, func() {
		register(t, func() { Tool("x", tool); Tool("y", tool); Tool("x", tool) })
	})
}

func TestPanicIsNotRecovered(t *testing.T) {
	r := register(t, func() { Refusal(func(string) ([]string, bool) { panic("broken recipe") }) })
	assert.PanicsWithValue(t, "broken recipe", func() { Stub{}.invoke(r, abi.HookRefusal, "") })
	require.Nil(t, running, "the stub of the call that died is still there")
}
