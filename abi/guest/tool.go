package guest

import (
	"encoding/json"
	"fmt"

	"github.com/axishost/axishost/abi"
)

// Call is one call of a tool.
type Call struct {
	// Arguments is the JSON object that the model gave, after the host checked it against the tool's
	// input_schema.
	Arguments json.RawMessage
	// OperationID is the same over all attempts of one step: pass it on as an idempotency key.
	OperationID string
	// Attempt counts from 1. A tool that writes passes it on beside the OperationID, so that Reconcile can shut out the
	// attempts up to one, and no later one.
	Attempt int64
	// Leases are the resources that a call has to itself, as the tool's templates name them.
	Leases []abi.Lease
	// Try counts the questions of Reconcile about Attempt, from 1; 0 in a call.
	Try int64
}

// Decode reads the arguments into v, a pointer to a struct. Anything that v has no field for is an error
// whose text the model can act on: return it with Invalid("%v", err).
func (c Call) Decode(v any) error { return decodeStrict(c.Arguments, v) }

// Fence gives the fence of the lease on a resource: pass it on to a service that refuses what comes under an earlier one.
// It is 0 where the call has no such lease.
func (c Call) Fence(resource string) uint64 {
	for _, l := range c.Leases {
		if l.Resource == resource {
			return l.Fence
		}
	}
	return 0
}

// Result is what a tool answers. OK, Invalid, Failed and Unknown make one; the other fields may be set
// afterwards.
type Result = abi.ToolOutput

// OK is the result of a call that happened. The model reads the text.
func OK(text string) Result { return Result{Status: abi.ToolOK, Result: text} }

// Invalid is the result of a call whose arguments are wrong. The text says how, so that the model can repair
// them; the same call is not made again.
func Invalid(format string, args ...any) Result {
	return Failed(abi.ClassInvalidArguments, format, args...)
}

// Failed is the result of a call that is known not to have happened, or to have failed whole.
func Failed(class abi.FailureClass, format string, args ...any) Result {
	return Result{Status: abi.ToolFailed, Class: class, Result: fmt.Sprintf(format, args...)}
}

// Unknown is the result of a call that may have happened: the host reconciles it before anything else.
func Unknown(format string, args ...any) Result {
	return Result{Status: abi.ToolUnknown, Result: fmt.Sprintf(format, args...)}
}
