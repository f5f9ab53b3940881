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
	// Leases are the resources of the tool's templates that the call has to itself: none for a tool that only reads.
	Leases []Lease `json:"leases,omitempty"`
}

// Lease says that nobody else who asks the host for a resource changes it while a call runs.
type Lease struct {
	// Resource is its name, as the tool's template gives it.
	Resource string `json:"resource"`
	// Fence is above that of every earlier lease of the resource. A service that is told it, and refuses one below the
	// highest that it has seen, is safe from a call that outlived its lease.
	Fence uint64 `json:"fence"`
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

// CompactInput is the input of compact.
type CompactInput struct {
	// Messages describes the visible messages, in order.
	Messages []CompactMessage `json:"messages"`
	// Window is the size of the model's context, and Used the host's estimate of the prompt, in tokens.
	Window int64 `json:"window"`
	Used   int64 `json:"used"`
}

// CompactMessage describes one visible message without its text.
type CompactMessage struct {
	// Index counts from 0.
	Index int    `json:"index"`
	Role  string `json:"role"`
	Name  string `json:"name,omitempty"`
	// Tokens is the host's estimate, Bytes the length of the message's text.
	Tokens int64 `json:"tokens"`
	Bytes  int   `json:"bytes"`
	// ToolCalls are the names of the tools that the message calls.
	ToolCalls []string `json:"tool_calls,omitempty"`
}

// CompactOutput is the output of compact: the messages From to To-1 are replaced by one summary.
type CompactOutput struct {
	From int `json:"from"`
	To   int `json:"to,omitempty"`
	// Prompt asks the model for the summary; empty takes the host's.
	Prompt string `json:"prompt,omitempty"`
	// Discard drops everything from From on instead and reopens the conversation; To and Prompt are ignored.
	Discard bool `json:"discard,omitempty"`
}

// DedupeInput is the input of dedupe. Its output is raw text: a key, empty for a call that is never a
// duplicate.
type DedupeInput struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// OutcomeInput is the input of tool_outcome: a call that is over, as ToolOutput has it.
type OutcomeInput struct {
	Tool string `json:"tool"`
	// Arguments is absent when the model's text was not JSON.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Status    ToolStatus      `json:"status"`
	Class     FailureClass    `json:"class,omitempty"`
	Result    string          `json:"result"`
}

// OutcomeOutput is the output of tool_outcome.
type OutcomeOutput struct {
	Verdict Verdict `json:"verdict"`
}

// Verdict says what becomes of a reply whose tool call is over.
type Verdict string

// The verdicts on an outcome.
const (
	VerdictOK       Verdict = "ok"       // the model sees it
	VerdictRollback Verdict = "rollback" // the calls of the reply are hidden, where the host allows it
)

// RepairInput is the input of repair_arguments. Its output is the arguments, one JSON object.
type RepairInput struct {
	Tool string `json:"tool"`
	// Schema is the tool's input_schema.
	Schema json.RawMessage `json:"schema"`
	// Arguments is the model's own text, which need not be JSON.
	Arguments string `json:"arguments"`
}
