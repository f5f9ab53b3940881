package script

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/host/model"
)

func TestOrdinalHeaderIsTheClients(t *testing.T) {
	assert.Equal(t, model.OrdinalHeader, ordinalHeader)
}

func newClient(t *testing.T, s *Server) *model.Client {
	t.Helper()
	c, err := model.New(model.Options{BaseURL: s.URL(), Model: "m"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// asked is a request with tools f and g, a system message and a last one.
func asked(ordinal int, role, content string) model.Request {
	return model.Request{
		Ordinal:  ordinal,
		Messages: []model.Message{{Role: model.RoleSystem, Content: "s"}, {Role: role, Content: content}},
		Tools:    []model.Tool{{Name: "g"}, {Name: "f"}},
	}
}

const conversation = `
replies:
  - content: "Let me look that up for you, é😀é😀é😀é😀."
    reasoning: The user wants to know what is in the house.
    tool_calls:
      - {name: f, arguments: {key: "blue, with a long value é😀é😀"}}
      - {name: g, arguments: "", id: own}
    usage: {prompt_tokens: 10, completion_tokens: 5}
    expect: {last_role: user, contains: [blue, house], tools: [f, g]}
  - content: done
    finish_reason: length
    delay_ms: 1
  - http_status: 429
    retry_after: "2"
    content: slow down
`

func TestRoundTripOfEveryKey(t *testing.T) {
	s := serve(t, conversation)
	c := newClient(t, s)
	reply, err := c.Complete(t.Context(), asked(1, model.RoleUser, "a blue house"), nil)
	require.NoError(t, err)
	assert.Equal(t, &model.Reply{
		Message: model.Message{
			Role:      model.RoleAssistant,
			Content:   "Let me look that up for you, é😀é😀é😀é😀.",
			Reasoning: "The user wants to know what is in the house.",
			ToolCalls: []model.ToolCall{
				{ID: "call_1_1", Name: "f", Arguments: `{"key":"blue, with a long value é😀é😀"}`},
				{ID: "own", Name: "g", Arguments: ""},
			},
		},
		FinishReason: "tool_calls",
		Usage:        model.Usage{PromptTokens: 10, CompletionTokens: 5, Reported: true},
		Model:        "m",
	}, reply)

	for range 2 { // the same ordinal gets the same reply again
		reply, err = c.Complete(t.Context(), asked(2, model.RoleTool, "x"), nil)
		require.NoError(t, err)
		assert.Equal(t, "done", reply.Message.Content)
		assert.Equal(t, "length", reply.FinishReason)
		assert.False(t, reply.Usage.Reported)
	}

	_, err = c.Complete(t.Context(), asked(3, model.RoleTool, "x"), nil)
	var e *model.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, model.ClassRateLimited, e.Class)
	assert.Equal(t, 2*time.Second, e.RetryAfter)
	assert.Contains(t, e.Error(), `it says "slow down"`)
	assert.NoError(t, s.Failure())
}

func TestErrorStatuses(t *testing.T) {
	for status, want := range map[string]model.Class{
		"401": model.ClassAuth, "404": model.ClassNotFound, "400": model.ClassInvalidRequest, "503": model.ClassTransient,
	} {
		_, err := newClient(t, serve(t, "replies: [{http_status: "+status+"}]")).Complete(t.Context(), asked(1, "user", "x"), nil)
		var e *model.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, want.String(), e.Class.String())
	}
	_, err := newClient(t, serve(t, `replies: [{http_status: 400, content: "maximum context length is 5 tokens"}]`)).
		Complete(t.Context(), asked(1, "user", "x"), nil)
	var e *model.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, model.ClassContextLimit.String(), e.Class.String())
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name, expect string
		ordinal      int
		want         string
	}{
		{"role", "last_role: tool", 1, "reply 1 of demo.yaml expected last_role tool, got user"},
		{"contains", "contains: green", 1, "reply 1 of demo.yaml expected the last message to contain 'green', got 'a blue house'"},
		{"contains all", "contains: [blue, green]", 1, "reply 1 of demo.yaml expected the last message to contain 'green', got 'a blue house'"},
		{"tools", "tools: [f]", 1, "reply 1 of demo.yaml expected the tools [f], got [f, g]"},
		{"no tools", "tools: []", 1, "reply 1 of demo.yaml expected the tools [], got [f, g]"},
		{"run out", "last_role: user", 2, "script demo.yaml has 1 reply and was asked for reply 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, "replies:\n  - content: hi\n    expect: {"+test.expect+"}\n")
			_, err := newClient(t, s).Complete(t.Context(), asked(test.ordinal, model.RoleUser, "a blue house"), nil)
			var e *model.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, "the model endpoint "+s.URL()+` refused the request (422); it says "`+test.want+`"`, e.Error())
			assert.False(t, e.Retryable())
			assert.EqualError(t, s.Failure(), test.want)
		})
	}
}

func TestTheFirstFailureIsKept(t *testing.T) {
	s := serve(t, "replies:\n  - expect: {last_role: tool}\n")
	c := newClient(t, s)
	for _, ordinal := range []int{1, 2} {
		_, err := c.Complete(t.Context(), asked(ordinal, model.RoleUser, "x"), nil)
		require.Error(t, err)
	}
	assert.EqualError(t, s.Failure(), "reply 1 of demo.yaml expected last_role tool, got user")
}

