package conv

import (
	"encoding/json"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
)

// OperationTools is the name under which [Results] stand in a decision.
const OperationTools = "tools"

// Operation is one thing that happens to a conversation.
type Operation interface{ name() string }

// Init begins the conversation. System and User, where not nil, are what the recipe's start hook gave
// instead of the configuration's.
type Init struct {
	Task   string
	System *string
	User   *string
}

// Reply applies a reply of the model.
type Reply struct {
	Message event.Message
	// Of is the event that holds the message; 0 stores it here.
	Of           uint64
	FinishReason string
	// Observed is how many prompt tokens the endpoint counted for what was visible before this reply; it is
	// taken in first. 0 when it did not say.
	Observed int64
	Answers  Answers
}

// Answers are what the recipe's hooks said of a reply. Nil is no decision: the configuration's keywords and
// prompts hold.
type Answers struct {
	Refusal     *abi.Keywords
	FormatError *abi.FormatError
	DirectFinal *string
	PromptFinal *bool
	Verdict     *Verdict
}

// Verdict is what verify said of the answer that a reply would complete with.
type Verdict struct {
	Verified bool
	Reason   string
}

// Results applies the results of all pending calls.
type Results struct {
	Results []Result
	// Exhausted tells that no tool may be called any more: the final turn is forced.
	Exhausted bool
	// ResetRollbacks sets the counter of rollbacks to 0: the round brought something.
	ResetRollbacks bool
}

// Result is the result of one call.
type Result struct {
	Message event.Message
	Of      uint64
	// Rejected tells that the call was not run.
	Rejected bool
}

// Observe takes in how many tokens the endpoint counted for what is visible.
type Observe struct{ Tokens int64 }

// ResetRollbacks sets the counter of rollbacks in a row to 0.
type ResetRollbacks struct{}

// RollbackToolCalls hides the reply whose calls are pending, and asks again. With no rollback left it does
// nothing.
type RollbackToolCalls struct{ Reason string }

// RollbackExchange hides the latest tool exchange and forces the final turn: the way on when even the
// forced reply runs out of tokens. Where there is no such exchange it does nothing.
type RollbackExchange struct{ Reason string }

// ContextError says that the endpoint refused the prompt for its length. Info is what it said, an object.
type ContextError struct{ Info json.RawMessage }

// Marker appends a marker word for word.
type Marker struct{ Name, Content string }

// Append appends a message between steps.
type Append struct{ Message event.Message }

// Reopen lets the conversation go on from any stage, its terminal ones included.
type Reopen struct{}

// SetMaxTurns changes the turn limit; nil is none. It is looked at when the next step is.
type SetMaxTurns struct{ Limit *int64 }

// Reset takes the conversation back to before its first message.
type Reset struct{}

// ForceFinalize forces the final turn, from any stage in which the model is called.
type ForceFinalize struct{ Trigger string }

func (Init) name() string              { return "init" }
func (Reply) name() string             { return "assistant" }
func (Results) name() string           { return OperationTools }
func (Observe) name() string           { return "observe" }
func (ResetRollbacks) name() string    { return "reset_rollbacks" }
func (RollbackToolCalls) name() string { return "rollback_tool_calls" }
func (RollbackExchange) name() string  { return "rollback_exchange" }
func (ContextError) name() string      { return "context_error" }
func (Marker) name() string            { return "marker" }
func (Append) name() string            { return "append" }
func (Reopen) name() string            { return "reopen" }
func (SetMaxTurns) name() string       { return "set_max_turns" }
func (Reset) name() string             { return "reset" }
func (ForceFinalize) name() string     { return "force_finalize" }
