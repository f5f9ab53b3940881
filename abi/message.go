package abi

import "encoding/json"

// Keywords is the output of refusal: the words that make the reply a refusal; empty, it is none.
type Keywords struct {
	Keywords []string `json:"keywords"`
}

// FormatError is the output of format_error: what makes the reply look like a malformed tool call; with
// no keywords it is none.
type FormatError struct {
	Keywords []string `json:"keywords"`
	// Strategy is ignore, reprompt or rollback; empty takes the configuration's.
	Strategy string `json:"strategy,omitempty"`
	// Reprompt is the text to send back; empty takes the configuration's.
	Reprompt string `json:"reprompt,omitempty"`
}

// PromptFinal is the output of prompt_final: whether the model is asked for its final answer now.
type PromptFinal struct {
	Prompt bool `json:"prompt"`
}

// StartInput is the input of start.
type StartInput struct {
	Task   string          `json:"task"`
	Config json.RawMessage `json:"config,omitempty"`
}

// StartOutput is the output of start: the first messages. An empty System sends no system message; an
// empty User takes the configuration's template.
type StartOutput struct {
	System string `json:"system"`
	User   string `json:"user,omitempty"`
}

// Message is one visible message of the conversation, as final_output and verify see it.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Name       string     `json:"name,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
}

// ToolCall is a call that the model made, as a message shows it. Arguments are the model's own text.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// FinalInput is the input of final_output. Its output is raw text: the answer.
type FinalInput struct {
	Messages []Message `json:"messages"`
}

// VerifyInput is the input of verify.
type VerifyInput struct {
	Task   string `json:"task"`
	Answer string `json:"answer"`
	// Evidence are the results of the tool calls that succeeded, in step order.
	Evidence []Evidence `json:"evidence"`
}

// Evidence is one successful tool call that an answer can rest on.
type Evidence struct {
	Step   int64  `json:"step"`
	Tool   string `json:"tool"`
	Result string `json:"result"`
}

// VerifyOutput is the output of verify.
type VerifyOutput struct {
	Verified bool `json:"verified"`
	// Evidence is what the verdict rests on; it is stored with it.
	Evidence json.RawMessage `json:"evidence,omitempty"`
	// Reason tells the model why an answer was rejected.
	Reason string `json:"reason,omitempty"`
}

// ToolInput is the input of tool_call.
type ToolInput struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	// OperationID is the same over all attempts of one step: an idempotency key.
	OperationID string `json:"operation_id"`
	// Attempt counts from 1.
	Attempt int64 `json:"attempt"`
}

// ToolStatus says what is known of a tool call.
type ToolStatus string

// The statuses of a tool call.
const (
	ToolOK      ToolStatus = "ok"      // it happened
	ToolFailed  ToolStatus = "failed"  // it is known not to have happened, or to have failed whole
	ToolUnknown ToolStatus = "unknown" // it may have happened
)

// FailureClass says why a tool call failed, and so what can be done about it.
type FailureClass string

// The classes of failure.
const (
	ClassTransient        FailureClass = "transient"
	ClassRateLimited      FailureClass = "rate_limited"
	ClassInvalidArguments FailureClass = "invalid_arguments"
	ClassPermission       FailureClass = "permission_denied"
	ClassConflict         FailureClass = "conflict"
	ClassPermanent        FailureClass = "permanent"
)

// ToolOutput is the output of tool_call.
type ToolOutput struct {
	Status ToolStatus `json:"status"`
	// Result is the text that the model reads: the result, or what went wrong.
	Result           string          `json:"result"`
	Class            FailureClass    `json:"class,omitempty"`
	RetryAfterMillis int64           `json:"retry_after_ms,omitempty"`
	Evidence         json.RawMessage `json:"evidence,omitempty"`
}
