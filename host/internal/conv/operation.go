package conv

import (
	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
)

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
	Answers      Answers
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
	// ResetRollbacks sets the counter of rollbacks to 0: the round brought something.
	ResetRollbacks bool
}

// Result is the result of one call.
type Result struct {
	Message event.Message
	Of      uint64
}

func (Init) name() string    { return "init" }
func (Reply) name() string   { return "assistant" }
func (Results) name() string { return "tools" }
