package event

import "encoding/json"

// ModelRequested is the intent to call the model. It is durable before the call is made. The messages are
// those visible at this point; they are not stored again.
type ModelRequested struct {
	// Ordinal counts, from 1, the calls of the task that were answered, this one included.
	Ordinal int64 `json:"ordinal"`
	// Messages is how many are visible.
	Messages int64 `json:"messages"`
	// Compaction, where it is set, asks for a summary instead of a turn.
	Compaction *Compaction `json:"compaction,omitempty"`
}

// Compaction says which visible messages a summary is to stand for, and how the model is asked for it.
type Compaction struct {
	From   int64  `json:"from"`
	To     int64  `json:"to"` // exclusive
	Prompt string `json:"prompt"`
}

// ModelReplied holds a whole reply.
type ModelReplied struct {
	Message      Message `json:"message"`
	FinishReason string  `json:"finish_reason"`
	Usage        Usage   `json:"usage"`
	Model        string  `json:"model,omitempty"` // the endpoint's own name for itself
}

// ModelFailed says that a call gave no reply.
type ModelFailed struct {
	Class string `json:"class"`
	// Status is the HTTP status; 0 when none came.
	Status int    `json:"status,omitempty"`
	Reason string `json:"reason"`
	// Answered tells that the endpoint answered, with an error. A lost call was not.
	Answered bool `json:"answered,omitempty"`
}

// ClassLost is the class of a call whose worker died before its outcome was known.
const ClassLost = "lost"

// ToolRequested begins a step: one call of the model's.
type ToolRequested struct {
	CallID    string `json:"call_id"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	// Repaired are the arguments that the tool gets, where the model's own were repaired; Repairs says how.
	Repaired string   `json:"repaired,omitempty"`
	Repairs  []string `json:"repairs,omitempty"`
	// Key is what the recipe calls this query; the same key again is the same query.
	Key string `json:"key,omitempty"`
	// OperationID is the same over all attempts of the step.
	OperationID string `json:"operation_id"`
}

// ToolAuthorized says that the step may run.
type ToolAuthorized struct{}

// StepDenied says that the step does not run, and what the model is told.
type StepDenied struct {
	// Reason is unknown_tool, invalid_arguments, per_reply_limit, per_task_limit, per_tool_limit or
	// same_arguments.
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// ToolStarted is the intent to run the step. It is durable before the tool is called.
type ToolStarted struct{}

// ToolSucceeded holds what the tool gave.
type ToolSucceeded struct {
	Result string `json:"result"`
	// Tokens is what the result counts; 0 when it was not counted.
	Tokens   int64           `json:"tokens,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty"`
}

// ToolFailed says that the call is known not to have happened, or to have failed whole.
type ToolFailed struct {
	Class  string `json:"class"`
	Reason string `json:"reason"`
	Tokens int64  `json:"tokens,omitempty"`
	// Fault tells that the plugin failed, not that the tool said so.
	Fault bool `json:"fault,omitempty"`
}

// RetryScheduled says that what failed is tried again, once the time has come. Without a step it is the
// model call.
type RetryScheduled struct {
	At int64 `json:"at"` // microseconds since the Unix epoch
}

// ObservationRecorded closes a step: its result has become part of the conversation.
type ObservationRecorded struct{}

func (*ModelRequested) Type() Type      { return TypeModelRequested }
func (*ModelReplied) Type() Type        { return TypeModelReplied }
func (*ModelFailed) Type() Type         { return TypeModelFailed }
func (*ToolRequested) Type() Type       { return TypeToolRequested }
func (*ToolAuthorized) Type() Type      { return TypeToolAuthorized }
func (*StepDenied) Type() Type          { return TypeStepDenied }
func (*ToolStarted) Type() Type         { return TypeToolStarted }
func (*ToolSucceeded) Type() Type       { return TypeToolSucceeded }
func (*ToolFailed) Type() Type          { return TypeToolFailed }
func (*RetryScheduled) Type() Type      { return TypeRetryScheduled }
func (*ObservationRecorded) Type() Type { return TypeObservationRecorded }
