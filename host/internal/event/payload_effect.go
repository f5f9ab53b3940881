package event

import "encoding/json"

// ModelRequested is the intent to call the model. It is durable before the call is made. The messages are
// those visible at this point; they are not stored again.
type ModelRequested struct {
	// Ordinal counts, from 1, the calls of the task that were answered, this one included.
	Ordinal int64 `json:"ordinal" cbor:"1,keyasint,omitempty"`
	// Messages is how many are visible.
	Messages int64 `json:"messages" cbor:"2,keyasint,omitempty"`
	// Compaction, where it is set, asks for a summary instead of a turn.
	Compaction *Compaction `json:"compaction,omitempty" cbor:"3,keyasint,omitempty"`
}

// Compaction says which visible messages a summary is to stand for, and how the model is asked for it.
type Compaction struct {
	From   int64  `json:"from" cbor:"1,keyasint,omitempty"`
	To     int64  `json:"to" cbor:"2,keyasint,omitempty"` // exclusive
	Prompt string `json:"prompt" cbor:"3,keyasint,omitempty"`
}

// ModelReplied holds a whole reply.
type ModelReplied struct {
	Message      Message `json:"message" cbor:"1,keyasint,omitempty"`
	FinishReason string  `json:"finish_reason" cbor:"2,keyasint,omitempty"`
	Usage        Usage   `json:"usage" cbor:"3,keyasint,omitempty"`
	Model        string  `json:"model,omitempty" cbor:"4,keyasint,omitempty"` // the endpoint's own name for itself
}

// ModelFailed says that a call gave no reply.
type ModelFailed struct {
	Class string `json:"class" cbor:"1,keyasint,omitempty"`
	// Status is the HTTP status; 0 when none came.
	Status int    `json:"status,omitempty" cbor:"2,keyasint,omitempty"`
	Reason string `json:"reason" cbor:"3,keyasint,omitempty"`
	// Answered tells that the endpoint answered, with an error. A lost call was not.
	Answered bool `json:"answered,omitempty" cbor:"4,keyasint,omitempty"`
}

// Classes of calls that were never answered.
const (
	ClassLost      = "lost"      // the worker died before the outcome was known
	ClassCancelled = "cancelled" // the task was cancelled meanwhile
)

// ToolRequested begins a step: one call of the model's.
type ToolRequested struct {
	CallID    string `json:"call_id" cbor:"1,keyasint,omitempty"`
	Tool      string `json:"tool" cbor:"2,keyasint,omitempty"`
	Arguments string `json:"arguments" cbor:"3,keyasint,omitempty"`
	// Repaired are the arguments that the tool gets, where the model's own were repaired; Repairs says how.
	Repaired string   `json:"repaired,omitempty" cbor:"4,keyasint,omitempty"`
	Repairs  []string `json:"repairs,omitempty" cbor:"5,keyasint,omitempty"`
	// Key is what the recipe calls this query; the same key again is the same query.
	Key string `json:"key,omitempty" cbor:"6,keyasint,omitempty"`
	// OperationID is the same over all attempts of the step.
	OperationID string `json:"operation_id" cbor:"7,keyasint,omitempty"`
}

// ToolAuthorized says that the step may run.
type ToolAuthorized struct{}

// StepDenied says that the step does not run, and what the model is told.
type StepDenied struct {
	// Reason is unknown_tool, invalid_arguments, precondition, per_reply_limit, per_task_limit, per_tool_limit or
	// same_arguments.
	Reason string `json:"reason" cbor:"1,keyasint,omitempty"`
	Text   string `json:"text" cbor:"2,keyasint,omitempty"`
}

// ToolStarted is the intent to run the step. It is durable before the tool is called.
type ToolStarted struct {
	// Approval is the sequence number of the ApprovalGranted of which it consumes a use; 0 where none was needed.
	Approval uint64 `json:"approval,omitempty" cbor:"1,keyasint,omitempty"`
}

// ToolSucceeded holds what the tool gave.
type ToolSucceeded struct {
	Result string `json:"result" cbor:"1,keyasint,omitempty"`
	// Tokens is what the result counts; 0 when it was not counted.
	Tokens   int64           `json:"tokens,omitempty" cbor:"2,keyasint,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty" cbor:"3,keyasint,omitempty"`
}

// ToolFailed says that the call is known not to have happened, or to have failed whole.
type ToolFailed struct {
	Class  string `json:"class" cbor:"1,keyasint,omitempty"`
	Reason string `json:"reason" cbor:"2,keyasint,omitempty"`
	Tokens int64  `json:"tokens,omitempty" cbor:"3,keyasint,omitempty"`
	// Fault tells that the plugin failed, not that the tool said so.
	Fault bool `json:"fault,omitempty" cbor:"4,keyasint,omitempty"`
}

// RetryScheduled says that what failed is tried again, once the time has come. Without a step it is the
// model call.
type RetryScheduled struct {
	At int64 `json:"at" cbor:"1,keyasint,omitempty"` // microseconds since the Unix epoch
}

// ObservationRecorded closes a step: its outcome was taken up by the conversation, hidden with it, or, in a task
// that is being cancelled, kept as evidence alone.
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
