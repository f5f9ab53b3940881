package guest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/axishost/axishost/abi"
)

// Tool registers the function that runs a tool, under the name that the manifest declares it by. It is
// called from init; registering a name twice panics. The methods of what it gives register the other functions
// of the tool, each once; the manifest says which of them the host may call:
//
//	guest.Tool("append", run).Reconcile(look).Compensate(undo)
func Tool(name string, run func(Call) Result) *ToolFunctions { return plugin.addTool(name, run) }

// ToolFunctions are the functions of one tool.
type ToolFunctions struct {
	name  string
	owner *registry
	hooks map[abi.Hook]handler
}

// Reconcile registers the function that finds out what became of a call whose outcome is not known. The call is
// that of the tool, with the Attempt that was made last; Try counts the questions about it. It changes nothing, but may
// shut out requests of this attempt and of those before it that are still under way.
func (t *ToolFunctions) Reconcile(f func(Call) Reconciliation) *ToolFunctions {
	return t.add(abi.HookToolReconcile, toolHook(func(in abi.ReconcileInput) (Reconciliation, error) {
		out := f(Call{Arguments: in.Arguments, OperationID: in.OperationID, Attempt: in.Attempt, Try: in.Try})
		return out, needs(out.Status != "", "an answer without a status")
	}))
}

// Compensate registers the function that undoes a call which happened. Undoing it twice must be one effect.
func (t *ToolFunctions) Compensate(f func(Undo) Result) *ToolFunctions {
	return t.add(abi.HookToolCompensate, toolHook(func(in abi.CompensateInput) (Result, error) {
		out := f(Undo{in.Arguments, in.OperationID, in.CompensationID, in.Result, in.Evidence, in.Leases})
		return out, needs(out.Status != "", "a result without a status")
	}))
}

// Preview registers the function that describes a call for whoever approves it. It uses nothing but its
// arguments and Config: the call is not made yet, and has no OperationID. An error says why there is no preview.
func (t *ToolFunctions) Preview(f func(Call) (abi.PreviewOutput, error)) *ToolFunctions {
	return t.add(abi.HookToolPreview, toolHook(func(in abi.PreviewInput) (abi.PreviewOutput, error) {
		out, err := f(Call{Arguments: in.Arguments})
		if err != nil {
			return out, err
		}
		return out, needs(out.Reversible != "", "a preview that does not say whether the call is reversible")
	}))
}

// Check registers the function that says what schemas cannot: before a call whether it may be made, and after it
// whether it reached what it should. The reason of a no is what the model reads. It uses nothing but what it is
// given and Config.
func (t *ToolFunctions) Check(f func(Checked) (ok bool, reason string)) *ToolFunctions {
	return t.add(abi.HookToolCheck, toolHook(func(in abi.CheckInput) (abi.CheckResult, error) {
		if ok, reason := f(Checked{in.Stage, in.Arguments, in.Result}); !ok {
			return abi.CheckResult{Reason: reason}, nil
		}
		return abi.CheckResult{OK: true}, nil
	}))
}

// Undo is a call that happened and is to be undone.
type Undo struct {
	Arguments   json.RawMessage
	OperationID string // of the call
	// CompensationID is the same over all attempts to undo it: pass it on as an idempotency key. The host tries again
	// what may have been undone.
	CompensationID string
	// Result and Evidence are what the call gave, or Reconcile found.
	Result   string
	Evidence json.RawMessage
	// Leases are the resources that the undoing has to itself.
	Leases []abi.Lease
}

// Fence is that of Call.
func (u Undo) Fence(resource string) uint64 { return Call{Leases: u.Leases}.Fence(resource) }

// Decode is that of Call.
func (u Undo) Decode(v any) error { return decodeStrict(u.Arguments, v) }

// Checked is a call that is checked.
type Checked struct {
	Stage     abi.CheckStage
	Arguments json.RawMessage
	Result    string // at abi.CheckAfter
}

// Decode is that of Call.
func (c Checked) Decode(v any) error { return decodeStrict(c.Arguments, v) }

// Reconciliation is what became of a call. Found, Absent and Inconclusive make one; the other fields may be set
// afterwards.
type Reconciliation = abi.ReconcileOutput

// Found says that the call happened. The model reads the text as the call's result.
func Found(text string) Reconciliation {
	return Reconciliation{Status: abi.ReconcileFound, Result: text}
}

// Absent says that the call has not happened and will not happen any more: the host may make it again. It is not
// enough that nothing is there, for a request may still be under way; then the answer is Inconclusive.
func Absent(format string, args ...any) Reconciliation {
	return Reconciliation{Status: abi.ReconcileAbsent, Reason: fmt.Sprintf(format, args...)}
}

// Inconclusive says that it is not known what became of the call. The host asks again, and in the end a person.
func Inconclusive(format string, args ...any) Reconciliation {
	return Reconciliation{Status: abi.ReconcileInconclusive, Reason: fmt.Sprintf(format, args...)}
}

// badOutput is the error of a function that answered nothing.
type badOutput string

func (e badOutput) Error() string { return string(e) }

func needs(ok bool, text string) error {
	if ok {
		return nil
	}
	return badOutput("gave " + text)
}

// toolHook makes a handler of a function from one JSON message to another, which it always answers.
func toolHook[In, Out any](f func(In) (Out, error)) handler {
	return func(input []byte) ([]byte, abi.Code, error) {
		var in In
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, abi.CodeBadInput, fmt.Errorf("input: %w", err)
		}
		out, err := f(in)
		var bad badOutput
		if errors.As(err, &bad) {
			return nil, abi.CodeBadOutput, bad
		} else if err != nil {
			return nil, abi.CodeFailed, err
		}
		return encode(out)
	}
}

// add registers a function of the tool, and with the first one of its kind the hook.
func (t *ToolFunctions) add(hook abi.Hook, h handler) *ToolFunctions {
	if t.hooks[hook] != nil {
		panic(fmt.Sprintf("guest: %s of tool %q is registered twice", hook, t.name))
	}
	if t.owner.hooks[hook] == nil {
		t.owner.add(hook, func(input []byte) ([]byte, abi.Code, error) { return t.owner.serveTool(hook, input) })
	}
	t.hooks[hook] = h
	return t
}