func TestALongMessageIsCutInTheFailure(t *testing.T) {
	s := serve(t, "replies:\n  - expect: {contains: x}\n")
	_, err := newClient(t, s).Complete(t.Context(), asked(1, model.RoleUser, strings.Repeat("é", 1000)), nil)
	require.Error(t, err)
	assert.EqualError(t, s.Failure(), "reply 1 of demo.yaml expected the last message to contain 'x', got '"+strings.Repeat("é", 40)+"…'")
}

func TestWithoutOrdinalTheServerCounts(t *testing.T) {
	c := newClient(t, serve(t, "replies:\n  - content: one\n  - content: two\n"))
	for _, want := range []string{"one", "two"} {
		reply, err := c.Complete(t.Context(), asked(0, model.RoleUser, "x"), nil)
		require.NoError(t, err)
		assert.Equal(t, want, reply.Message.Content)
	}
	_, err := c.Complete(t.Context(), asked(0, model.RoleUser, "x"), nil)
	assert.ErrorContains(t, err, "script demo.yaml has 2 replies and was asked for reply 3")
}

func TestADelayEndsWithTheRequest(t *testing.T) {
	c := newClient(t, serve(t, "replies:\n  - delay_ms: 2000000000\n"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := c.Complete(ctx, asked(1, model.RoleUser, "x"), nil)
	assert.Equal(t, context.DeadlineExceeded, err)
}

func TestCloseEndsADelay(t *testing.T) {
	s := serve(t, "replies:\n  - delay_ms: 2000000000\n")
	c := newClient(t, s)
	started := make(chan struct{})
	failed := make(chan error)
	go func() {
		close(started)
		_, err := c.Complete(context.Background(), asked(1, model.RoleUser, "x"), nil)
		failed <- err
	}()
	<-started
	require.NoError(t, s.Close())
	require.Error(t, <-failed)
	require.NoError(t, s.Close())
}

// post sends a request as some other client would.
func post(t *testing.T, s *Server, header, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(body))
	require.NoError(t, err)
	if header != "" {
		req.Header.Set(ordinalHeader, header)
	}
	return send(t, req)
}

func send(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func TestNotStreamed(t *testing.T) {
	s := serve(t, conversation)
	status, body := post(t, s, "", `{"model":"x","messages":[{"role":"user","content":[{"type":"text","text":"blue "},{"text":"house"}]}],
		"tools":[{"function":{"name":"f"}},{"function":{"name":"g"}}]}`)
	assert.Equal(t, 200, status)
	assert.JSONEq(t, `{"id":"chatcmpl-script-1","object":"chat.completion","created":0,"model":"x","choices":[{"index":0,"finish_reason":"tool_calls",
		"message":{"role":"assistant","content":"Let me look that up for you, é😀é😀é😀é😀.","reasoning_content":"The user wants to know what is in the house.","tool_calls":[
		{"id":"call_1_1","type":"function","function":{"name":"f","arguments":"{\"key\":\"blue, with a long value é😀é😀\"}"}},
		{"id":"own","type":"function","function":{"name":"g","arguments":""}}]}}],
		"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`, body)

	_, body = post(t, serve(t, "replies: [{tool_calls: [{name: f}]}]"), "1", `{}`)
	assert.Contains(t, body, `"content":null`)
	assert.Contains(t, body, `"model":"script"`)
}

func TestTheStreamIsInPieces(t *testing.T) {
	s := serve(t, strings.Replace(conversation, "    expect: {last_role: user, contains: [blue, house], tools: [f, g]}\n", "", 1))
	_, body := post(t, s, "1", `{"stream":true,"stream_options":{"include_usage":true}}`)
	lines := strings.Split(strings.TrimSpace(body), "\n\n")
	assert.Greater(t, len(lines), 12)
	assert.True(t, utf8.ValidString(body))
	for _, line := range lines[:len(lines)-1] {
		data, ok := strings.CutPrefix(line, "data: ")
		require.True(t, ok)
		require.True(t, json.Valid([]byte(data)), data)
		assert.NotContains(t, data, "\ufffd")
	}
	assert.Contains(t, lines[len(lines)-2], `"choices":[],`)
	assert.Equal(t, "data: [DONE]", lines[len(lines)-1])

	_, body = post(t, s, "1", `{"stream":true}`)
	assert.NotContains(t, body, "prompt_tokens", "nobody asked for usage")
}

func TestOtherRequests(t *testing.T) {
	s := serve(t, "replies: [{content: hi}]")
	for _, test := range []struct {
		method, path string
		status       int
		contains     string
	}{
		{"GET", "/models", 200, `"id":"script"`},
		{"GET", "/chat/completions", 404, "no such path here: GET /v1/chat/completions"},
		{"POST", "/embeddings", 404, "no such path here: POST /v1/embeddings"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, s.URL()+test.path, nil)
		require.NoError(t, err)
		status, body := send(t, req)
		assert.Equal(t, test.status, status)
		assert.Contains(t, body, test.contains)
	}
	for header, body := range map[string]string{"0": "{}", "x": "{}", "-1": "{}", "1": "{"} {
		status, text := post(t, s, header, body)
		assert.Equal(t, 400, status)
		assert.Contains(t, text, "invalid_request_error")
	}
	assert.NoError(t, s.Failure())
}
