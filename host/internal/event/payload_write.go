package event

import "encoding/json"

// LeaseAcquired says that a step may work on a named resource, alone.
type LeaseAcquired struct {
	Resource string `json:"resource" cbor:"1,keyasint,omitempty"`
	// Fence is above that of every earlier lease of the resource: a stale holder's write is refused by it.
	Fence uint64 `json:"fence" cbor:"2,keyasint,omitempty"`
	// Expires is when it ends by itself, in microseconds since the Unix epoch.
	Expires int64 `json:"expires" cbor:"3,keyasint,omitempty"`
	// Version is what the resource was at then (an ETag); a write checks it. Empty where it has none.
	Version string `json:"version,omitempty" cbor:"4,keyasint,omitempty"`
}

// LeaseReleased gives a resource free.
type LeaseReleased struct {
	Resource string `json:"resource" cbor:"1,keyasint,omitempty"`
	Fence    uint64 `json:"fence" cbor:"2,keyasint,omitempty"`
	// Reason is done, cancelled or expired.
	Reason string `json:"reason" cbor:"3,keyasint,omitempty"`
}

// ToolProgress is what a running tool says of itself. Nothing depends on it.
type ToolProgress struct {
	Text string `json:"text,omitempty" cbor:"1,keyasint,omitempty"`
	// Done of Total, in a unit of the tool's; Total 0 where it is not known.
	Done  int64 `json:"done,omitempty" cbor:"2,keyasint,omitempty"`
	Total int64 `json:"total,omitempty" cbor:"3,keyasint,omitempty"`
}

// HostOperation is one operation that a guest had the host do. It is recorded twice where it can change the
// world: begun before it is done, so that a crash shows that it may have happened, and with its outcome.
type HostOperation struct {
	// Number counts the operations of one call of a guest, from 1.
	Number     int64  `json:"number" cbor:"1,keyasint,omitempty"`
	Capability string `json:"capability" cbor:"2,keyasint,omitempty"`
	// Target is what it was aimed at, without secrets: method and host, a key, a path.
	Target string `json:"target,omitempty" cbor:"3,keyasint,omitempty"`
	// Write tells that it may change something outside.
	Write bool `json:"write,omitempty" cbor:"4,keyasint,omitempty"`
	// State is begun, done or failed.
	State string `json:"state" cbor:"5,keyasint,omitempty"`
	// Result is what the guest was given, where it can differ from run to run: replay answers from here. One that
	// is large is the blob of key Blob instead.
	Result string `json:"result,omitempty" cbor:"6,keyasint,omitempty"`
	Blob   string `json:"blob,omitempty" cbor:"7,keyasint,omitempty"`
	// Reason is why it failed.
	Reason string `json:"reason,omitempty" cbor:"8,keyasint,omitempty"`
	// Sent and Received are bytes.
	Sent     int64 `json:"sent,omitempty" cbor:"9,keyasint,omitempty"`
	Received int64 `json:"received,omitempty" cbor:"10,keyasint,omitempty"`
}

// States of a HostOperation.
const (
	OperationBegun  = "begun"
	OperationDone   = "done"
	OperationFailed = "failed"
)

// ToolUnknown says that nobody knows whether the call happened. It is reconciled, never blindly repeated.
type ToolUnknown struct {
	// Class is crash, timeout, trap, fuel, killed, lost or server_error.
	Class  string `json:"class" cbor:"1,keyasint,omitempty"`
	Reason string `json:"reason" cbor:"2,keyasint,omitempty"`
	// Operations is how many outbound operations that may change something had begun.
	Operations int64 `json:"operations" cbor:"3,keyasint,omitempty"`
}

// ReconcileStarted is the intent to ask the tool whether the step's operation happened.
type ReconcileStarted struct {
	// OperationID is what is looked for; Try counts the probes of it, from 1.
	OperationID string `json:"operation_id" cbor:"1,keyasint,omitempty"`
	Try         int64  `json:"try" cbor:"2,keyasint,omitempty"`
}

// OperationFound says that the operation happened, and what it gave. The actor is the tool, or the person who
// looked.
type OperationFound struct {
	Result string `json:"result" cbor:"1,keyasint,omitempty"`
	// Tokens is what the result counts; 0 when it was not counted.
	Tokens   int64           `json:"tokens,omitempty" cbor:"2,keyasint,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty" cbor:"3,keyasint,omitempty"`
}

// OperationAbsent says that the operation has not happened and will not: it may be started again.
type OperationAbsent struct {
	Evidence json.RawMessage `json:"evidence,omitempty" cbor:"1,keyasint,omitempty"`
}

// ReconcileInconclusive says that a probe found out nothing.
type ReconcileInconclusive struct {
	Try    int64  `json:"try" cbor:"1,keyasint,omitempty"`
	Reason string `json:"reason" cbor:"2,keyasint,omitempty"`
	// Next is when the next probe is due, in microseconds since the Unix epoch; 0: a person has to look.
	Next int64 `json:"next,omitempty" cbor:"3,keyasint,omitempty"`
}

func (*LeaseAcquired) Type() Type         { return TypeLeaseAcquired }
func (*LeaseReleased) Type() Type         { return TypeLeaseReleased }
func (*ToolProgress) Type() Type          { return TypeToolProgress }
func (*HostOperation) Type() Type         { return TypeHostOperation }
func (*ToolUnknown) Type() Type           { return TypeToolUnknown }
func (*ReconcileStarted) Type() Type      { return TypeReconcileStarted }
func (*OperationFound) Type() Type        { return TypeOperationFound }
func (*OperationAbsent) Type() Type       { return TypeOperationAbsent }
func (*ReconcileInconclusive) Type() Type { return TypeReconcileInconclusive }
