package model

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sse writes values as events.
func sse(values ...string) string {
	var out strings.Builder
	for _, v := range values {
		fmt.Fprintf(&out, "data: %s\n\n", v)
	}
	return out.String()
}

// d is a chunk with a delta, c one with tool call pieces, end one with a finish reason.
func d(delta string) string { return `{"choices":[{"index":0,"delta":` + delta + `}]}` }
func c(calls string) string { return d(`{"tool_calls":[` + calls + `]}`) }
func end(finish string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `"}]}`
}

const done = "[DONE]"

func calls(c ...ToolCall) []ToolCall { return c }

// shape is what an endpoint sent, by the names of the list of troubles, and the reply that it stands for.
type shape struct {
	name      string
	body      string
	content   string
	reasoning string
	calls     []ToolCall
	finish    string
	usage     Usage
}

func (s shape) check(t *testing.T) {
	t.Helper()
	reply, err := ask(t, serve(t, stream(s.body)))
	require.NoError(t, err)
	assert.Equal(t, Message{Role: RoleAssistant, Content: s.content, Reasoning: s.reasoning, ToolCalls: s.calls}, reply.Message)
	assert.Equal(t, s.finish, reply.FinishReason)
	assert.Equal(t, s.usage, reply.Usage)
}

func run(t *testing.T, shapes []shape) {
	t.Helper()
	for _, s := range shapes {
		t.Run(s.name, s.check)
	}
}

func TestToolCallShapes(t *testing.T) {
	f := ToolCall{ID: "a", Name: "f", Arguments: `{"x":1}`}
	g := ToolCall{ID: "b", Name: "g", Arguments: `{"y":2}`}
	two := calls(f, g)
	tools := func(pieces ...string) string { return sse(append(pieces, end("tool_calls"), done)...) }
	run(t, []shape{
		{name: "by the book", calls: two, finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`),
			c(`{"index":0,"function":{"arguments":"{\"x\":"}}`), c(`{"index":0,"function":{"arguments":"1}"}}`),
			c(`{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":""}}`),
			c(`{"index":1,"function":{"arguments":"{\"y\":2}"}}`))},
		{name: "by the book, interleaved", calls: two, finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`),
			c(`{"index":1,"id":"b","function":{"name":"g","arguments":""}}`),
			c(`{"index":0,"function":{"arguments":"{\"x\":"}},{"index":1,"function":{"arguments":"{\"y\":"}}`),
			c(`{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":"2}"}}`))},
		{name: "A1 no index", calls: two, finish: "tool_calls", body: tools(
			c(`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), c(`{"function":{"arguments":"1}"}}`),
			c(`{"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`), c(`{"function":{"arguments":"2}"}}`))},
		{name: "A1 no index, no ids", finish: "tool_calls",
			calls: calls(ToolCall{Name: "f", Arguments: `{"x":1}`}, ToolCall{Name: "f", Arguments: `{"x":2}`}), body: tools(
				c(`{"function":{"name":"f","arguments":"{\"x\":"}}`), c(`{"function":{"arguments":"1}"}}`),
				c(`{"function":{"name":"f","arguments":"{\"x\":2}"}}`))},
		{name: "A2 same index, different ids", calls: two, finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
			c(`{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`))},
		{name: "A2 same index, different ids, in pieces", calls: two, finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), c(`{"index":0,"function":{"arguments":"1}"}}`),
			c(`{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`), c(`{"index":0,"function":{"arguments":"2}"}}`))},
		{name: "A3 head on index 0, tail on index 1", calls: two, finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
			c(`{"index":0,"id":"b","function":{"name":"g","arguments":""}}`),
			c(`{"index":1,"function":{"arguments":"{\"y\":"}}`), c(`{"index":1,"function":{"arguments":"2}"}}`))},
		{name: "A3 head with arguments on index 0, tail on index 1", calls: two, finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
			c(`{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\""}}`),
			c(`{"index":1,"function":{"arguments":":"}}`), c(`{"index":1,"function":{"arguments":"2}"}}`))},
		{name: "A3 and then a call that begins with its arguments", finish: "tool_calls",
			calls: calls(f, g, ToolCall{ID: "c", Name: "h", Arguments: "{}"}), body: tools(
				c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
				c(`{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`),
				c(`{"index":1,"function":{"arguments":"2}"}}`),
				c(`{"index":2,"function":{"arguments":"{"}}`), c(`{"index":2,"id":"c","function":{"name":"h","arguments":"}"}}`))},
		{name: "A4 empty id on continuation", calls: calls(f), finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`),
			c(`{"index":0,"id":"","function":{"name":"","arguments":"1}"}}`))},
		{name: "A4 repeated id and name on continuation", calls: calls(f), finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`),
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}`))},
		{name: "A4 numbers as ids", finish: "tool_calls",
			calls: calls(ToolCall{ID: "0", Name: "f", Arguments: "{}"}, ToolCall{ID: "1", Name: "g", Arguments: "{}"}), body: tools(
				c(`{"index":0,"id":"0","function":{"name":"f","arguments":"{}"}}`),
				c(`{"index":1,"id":1,"function":{"name":"g","arguments":"{}"}}`))},
		{name: "A4 known id on another index", calls: two, finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`),
			c(`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`),
			c(`{"index":1,"id":"a","function":{"arguments":"1}"}}`))},
		{name: "A5 arguments before name and id", calls: calls(f), finish: "tool_calls", body: tools(
			c(`{"index":0,"function":{"arguments":"{\"x\":"}}`), c(`{"index":0,"function":{"arguments":"1}"}}`),
			c(`{"index":0,"id":"a","function":{"name":"f"}}`))},
		{name: "A5 name null, then late", calls: calls(f), finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":null,"arguments":null}}`),
			c(`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}`))},
		{name: "A5 call in two entries", calls: calls(f), finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":1,"id":null,"function":{"name":null,"arguments":"{\"x\":1}"}}`))},
		{name: "A5 call in two entries, arguments twice", calls: calls(f), finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
			c(`{"index":1,"function":{"name":null,"arguments":"{\"x\":1}"}}`))},
		{name: "A6 arguments repeated at the end are kept as sent", finish: "tool_calls",
			calls: calls(ToolCall{ID: "a", Name: "f", Arguments: `{"x":1}{"x":1}`}), body: tools(
				c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
				c(`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}`))},
		{name: "A7 two calls in one increment", calls: two, finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`))},
		{name: "A8 text that parses early goes on", finish: "tool_calls",
			calls: calls(ToolCall{ID: "a", Name: "f", Arguments: `{}  `}), body: tools(
				c(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`),
				c(`{"index":0,"function":{"arguments":"{}"}}`), c(`{"index":0,"function":{"arguments":"  "}}`))},
		{name: "A9 arguments null or never sent", finish: "tool_calls",
			calls: calls(ToolCall{ID: "a", Name: "f"}, ToolCall{ID: "b", Name: "g"}), body: tools(
				c(`{"index":0,"id":"a","function":{"name":"f","arguments":null}}`),
				c(`{"index":1,"id":"b","function":{"name":"g"}}`))},
		{name: "A10 arguments as an object", calls: calls(f), finish: "tool_calls", body: tools(
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`))},
		{name: "G1 ids stay as they are", finish: "tool_calls",
			calls: calls(ToolCall{ID: "functions.f:7", Name: "f", Arguments: "{}"}), body: tools(
				c(`{"index":0,"id":"functions.f:7","function":{"name":"f","arguments":"{}"}}`))},
	})
}

