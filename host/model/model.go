package model

import "encoding/json"

// Roles of messages.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Request is one call of the model.
type Request struct {
	Messages []Message
	Tools    []Tool
	// Ordinal counts, from 1, the calls of this task that were answered, this one included. It is sent
	// with the request, so that a scripted endpoint gives a resumed task the reply it is waiting for.
	Ordinal int
}

// Message is one message of a request or the message of a reply.
type Message struct {
	Role    string
	Content string
	// Reasoning is what the endpoint sent as reasoning_content or reasoning. It is handed back verbatim.
	Reasoning  string
	Name       string
	ToolCallID string
	ToolCalls  []ToolCall
}

// ToolCall is a call that the model made. ID and Arguments are the endpoint's own bytes, never repaired.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// Tool is a tool that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments
}

// Reply is a whole reply.
type Reply struct {
	Message Message
	// FinishReason is the endpoint's word, or by shape (tool_calls, stop) where it closed the stream
	// properly without one.
	FinishReason string
	Usage        Usage
	// Model is the name that the endpoint gave itself.
	Model string
}

// Usage is what the endpoint says that a call used, in tokens.
type Usage struct {
	PromptTokens     int
	CompletionTokens int
	// Reported is false when the endpoint gave no usage; the numbers are then 0.
	Reported bool
}

// Progress tells how far a reply is, while it streams in.
type Progress struct {
	ContentBytes   int
	ReasoningBytes int
	ToolCalls      int
}
