package core

import (
	"fmt"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// StopKind says what a task waits for before it can go on.
type StopKind string

// The kinds of stop.
const (
	StopModel   StopKind = "model"
	StopPlugin  StopKind = "plugin"
	StopOutcome StopKind = "outcome" // a person has to find out what a call did
)

// Stop says why a task has come to a halt that is not its end: it can be resumed.
type Stop struct {
	Kind   StopKind
	Reason string
	// Step is which step, where it is one that the task waits for.
	Step int64
}

// Outcome is how a task ended.
type Outcome struct {
	Phase    Phase
	Answer   string
	Verified string
	Reason   string
}

// State is a task. Only Evolve changes it.
type State struct {
	task       string
	seq        uint64
	fence      uint64
	created    *event.TaskCreated
	createdSeq uint64
	createdAt  int64
	config     Config
	conv       *conv.State

	// request is the ModelRequested whose outcome is not known; answered counts the calls that the endpoint
	// answered; failures those in a row that failed; retryAt is when the next is due.
	request  uint64
	answered int64
	failures int64
	retryAt  int64
	// spent counts the tokens of all replies, as the endpoint reported them.
	spent int64

	// compaction is what the request under way, or waited for, asks a summary of; compacted tells that one
	// was tried since the last step.
	compaction *event.Compaction
	compacted  bool

	// reply is a reply that is not judged yet; answers are those of the last consultation.
	reply    *event.ModelReplied
	replySeq uint64
	answers  []event.Answer

	// steps are those of the batch under way, in call order; stepCount counts all of the task.
	steps     []task.Step
	stepCount int64
	evidence  []abi.Evidence
	done      []string // what was changed outside, a line each
	plan      []event.PlanItem
	items     map[string]bool // of plans that are done
	// replanning tells that what was planned does not fit any more, until the model's next turn.
	replanning bool
	calls      callCounts
	keys       map[string]bool  // queries that were made
	failed     map[string]int64 // failures that were observed, by what failed how
	stuck      bool             // one of them was observed too often

	// made holds the messages that events made and that no MessageAppended has taken up yet.
	made map[uint64]event.Message

	// cancel is the request to end the task, while it waits for what is under way.
	cancel    *event.CancelRequested
	cancelSeq uint64

	// undos are, of a task that undoes what another did, what becomes of each operation, in the order of undoing.
	undos []task.Undo

	stop    *Stop
	outcome *Outcome
}

// New gives the state before the first event.
func New() *State {
	return &State{made: map[uint64]event.Message{}, keys: map[string]bool{}, failed: map[string]int64{}, items: map[string]bool{}, calls: newCallCounts()}
}

// Seq is the sequence number of the last event.
func (s *State) Seq() uint64 { return s.seq }

// Fence is the fence of the last claim.
func (s *State) Fence() uint64 { return s.fence }

// Created is what began the task; nil before.
func (s *State) Created() *event.TaskCreated { return s.created }

// CreatedAt is when the task was created, in microseconds since the Unix epoch.
func (s *State) CreatedAt() int64 { return s.createdAt }

// Config is the pinned configuration.
func (s *State) Config() *Config { return &s.config }

// Conversation is the conversation, to be read only.
func (s *State) Conversation() *conv.State { return s.conv }

// Stop is why the task halted; nil when it did not.
func (s *State) Stop() *Stop {
	if s.stop != nil || s.outcome != nil {
		return s.stop
	}
	step := s.awaited()
	if step == nil {
		return nil
	}
	return &Stop{Kind: StopOutcome, Step: step.ID, Reason: fmt.Sprintf(
		"step %d (%s, operation %s) may have happened, and nobody knows: %s", step.ID, step.Request.Tool, step.Request.OperationID, step.Unknown)}
}

// Outcome is how the task ended; nil when it did not.
func (s *State) Outcome() *Outcome { return s.outcome }

// Cancelling tells that the task ends as soon as nothing is under way.
func (s *State) Cancelling() bool { return s.cancel != nil && s.outcome == nil }

// Unjudged are the calls of the reply that is not judged yet.
func (s *State) Unjudged() []event.ToolCall {
	if s.reply == nil {
		return nil
	}
	return s.reply.Message.ToolCalls
}

// Prompt gives the messages of a model call.
func (s *State) Prompt(c *event.Compaction) []event.Message {
	if c == nil {
		return s.conv.Prompt()
	}
	return s.conv.Excerpt(int(c.From), int(c.To), c.Prompt)
}

// tool finds a tool that the task offers.
func (s *State) tool(name string) *event.ToolSpec {
	for i := range s.created.Tools {
		for j := range s.created.Tools[i].Tools {
			if t := &s.created.Tools[i].Tools[j]; t.Name == name {
				return t
			}
		}
	}
	return nil
}

// step finds a step of the batch under way.
func (s *State) step(id int64) *task.Step {
	for i := range s.steps {
		if s.steps[i].ID == id {
			return &s.steps[i]
		}
	}
	return nil
}
