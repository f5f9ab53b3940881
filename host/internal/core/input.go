package core

import (
	"encoding/json"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
)

// Input is one thing that happened.
type Input interface{ input() }

// TaskSubmitted begins a task, claimed by Worker.
type TaskSubmitted struct {
	Task    string
	Worker  string
	Created event.TaskCreated
}

// PluginsRejected says that plugins were refused: those of a task that is not there yet, and that Created would
// have begun, or, without Created, those that a task has pinned.
type PluginsRejected struct {
	Task     string
	Created  *event.TaskCreated
	Rejected []event.PluginRejected
}

// Claimed says that Worker takes the task over, under a fence above the task's. What an earlier worker had
// under way is lost.
type Claimed struct {
	Worker string
	Fence  uint64
}

// RecipeAnswered brings what the recipe's hooks said, all of one consultation.
type RecipeAnswered struct {
	Answers []event.Answer
	// Misfits is as in ModelReplied, for the arguments as the recipe repaired them.
	Misfits map[int]string
	Unmet   map[int]string
}

// ModelReplied brings a reply.
type ModelReplied struct {
	Reply event.ModelReplied
	// Misfits says, for calls whose arguments do not fit their tool's schema, why; by place in the reply.
	Misfits map[int]string
	// Unmet says, for calls whose tool's precondition does not hold, why.
	Unmet map[int]string
}

// ModelFailed says that a model call gave no reply.
type ModelFailed struct {
	Failure event.ModelFailed
	// Retryable tells that trying again can help.
	Retryable bool
	// RetryAfter is how long the endpoint asks to wait, in microseconds; 0 when it did not say.
	RetryAfter int64
	// Jitter is a random draw: 0 to 65535.
	Jitter int64
}

// TimerFired says that the time of a SetTimer has come.
type TimerFired struct{}

// ToolFinished brings the outcome of a tool call: Output, or Fault when the plugin failed.
type ToolFinished struct {
	Step    int64
	Attempt int64
	Output  abi.ToolOutput
	Fault   string
	// Unexpected is how the result is not what the tool's contract promises; empty where it is.
	Unexpected string
	// Class is how the plugin failed: timeout, trap, fuel, crash or killed.
	Class string
	// Jitter is a random draw: 0 to 65535.
	Jitter int64
	// Tokens is what the result counts; 0 when it was not counted.
	Tokens int64
}

// LeasesFree says that nobody has the resources of an AcquireLeases. They are the step's once what this leads to is
// durable, and only then.
type LeasesFree struct {
	Step    int64
	Attempt int64
	Leases  []Lease
}

// Lease is one resource that a step may have to itself.
type Lease struct {
	Resource string
	// Fence is above that of every earlier lease of the resource.
	Fence uint64
}

// Compensated brings what came of the undoing of an operation: Output, or Fault when the plugin failed.
type Compensated struct {
	Step    int64
	Attempt int64
	Output  abi.ToolOutput
	Fault   string
	// Class is as in ToolFinished.
	Class string
	// Jitter is a random draw: 0 to 65535.
	Jitter int64
}

// OperationBegan asks that an operation of a running call which may change something outside be kept, before it is
// done. Where this leads to no event the operation must not be done.
type OperationBegan struct {
	Step      int64
	Attempt   int64
	Operation event.HostOperation
}

// OperationEnded brings how an operation of a call ended.
type OperationEnded struct {
	Step      int64
	Attempt   int64
	Operation event.HostOperation
}

// Reconciled brings what a probe found out about a call whose outcome is not known, or Fault when
// the plugin failed.
type Reconciled struct {
	Step int64
	Try  int64
	// Status is found, absent or inconclusive.
	Status   string
	Result   string
	Evidence json.RawMessage
	// Reason is why nothing was found out.
	Reason string
	Fault  string
	// Unexpected is as in ToolFinished.
	Unexpected string
	// RetryAfter is how long the tool asks to wait before the next probe, in microseconds; 0 when it did not say.
	RetryAfter int64
	// Tokens is what the result counts; 0 when it was not counted.
	Tokens int64
	// Jitter is a random draw: 0 to 65535.
	Jitter int64
}

// OutcomeDecided brings what a person found out where the tool could not.
type OutcomeDecided struct {
	Step int64
	// Attempt is the one that the person looked for; 0 is whichever waits.
	Attempt  int64
	Found    bool
	Result   string
	Evidence json.RawMessage
	Actor    event.Actor
}

// CancelRequested asks that the task end. Actor is who asks; the zero value is the user.
type CancelRequested struct {
	Reason string
	Actor  event.Actor
}

// ToolCancelled says that the call of a CancelTool no longer runs, and has given nothing.
type ToolCancelled struct {
	Step    int64
	Attempt int64
}

// Advanced brings nothing: it lets the machine go on by itself where a commit ended in the middle.
type Advanced struct{}

func (TaskSubmitted) input()   {}
func (PluginsRejected) input() {}
func (Claimed) input()         {}
func (RecipeAnswered) input()  {}
func (ModelReplied) input()    {}
func (ModelFailed) input()     {}
func (TimerFired) input()      {}
func (ToolFinished) input()    {}
func (LeasesFree) input()      {}
func (Compensated) input()     {}
func (OperationBegan) input()  {}
func (OperationEnded) input()  {}
func (Reconciled) input()      {}
func (OutcomeDecided) input()  {}
func (CancelRequested) input() {}
func (ToolCancelled) input()   {}
func (Advanced) input()        {}
