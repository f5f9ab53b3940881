package script

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// piece is into how many bytes texts are parted for a stream: small, so that even a short reply comes in
// several chunks.
const piece = 16

// object is a JSON object.
type object map[string]any

// answer is a reply on its way out.
type answer struct {
	reply   Reply
	ordinal int
	model   string
	usage   bool // the stream may have a usage chunk
	finish  string
}

func newAnswer(reply Reply, ordinal int, req request) answer {
	shape := "stop"
	if len(reply.ToolCalls) > 0 {
		shape = "tool_calls"
	}
	return answer{
		reply:   reply,
		ordinal: ordinal,
		model:   cmp.Or(req.Model, "script"),
		usage:   req.StreamOptions.IncludeUsage && reply.Usage != nil,
		finish:  cmp.Or(reply.FinishReason, shape),
	}
}

// frame is what every object of the answer has.
func (a answer) frame(kind string, choices []object) object {
	return object{
		"id": fmt.Sprintf("chatcmpl-script-%d", a.ordinal), "object": kind, "created": 0, "model": a.model,
		"choices": choices,
	}
}

func (a answer) callID(i int) string {
	return cmp.Or(a.reply.ToolCalls[i].ID, fmt.Sprintf("call_%d_%d", a.ordinal, i+1))
}

func (a answer) usageObject() object {
	u := a.reply.Usage
	return object{
		"prompt_tokens": u.PromptTokens, "completion_tokens": u.CompletionTokens,
		"total_tokens": u.PromptTokens + u.CompletionTokens,
	}
}

// stream sends the reply in chunks: a role, texts in pieces, calls with their arguments in pieces, the finish,
// the usage, [DONE].
func (a answer) stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	send := func(chunk object) {
		data, err := json.Marshal(chunk)
		if err != nil {
			panic(fmt.Sprintf("encode a chunk: %v", err)) // it holds strings and numbers only
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
		_ = http.NewResponseController(w).Flush() // a client that went away ends the request by itself
	}
	delta := func(delta object, finish any) {
		send(a.frame("chat.completion.chunk", []object{{"index": 0, "delta": delta, "finish_reason": finish}}))
	}
	delta(object{"role": "assistant", "content": ""}, nil)
	for _, part := range split(a.reply.Reasoning) {
		delta(object{"reasoning_content": part}, nil)
	}
	for _, part := range split(a.reply.Content) {
		delta(object{"content": part}, nil)
	}
	for i, call := range a.reply.ToolCalls {
		delta(object{"tool_calls": []object{{
			"index": i, "id": a.callID(i), "type": "function", "function": object{"name": call.Name, "arguments": ""},
		}}}, nil)
		for _, part := range split(call.Arguments) {
			delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": part}}}}, nil)
		}
	}
	delta(object{}, a.finish)
	if a.usage {
		last := a.frame("chat.completion.chunk", []object{})
		last["usage"] = a.usageObject()
		send(last)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// whole sends the reply as one object, for a client that does not stream.
func (a answer) whole(w http.ResponseWriter) {
	message := object{"role": "assistant", "content": a.reply.Content}
	if a.reply.Reasoning != "" {
		message["reasoning_content"] = a.reply.Reasoning
	}
	var calls []object
	for i, call := range a.reply.ToolCalls {
		calls = append(calls, object{
			"id": a.callID(i), "type": "function", "function": object{"name": call.Name, "arguments": call.Arguments},
		})
	}
	if calls != nil {
		message["tool_calls"] = calls
		if a.reply.Content == "" {
			message["content"] = nil
		}
	}
	body := a.frame("chat.completion", []object{{"index": 0, "message": message, "finish_reason": a.finish}})
	if a.reply.Usage != nil {
		body["usage"] = a.usageObject()
	}
	writeJSON(w, http.StatusOK, body)
}

// refuse sends the reply as an error, with the type that endpoints give its status.
func (a answer) refuse(w http.ResponseWriter) {
	status := a.reply.HTTPStatus
	kind := "invalid_request_error"
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		kind = "authentication_error"
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= 500:
		kind = "server_error"
	}
	writeError(w, status, kind, cmp.Or(a.reply.Content, "scripted: "+http.StatusText(status)))
}

func writeError(w http.ResponseWriter, status int, kind, message string) {
	writeJSON(w, status, object{"error": object{"message": message, "type": kind, "param": nil, "code": nil}})
}

func writeJSON(w http.ResponseWriter, status int, body object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that went away does not read it
}

// split parts text on rune boundaries.
func split(text string) []string {
	var parts []string
	for len(text) > 0 {
		end := min(piece, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		parts = append(parts, text[:end])
		text = text[end:]
	}
	return parts
}
