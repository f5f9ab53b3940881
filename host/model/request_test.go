package model

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRequestOnTheWire(t *testing.T) {
	var body []byte
	var header http.Header
	var target string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var err error
		body, err = io.ReadAll(r.Body)
		assert.NoError(t, err)
		header, target = r.Header, r.Method+" "+r.URL.String()
		stream(sse(end("stop"), done))(w, r)
	})
	_, err := c.Complete(t.Context(), Request{
		Ordinal: 12,
		Tools: []Tool{
			{Name: "f", Description: "does <f>", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{}}}`)},
			{Name: "g"},
		},
		Messages: []Message{
			{Role: RoleSystem, Content: "be brief"},
			{Role: RoleUser, Content: ""},
			{Role: RoleAssistant, Reasoning: "hm", ToolCalls: []ToolCall{
				{ID: "functions.f:0", Name: "f", Arguments: `{"x": 1}`}, {ID: "", Name: "g", Arguments: ""},
			}},
			{Role: RoleTool, ToolCallID: "functions.f:0", Content: ""},
			{Role: RoleTool, Content: "a\x00\xffb"},
			{Role: RoleAssistant, Content: "text", ToolCalls: []ToolCall{{ID: "1", Name: "g", Arguments: "{}"}}},
			{Role: RoleAssistant},
			{Role: RoleUser, Name: "ann", Content: "<&>"},
		},
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, "POST /v1/chat/completions", target)
	assert.Equal(t, "12", header.Get(OrdinalHeader))
	assert.Equal(t, "Bearer "+testKey, header.Get("Authorization"))
	assert.Equal(t, "application/json", header.Get("Content-Type"))
	assert.Equal(t, `{"model":"m","stream":true,`+
		`"tools":[`+
		`{"function":{"name":"f","description":"does \u003cf\u003e","parameters":{"type":"object","properties":{"z":{"type":"string"},"a":{}}}},"type":"function"},`+
		`{"function":{"name":"g","parameters":{"type":"object","properties":{}}},"type":"function"}],`+
		`"stream_options":{"include_usage":true},`+
		`"messages":[`+
		`{"role":"system","content":"be brief"},`+
		`{"role":"user","content":""},`+
		`{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[`+
		`{"id":"functions.f:0","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}},`+
		`{"id":"","type":"function","function":{"name":"g","arguments":"{}"}}]},`+
		`{"role":"tool","content":"","tool_call_id":"functions.f:0"},`+
		`{"role":"tool","content":"a\u0000`+"\\ufffd"+`b"},`+
		`{"role":"assistant","content":"text","tool_calls":[{"id":"1","type":"function","function":{"name":"g","arguments":"{}"}}]},`+
		`{"role":"assistant","content":""},`+
		`{"role":"user","content":"<&>","name":"ann"}]}`, string(body))
}

func TestAnAddressWithAQuery(t *testing.T) {
	var target string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		target = r.URL.String()
		stream(sse(end("stop"), done))(w, r)
	})
	_, err := ask(t, client(t, Options{BaseURL: c.endpoint + "/?api-version=2"}))
	require.NoError(t, err)
	assert.Equal(t, "/v1/chat/completions?api-version=2", target)
}

func TestNoOrdinalNoHeader(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.NotContains(t, r.Header, OrdinalHeader)
		stream(sse(end("stop"), done))(w, r)
	})
	_, err := ask(t, c)
	require.NoError(t, err)
}

func TestASchemaThatIsNotJSONIsNotSent(t *testing.T) {
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("sent") })
	_, err := c.Complete(t.Context(), Request{Tools: []Tool{{Name: "f", Schema: json.RawMessage("{")}}}, nil)
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, ClassInvalidRequest, e.Class)
	assert.Equal(t, `the request to the model endpoint `+c.endpoint+` cannot be sent: the schema of tool "f" is not JSON`, e.Error())
}

func TestModelNamesAreNotJudged(t *testing.T) {
	server := serve(t, stream(sse(end("stop"), done)))
	// go-openai has lists of models that it refuses by itself.
	for _, name := range []string{"text-davinci-003", "o1", "gpt-5", "x/y:z"} {
		_, err := ask(t, client(t, Options{BaseURL: server.endpoint, Model: name}))
		assert.NoError(t, err, name)
	}
}