func TestFinishShapes(t *testing.T) {
	call := c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`)
	f := calls(ToolCall{ID: "a", Name: "f", Arguments: "{}"})
	text := d(`{"content":"hi"}`)
	run(t, []shape{
		{name: "B1 stop although there are calls", body: sse(call, end("stop"), done), calls: f, finish: "stop"},
		{name: "B2 tool_calls without calls", body: sse(d(`{"tool_calls":[]}`), end("tool_calls"), done), finish: "tool_calls"},
		{name: "B3 length with half a call", finish: "length",
			calls: calls(ToolCall{ID: "a", Name: "f", Arguments: `{"x`}),
			body:  sse(c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}}`), end("length"), done)},
		{name: "B4 two finish chunks", body: sse(call, end("tool_calls"), end("stop"), done), calls: f, finish: "tool_calls"},
		{name: "B4 two finish chunks, the second says cut", body: sse(call, end("stop"), end("length"), done), calls: f, finish: "length"},
		{name: "B4 unknown reason", body: sse(text, end("end_turn"), done), content: "hi", finish: "end_turn"},
		{name: "B4 other choices are not ours", content: "hi", finish: "stop", body: sse(
			text, `{"choices":[{"index":1,"delta":{"content":"XX"},"finish_reason":"length"}]}`, end("stop"), done)},
		{name: "no reason, text", body: sse(text, done), content: "hi", finish: "stop"},
		{name: "no reason, calls", body: sse(call, done), calls: f, finish: "tool_calls"},
		{name: "empty reason", body: sse(text, `{"choices":[{"delta":{},"finish_reason":""}]}`, done), content: "hi", finish: "stop"},
		{name: "finish but no [DONE]", body: sse(text, end("stop")), content: "hi", finish: "stop"},
		{name: "empty reply", body: sse(d(`{"role":"assistant","content":""}`), end("stop"), done), finish: "stop"},
	})
}

func TestUsageShapes(t *testing.T) {
	text, usage := d(`{"content":"hi"}`), Usage{PromptTokens: 7, CompletionTokens: 2, Reported: true}
	const reported = `"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}`
	run(t, []shape{
		{name: "C1 usage-only chunk", content: "hi", finish: "stop", usage: usage,
			body: sse(text, end("stop"), `{"choices":[],`+reported+`}`, done)},
		{name: "C1 no choices key", content: "hi", finish: "stop", usage: usage,
			body: sse(text, end("stop"), `{`+reported+`}`, done)},
		{name: "C1 usage with a fake choice", content: "hi", finish: "stop", usage: usage,
			body: sse(text, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],`+reported+`}`,
				`{"choices":[{"index":0,"delta":{"content":""}}],`+reported+`}`, done)},
		{name: "C1 running totals", content: "hi", finish: "stop", usage: usage,
			body: sse(`{"choices":[{"delta":{"content":"hi"}}],"usage":{"prompt_tokens":7,"completion_tokens":1}}`,
				end("stop"), `{`+reported+`}`, `{"usage":{"prompt_tokens":0,"completion_tokens":0}}`, done)},
		{name: "C1 usage null", content: "hi", finish: "stop", body: sse(`{"choices":[{"delta":{"content":"hi"}}],"usage":null}`, end("stop"), done)},
		{name: "C1 numbers with a point", content: "hi", finish: "stop", usage: usage,
			body: sse(text, end("stop"), `{"usage":{"prompt_tokens":7.0,"completion_tokens":2.0}}`, done)},
		{name: "C2 no usage", content: "hi", finish: "stop", body: sse(text, end("stop"), done)},
	})
}

func TestStreamShapes(t *testing.T) {
	hi, there := d(`{"content":"hi "}`), d(`{"content":"there"}`)
	run(t, []shape{
		{name: "comments and other fields", content: "hi there", finish: "stop",
			body: ": PROCESSING\n\nevent: message\nid: 1\nretry: 10\n" + sse(hi) + ": PROCESSING\n\n" + sse(there, end("stop"), done)},
		{name: "no space after the colon, CRLF, byte order mark", content: "hi there", finish: "stop",
			body: "\ufeffdata:" + hi + "\r\n\r\ndata:" + there + "\r\n\r\ndata:" + end("stop") + "\r\n\r\ndata:[DONE]\r\n\r\n"},
		{name: "no empty lines, no last line end", content: "hi there", finish: "stop",
			body: "data: " + hi + "\ndata: " + there + "\ndata: " + end("stop")},
		{name: "empty data lines", content: "hi there", finish: "stop", body: "data:\n\n" + sse(hi, "", there, end("stop"), done)},
		{name: "error null is no error", content: "hi there", finish: "stop",
			body: sse(`{"error":null,"choices":[{"delta":{"content":"hi "}}]}`, there, end("stop"), done)},
		{name: "D3 two objects in one line", content: "hi there", finish: "stop", body: sse(hi+there, end("stop")+`{"choices":[]}`, done)},
		{name: "D3 one object over two events", content: "hi there", finish: "stop",
			body: sse(hi[:20], hi[20:]+there[:9], there[9:], end("stop"), done)},
		{name: "D3 indented object over data lines", content: "hi there", finish: "stop",
			body: "data: {\ndata:   \"choices\": [\ndata:     {\"delta\": {\"content\": \"hi there\"}}\ndata:   ]\ndata: }\n\n" + sse(end("stop"), done)},
		{name: "D3 malformed chunk after the finish", content: "hi there", finish: "stop",
			body: sse(hi, there, end("stop"), `{"usage":{"prompt`, done)},
		{name: "not streamed", content: "hi there", reasoning: "hm", finish: "tool_calls",
			calls: calls(ToolCall{ID: "a", Name: "f", Arguments: "{}"}), usage: Usage{PromptTokens: 1, CompletionTokens: 2, Reported: true},
			body: `{
  "choices": [{"message": {"role":"assistant","content":"hi there","reasoning_content":"hm",
    "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}, "finish_reason": "tool_calls"}],
  "usage": {"prompt_tokens": 1, "completion_tokens": 2}
}`},
		{name: "not streamed, one id for all calls, no index", finish: "tool_calls",
			calls: calls(ToolCall{ID: "x", Name: "f", Arguments: `{"n":1}`}, ToolCall{ID: "x", Name: "f", Arguments: `{"n":2}`}),
			body: `{"choices": [{"message": {"tool_calls":[
  {"id":"x","function":{"name":"f","arguments":"{\"n\":1}"}},
  {"id":"x","function":{"name":"f","arguments":"{\"n\":2}"}}]}, "finish_reason": "tool_calls"}]}`},
		{name: "whole message repeated at the end", content: "hi there", finish: "stop",
			body: sse(hi, there, `{"choices":[{"message":{"content":"hi there"},"finish_reason":"stop"}]}`, done)},
	})
}

func TestTextShapes(t *testing.T) {
	run(t, []shape{
		{name: "F4 answer in reasoning_content, content null", reasoning: "42", finish: "stop",
			body: sse(d(`{"content":null,"reasoning_content":"4"}`), d(`{"reasoning_content":"2"}`), end("stop"), done)},
		{name: "F5 reasoning", content: "x", reasoning: "hmm", finish: "stop",
			body: sse(d(`{"reasoning":"h"}`), d(`{"reasoning":"mm"}`), d(`{"content":"x"}`), end("stop"), done)},
		{name: "F5 both names", reasoning: "hmm", finish: "stop",
			body: sse(d(`{"reasoning":"hmm","reasoning_content":"hmm"}`), end("stop"), done)},
		{name: "content in parts", content: "hi there", finish: "stop",
			body: sse(d(`{"content":[{"type":"text","text":"hi "},{"type":"text","text":"there"},{"type":"x"}]}`), end("stop"), done)},
		{name: "refusal", content: "I cannot", finish: "stop", body: sse(d(`{"content":null,"refusal":"I can"}`), d(`{"refusal":"not"}`), end("stop"), done)},
		{name: "G3 markers stay content", content: "<|tool_call_begin|>f", finish: "stop",
			body: sse(d(`{"content":"<|tool_call_begin|>f"}`), end("stop"), done)},
		{name: "H1 character split over events", content: "aéb", finish: "stop",
			body: sse(d("{\"content\":\"a\xc3\"}"), d("{\"content\":\"\xa9b\"}"), end("stop"), done)},
		{name: "H2 next line character", content: "a\u0085b\u2028c", finish: "stop",
			body: sse(d("{\"content\":\"a\u0085b\u2028c\"}"), end("stop"), done)},
		{name: "H3 surrogates in separate events", content: "<😀>", finish: "stop",
			body: sse(d(`{"content":"<\ud83d"}`), d(`{"content":"\uDE00>"}`), end("stop"), done)},
		{name: "H3 surrogates in the arguments", finish: "tool_calls",
			calls: calls(ToolCall{ID: "a", Name: "f", Arguments: "{\"x\":\"😀\n\"}"}),
			body: sse(c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"\ud83d"}}`),
				c(`{"index":0,"function":{"arguments":"\ude00\n\"}"}}`), end("tool_calls"), done)},
		{name: "H4 lone surrogate", content: "a\ufffdb\ufffd", finish: "stop",
			body: sse(d(`{"content":"a\ud800b\udc00"}`), end("stop"), done)},
		{name: "H5 zero byte", content: "a\x00b", finish: "stop", body: sse(d(`{"content":"a\u0000b"}`), end("stop"), done)},
	})
}

// TestOneIDForAllCalls: calls that have an index and a name of their own are calls of their own, though the
// endpoint gave all of them one id; a piece that goes on with the newest of them does.
func TestOneIDForAllCalls(t *testing.T) {
	reply, err := ask(t, serve(t, stream(sse(
		c(`{"index":0,"id":"same","function":{"name":"f","arguments":"{\"n\":1}"}}`),
		c(`{"index":1,"id":"same","function":{"name":"f","arguments":"{\"n\":"}}`),
		c(`{"index":1,"id":"same","function":{"arguments":"2}"}}`),
		c(`{"index":2,"id":"same","function":{"name":"g","arguments":"{}"}}`),
		end("tool_calls"), done))))
	require.NoError(t, err)
	assert.Equal(t, calls(
		ToolCall{ID: "same", Name: "f", Arguments: `{"n":1}`},
		ToolCall{ID: "same", Name: "f", Arguments: `{"n":2}`},
		ToolCall{ID: "same", Name: "g", Arguments: `{}`},
	), reply.Message.ToolCalls)
}

// TestAKeyThatIsEchoed: an endpoint that sends the key back in a reply does not get it into the reply. A
// short key is a word that a reply may hold.
func TestAKeyThatIsEchoed(t *testing.T) {
	body := func(key string) string {
		return sse(d(`{"content":"I was sent `+key+`","reasoning_content":"`+key+`"}`),
			c(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"k\":\"`+key+`\"}"}}`), end("tool_calls"), done)
	}
	reply, err := ask(t, serve(t, stream(body(testKey))))
	require.NoError(t, err)
	assert.NotContains(t, fmt.Sprint(reply), testKey)
	assert.Equal(t, "I was sent [redacted]", reply.Message.Content)
	assert.Equal(t, `{"k":"[redacted]"}`, reply.Message.ToolCalls[0].Arguments)

	server := httptest.NewServer(stream(body("ollama")))
	t.Cleanup(server.Close)
	reply, err = ask(t, client(t, Options{BaseURL: server.URL + "/v1", APIKey: "ollama"}))
	require.NoError(t, err)
	assert.Equal(t, "I was sent ollama", reply.Message.Content)
}
