package script

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseEveryKey(t *testing.T) {
	s, err := Load(write(t, `# a comment
replies:
  - content: |
      two
      lines
    reasoning: "hm: é"
    tool_calls:
      - name: f
        arguments: {z: 1, a: [true, null, 2.5, -3, "1"], <p>: {}}
        id: call_x
      - {name: g, arguments: '{"broken'}
      - {name: h}
      - {name: i, arguments: ""}
    finish_reason: length
    usage: {prompt_tokens: 10, completion_tokens: 5}
    delay_ms: 100
    expect:
      last_role: user
      contains: [a, b]
      tools: []
  - content:
    http_status: 429
    retry_after: 2
    expect: {contains: one}
  - retry_after: "Wed, 01 May 2024 12:00:00 GMT"
`))
	require.NoError(t, err)
	assert.Equal(t, []Reply{
		{
			Content:   "two\nlines\n",
			Reasoning: "hm: é",
			ToolCalls: []ToolCall{
				{ID: "call_x", Name: "f", Arguments: `{"z":1,"a":[true,null,2.5,-3,"1"],"<p>":{}}`},
				{Name: "g", Arguments: `{"broken`},
				{Name: "h", Arguments: "{}"},
				{Name: "i", Arguments: ""},
			},
			FinishReason: "length",
			Usage:        &Usage{PromptTokens: 10, CompletionTokens: 5},
			Delay:        100 * time.Millisecond,
			Expect:       &Expect{LastRole: "user", Contains: []string{"a", "b"}, Tools: []string{}},
		},
		{HTTPStatus: 429, RetryAfter: "2", Expect: &Expect{Contains: []string{"one"}}},
		{RetryAfter: "Wed, 01 May 2024 12:00:00 GMT"},
	}, s.Replies)
}

func TestParseErrors(t *testing.T) {
	reply := func(text string) string { return "replies:\n  - " + strings.ReplaceAll(text, "\n", "\n    ") + "\n" }
	tests := []struct{ name, text, want string }{
		{"empty", "", "script demo.yaml is empty: it needs a list replies"},
		{"only a comment", "# nothing\n---\n", "script demo.yaml is empty: it needs a list replies"},
		{"no replies", "replies: []\n", "demo.yaml:1: the script has no replies"},
		{"replies missing", "{}\n", "demo.yaml:1: the script has no replies"},
		{"replies null", "replies:\n", "demo.yaml:1: replies wants a list, got nothing"},
		{"text", "hello\n", "demo.yaml:1: a script wants keys and values, got text"},
		{"list", "- content: hi\n", "demo.yaml:1: a script wants keys and values, got a list"},
		{"not YAML", "replies:\n  - content: [a\n", "demo.yaml:2: not YAML: sequence end token ']' not found"},
		{"two documents", "replies:\n  - content: a\n---\nreplies: []\n", "demo.yaml:4: a script is one YAML document; this begins a second"},
		{"same key twice", reply("content: a\ncontent: b"), `demo.yaml:3: not YAML: mapping key "content" already defined at [2:5]`},
		{"unknown key", "reply:\n  - content: a\n", `demo.yaml:1: a script has no key "reply"; did you mean "replies"?`},
		{"unknown key of a reply", reply("content: a\ntool_call: []"), `demo.yaml:3: a reply has no key "tool_call"; did you mean "tool_calls"?`},
		{"unknown key of a call", reply("tool_calls:\n  - name: f\n    args: {}"), `demo.yaml:4: a tool call has no key "args"; did you mean "name"?`},
		{"unknown key of usage", reply("usage: {prompt: 1}"), `demo.yaml:2: usage has no key "prompt"; did you mean "prompt_tokens"?`},
		{"unknown key of expect", reply("expect:\n  contain: x"), `demo.yaml:3: expect has no key "contain"; did you mean "contains"?`},
		{"number as text", reply("content: 42"), "demo.yaml:2: content wants text, got a number: put it in quotes"},
		{"truth as text", reply("finish_reason: true"), "demo.yaml:2: finish_reason wants text, got true or false: put it in quotes"},
		{"text as number", reply("delay_ms: soon"), "demo.yaml:2: delay_ms wants a whole number, got text"},
		{"fraction", reply("delay_ms: 1.5"), "demo.yaml:2: delay_ms wants a whole number, got a number"},
		{"negative", reply("delay_ms: -1"), "demo.yaml:2: delay_ms wants a whole number from 0 to 2147483647, got -1"},
		{"status", reply("http_status: 302"), "demo.yaml:2: http_status is 200 or from 400 to 599, not 302"},
		{"header", reply("retry_after: \"1\\n2\""), "demo.yaml:2: retry_after must be printable ASCII"},
		{"no name", reply("tool_calls:\n  - arguments: {}"), "demo.yaml:3: the tool call has no name"},
		{"arguments", reply("tool_calls:\n  - name: f\n    arguments: [1]"), "demo.yaml:4: arguments wants an object or text, got a list"},
		{"infinity", reply("tool_calls:\n  - name: f\n    arguments: {a: .inf}"), "demo.yaml:4: arguments cannot hold a number"},
		{"tools", reply("expect: {tools: f}"), "demo.yaml:2: tools wants a list, got text"},
		{"contains", reply("expect: {contains: [1]}"), "demo.yaml:2: contains wants texts, got a number"},
		{"anchor", reply("content: &a hi"), "demo.yaml:2: content wants text, got an anchor or alias, which scripts do not have: put it in quotes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse(strings.NewReader(test.text), "demo.yaml")
			assert.EqualError(t, err, test.want)
		})
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := Load(dir)
	assert.EqualError(t, err, "script "+dir+" is a directory, not a YAML file")

	missing := filepath.Join(dir, "missing.yaml")
	_, err = Load(missing)
	assert.EqualError(t, err, "script "+missing+" does not exist")

	file := write(t, "")
	_, err = Load(filepath.Join(file, "x"))
	assert.EqualError(t, err, "script "+filepath.Join(file, "x")+": not a directory")

	_, err = Parse(iotest.ErrReader(&os.PathError{Op: "read", Path: "p", Err: errors.New("disk on fire")}), "demo.yaml")
	assert.EqualError(t, err, "script demo.yaml: disk on fire")

	_, err = Parse(strings.NewReader(strings.Repeat("#", MaxBytes+1)), "demo.yaml")
	assert.EqualError(t, err, "script demo.yaml is larger than 1048576 bytes")
}

func TestDeepNestingIsAnErrorOrAScript(t *testing.T) {
	for _, open := range []string{"[", "{a: ", "- "} {
		_, err := Parse(strings.NewReader(strings.Repeat(open, 2000)), "demo.yaml")
		assert.ErrorContains(t, err, "demo.yaml")
		assert.NotContains(t, err.Error(), "\n")
	}
}

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(strings.NewReader(text), "demo.yaml")
		if err != nil {
			require.Nil(t, s)
			require.Contains(t, err.Error(), "demo.yaml")
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.NotEmpty(t, s.Replies)
		for _, r := range s.Replies {
			for _, call := range r.ToolCalls {
				require.NotEmpty(t, call.Name)
			}
		}
	})
}
