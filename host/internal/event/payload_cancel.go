package event

import "encoding/json"

// CancelRequested asks that the task end. Nothing new begins from here on; what is under way is cut off, and
// waited for.
type CancelRequested struct {
	Reason string `json:"reason" cbor:"1,keyasint,omitempty"`
	// InFlight are the steps that were executing.
	InFlight []InFlight `json:"in_flight,omitempty" cbor:"2,keyasint,omitempty"`
}

// InFlight is a step that was under way when a cancel came; in a task that undoes, a compensation, by its place and its
// own operation id.
type InFlight struct {
	Step        int64  `json:"step" cbor:"1,keyasint,omitempty"`
	Attempt     int64  `json:"attempt" cbor:"2,keyasint,omitempty"`
	Tool        string `json:"tool" cbor:"3,keyasint,omitempty"`
	OperationID string `json:"operation_id" cbor:"4,keyasint,omitempty"`
	// End is how it ended, in a TaskCancelled: cancelled (nothing happened), done, failed, or, of a compensation
	// alone, unknown.
	End string `json:"end,omitempty" cbor:"5,keyasint,omitempty"`
}

// How a step that was in flight ended.
const (
	EndCancelled = "cancelled"
	EndDone      = "done"
	EndFailed    = "failed"
	EndUnknown   = "unknown" // it may have undone what it was to undo
)

// StepCancelled closes a step that had not begun, or that would have been tried again.
type StepCancelled struct {
	Reason string `json:"reason" cbor:"1,keyasint,omitempty"`
}

// CancelAcknowledged says that a step that was executing no longer is, and what is known of it.
type CancelAcknowledged struct {
	// NothingHappened tells that the call has changed nothing. Otherwise Result is what it gave, where that is
	// known; nil says that it is not, and the step is reconciled.
	NothingHappened bool    `json:"nothing_happened,omitempty" cbor:"1,keyasint,omitempty"`
	Result          *string `json:"result,omitempty" cbor:"2,keyasint,omitempty"`
	// Tokens is what the result counts; 0 when it was not counted.
	Tokens   int64           `json:"tokens,omitempty" cbor:"3,keyasint,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty" cbor:"4,keyasint,omitempty"`
}

// TaskBlocked ends a task that waits for what nobody can or will do in time.
type TaskBlocked struct {
	// Reason is approval_expired, permission_missing, outcome_unknown or repeated_failure.
	Reason string `json:"reason" cbor:"1,keyasint,omitempty"`
	// Who would have had to do what: a principal, a role or empty for anybody, and the act in words.
	Who  string `json:"who,omitempty" cbor:"2,keyasint,omitempty"`
	What string `json:"what" cbor:"3,keyasint,omitempty"`
	// Until is when it would have had to be done, in microseconds since the Unix epoch; 0 where there was no time.
	Until int64 `json:"until,omitempty" cbor:"4,keyasint,omitempty"`
	// Steps are those that wait.
	Steps []int64 `json:"steps,omitempty" cbor:"5,keyasint,omitempty"`
	// Resume is the sequence number of the last event that a follow-up can build on.
	Resume uint64 `json:"resume" cbor:"6,keyasint,omitempty"`
}

// TaskCancelled ends a task that was cancelled. Every step that had begun is closed.
type TaskCancelled struct {
	Reason   string     `json:"reason" cbor:"1,keyasint,omitempty"`
	InFlight []InFlight `json:"in_flight,omitempty" cbor:"2,keyasint,omitempty"`
}

func (*CancelRequested) Type() Type    { return TypeCancelRequested }
func (*StepCancelled) Type() Type      { return TypeStepCancelled }
func (*CancelAcknowledged) Type() Type { return TypeCancelAcknowledged }
func (*TaskBlocked) Type() Type        { return TypeTaskBlocked }
func (*TaskCancelled) Type() Type      { return TypeTaskCancelled }
