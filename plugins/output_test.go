package plugins

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// TestBadOutput gives each hook output that is not what it decides with.
func TestBadOutput(t *testing.T) {
	for _, tt := range []struct {
		hook   abi.Hook
		output string
		want   string
	}{
		{abi.HookDirectFinal, "\xff\xfe", "text is not UTF-8"},
		{abi.HookFinalOutput, "a\xc3", "text is not UTF-8"},
		{abi.HookRefusal, "", "a decision without output"},
		{abi.HookRefusal, "words", "not a JSON object"},
		{abi.HookRefusal, "[]", "not a JSON object"},
		{abi.HookRefusal, "null", "not a JSON object"},
		{abi.HookRefusal, `{"keywords": []} {}`, "not a JSON object"},
		{abi.HookRefusal, "{\"keywords\": [\"\xff\"]}", "text is not UTF-8"},
		{abi.HookFormatError, `{"keywords": [], "strategy": "explode\n"}`, `strategy "explode\n" must be ignore, reprompt or rollback`},
		{abi.HookPromptFinal, "true", "not a JSON object"},
		{abi.HookStart, "[1]", "not a JSON object"},
		{abi.HookVerify, "{", "not a JSON object"},
	} {
		t.Run(string(tt.hook)+" "+tt.output, func(t *testing.T) {
			m := small(tt.output)
			m.Hook(string(tt.hook), say(len(tt.output)))
			m.Manifest(manifest(string(tt.hook)))
			p := load(t, m.Bytes(), Options{})
			for range 2 {
				answer, err := p.Hook(t.Context(), tt.hook, []byte("{}"))
				assert.Equal(t, Answer{}, answer)
				var fault *CallError
				require.ErrorAs(t, err, &fault)
				assert.Equal(t, FaultBadOutput, fault.Kind)
				assert.EqualError(t, err, `plugin "small": `+string(tt.hook)+" gave bad output: "+tt.want)
			}
		})
	}
}

func TestBadOutputOfWrongTypes(t *testing.T) {
	for hook, output := range map[abi.Hook]string{
		abi.HookRefusal:     `{"keywords": "one"}`,
		abi.HookFormatError: `{"keywords": [1]}`,
		abi.HookPromptFinal: `{"prompt": "yes"}`,
		abi.HookStart:       `{"system": 1}`,
		abi.HookVerify:      `{"verified": "yes"}`,
	} {
		m := small(output)
		m.Hook(string(hook), say(len(output)))
		m.Manifest(manifest(string(hook)))
		_, err := load(t, m.Bytes(), Options{}).Hook(t.Context(), hook, []byte("{}"))
		assert.ErrorContains(t, err, "gave bad output: not the JSON it should be", string(hook))
	}
}

// TestEmptyOutput: an output of no bytes was given all the same, and decides "none" for a text hook.
func TestEmptyOutput(t *testing.T) {
	m := small("")
	m.Hook("direct_final", say(0))
	m.Hook("final_output", pt.Const(1))
	m.Manifest(manifest("direct_final final_output"))
	p := load(t, m.Bytes(), Options{})
	answer, err := p.Hook(t.Context(), abi.HookDirectFinal, nil)
	require.NoError(t, err)
	assert.True(t, answer.Decided)
	assert.Empty(t, answer.Output)
	_, err = p.Hook(t.Context(), abi.HookFinalOutput, nil)
	assert.EqualError(t, err, `plugin "small": final_output gave bad output: a decision without output`)
}

// TestOutputIsOneCalls: what one call wrote is not in the next one's output, and is the caller's own.
func TestOutputIsOneCalls(t *testing.T) {
	p := load(t, behave(t), Options{})
	first, err := p.Hook(t.Context(), abi.HookRefusal, []byte("echo one"))
	require.NoError(t, err)
	words(t, p, "echo two")
	assert.JSONEq(t, `{"keywords": ["one"]}`, string(first.Output))
}

func TestCallTool(t *testing.T) {
	p := load(t, behave(t), Options{})
	out, err := p.CallTool(t.Context(), act("echo hello"), nil)
	require.NoError(t, err)
	assert.Equal(t, abi.ToolOutput{Status: abi.ToolOK, Result: "hello"}, out)

	// A tool that says that it failed is no error.
	in := act("")
	in.Arguments = []byte(`{"other": 1}`)
	out, err = p.CallTool(t.Context(), in, nil)
	require.NoError(t, err)
	assert.Equal(t, abi.ToolFailed, out.Status)
	assert.Equal(t, abi.ClassInvalidArguments, out.Class)

	in.Arguments = []byte(`{not JSON`)
	_, err = p.CallTool(t.Context(), in, nil)
	assert.ErrorContains(t, err, `plugin "behave": tool "act": arguments: `)

	in.Arguments = []byte(`{"do": "` + strings.Repeat("x", abi.MaxInputBytes) + `"}`)
	_, err = p.CallTool(t.Context(), in, nil)
	assert.ErrorContains(t, err, "tool_call failed (too_large): input of ")
}

func TestBadToolOutput(t *testing.T) {
	for output, want := range map[string]string{
		"":                       "a decision without output",
		"done":                   "not a JSON object",
		"{}":                     `status "" must be ok, failed or unknown`,
		`{"status": "finished"}`: `status "finished" must be ok, failed or unknown`,
		"{\"status\": \"\xff\"}": "text is not UTF-8",
	} {
		m := small(output)
		m.Hook("tool_call", say(len(output)))
		m.Manifest(toolManifest(""))
		_, err := load(t, m.Bytes(), Options{}).CallTool(t.Context(), act(""), nil)
		assert.EqualError(t, err, `plugin "small": tool_call gave bad output: `+want)
	}
	m := small("")
	m.Hook("tool_call", pt.Const(0))
	m.Manifest(toolManifest(""))
	_, err := load(t, m.Bytes(), Options{}).CallTool(t.Context(), act(""), nil)
	assert.EqualError(t, err, `plugin "small": tool_call gave bad output: a tool call must decide`)
}
