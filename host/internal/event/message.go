package event

// Roles of messages.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one message of a conversation, as it is stored.
type Message struct {
	Role       string     `json:"role" cbor:"1,keyasint,omitempty"`
	Content    string     `json:"content,omitempty" cbor:"2,keyasint,omitempty"`
	Reasoning  string     `json:"reasoning,omitempty" cbor:"3,keyasint,omitempty"`
	Name       string     `json:"name,omitempty" cbor:"4,keyasint,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty" cbor:"5,keyasint,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty" cbor:"6,keyasint,omitempty"`
	// Tokens is what the host's tokenizer counted; 0 when it did not.
	Tokens int64 `json:"tokens,omitempty" cbor:"7,keyasint,omitempty"`
}

// ToolCall is a call that the model made: the endpoint's own bytes, never repaired here.
type ToolCall struct {
	ID        string `json:"id" cbor:"1,keyasint,omitempty"`
	Name      string `json:"name" cbor:"2,keyasint,omitempty"`
	Arguments string `json:"arguments" cbor:"3,keyasint,omitempty"`
}

// Usage is what a model call used, in tokens.
type Usage struct {
	Prompt     int64 `json:"prompt" cbor:"1,keyasint,omitempty"`
	Completion int64 `json:"completion" cbor:"2,keyasint,omitempty"`
	// Reported is false when the endpoint said nothing of it.
	Reported bool `json:"reported" cbor:"3,keyasint,omitempty"`
}
