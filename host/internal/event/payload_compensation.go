package event

import "encoding/json"

// Compensation is what a task is to undo.
type Compensation struct {
	// Task is the one whose operations they are. It has ended; this one needs nothing of it any more.
	Task string `json:"task" cbor:"1,keyasint,omitempty"`
	// Operations are undone in this order, one after the other: what happened last is undone first. In the events
	// about one of them the envelope's step is its place here, from 1.
	Operations []CompensatedOperation `json:"operations" cbor:"2,keyasint,omitempty"`
	// Reason is why, in words.
	Reason string `json:"reason,omitempty" cbor:"3,keyasint,omitempty"`
}

// CompensatedOperation is an operation that happened, as the log of its task has it.
type CompensatedOperation struct {
	// Step is the number of its step there.
	Step int64  `json:"step" cbor:"1,keyasint,omitempty"`
	Tool string `json:"tool" cbor:"2,keyasint,omitempty"`
	// Arguments are those that the tool was called with: a JSON object.
	Arguments   string `json:"arguments" cbor:"3,keyasint,omitempty"`
	OperationID string `json:"operation_id" cbor:"4,keyasint,omitempty"`
	// Result and Evidence are what the call gave, or what was found out.
	Result   string          `json:"result" cbor:"5,keyasint,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty" cbor:"6,keyasint,omitempty"`
}

// CompensationStarted is the intent to undo an operation that happened. It is durable before the tool is called.
type CompensationStarted struct {
	// Of is the operation that is undone; OperationID that of undoing it, the same over all attempts and over all
	// tasks that undo it.
	Of          string `json:"of" cbor:"1,keyasint,omitempty"`
	OperationID string `json:"operation_id" cbor:"2,keyasint,omitempty"`
	Reason      string `json:"reason" cbor:"3,keyasint,omitempty"`
}

// CompensationSucceeded says that the operation is undone.
type CompensationSucceeded struct {
	Of       string          `json:"of" cbor:"1,keyasint,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty" cbor:"2,keyasint,omitempty"`
	// Result, since V2, is what the tool said.
	Result string `json:"result,omitempty" cbor:"3,keyasint,omitempty"`
}

// CompensationFailed says that an attempt did not undo it, as far as anybody knows. It is the last one, unless a
// RetryScheduled follows.
type CompensationFailed struct {
	Of     string `json:"of" cbor:"1,keyasint,omitempty"`
	Reason string `json:"reason" cbor:"2,keyasint,omitempty"`
	// Unknown tells that it may have been undone all the same, by this attempt or an earlier one.
	Unknown bool `json:"unknown,omitempty" cbor:"3,keyasint,omitempty"`
	// Class, since V2, is that of a ToolFailed or a ToolUnknown, or cancelled.
	Class string `json:"class,omitempty" cbor:"4,keyasint,omitempty"`
}

// since implements versioned.
func (p *CompensationSucceeded) since() Version {
	if p.Result != "" {
		return V2
	}
	return V1
}

// since implements versioned.
func (p *CompensationFailed) since() Version {
	if p.Class != "" {
		return V2
	}
	return V1
}

func (*CompensationStarted) Type() Type   { return TypeCompensationStarted }
func (*CompensationSucceeded) Type() Type { return TypeCompensationSucceeded }
func (*CompensationFailed) Type() Type    { return TypeCompensationFailed }
