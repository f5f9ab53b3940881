package core

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// Effect is something owed to the world. Everything that it rests on is durable. ID is stable: the driver
// performs each id once, and an effect that is performed again after a crash is harmless or has been
// turned into another by the Claimed that recovery begins with.
type Effect interface{ ID() string }

// ConsultRecipe asks the hooks that Questions names, and brings RecipeAnswered.
type ConsultRecipe struct{ Of uint64 }

// CallModel calls the model with what is visible, and brings ModelReplied or ModelFailed.
type CallModel struct {
	Request uint64 // sequence number of the ModelRequested
	Ordinal int64
	// Compaction, where it is set, asks for a summary of a part of what is visible.
	Compaction *event.Compaction
}

// CallTool calls a tool, and brings ToolFinished.
type CallTool struct {
	Step        int64
	Attempt     int64
	Tool        string
	Arguments   string // a JSON object
	OperationID string
	Leases      []Lease
}

// AcquireLeases waits until a step is due and nobody else has the resources that it may change, and brings LeasesFree.
type AcquireLeases struct {
	Step      int64
	Attempt   int64 // that is to start
	Resources []string
	Due       int64 // microseconds since the Unix epoch; 0: at once
}

// CancelTool cuts off the call of a step, or the undoing of an operation, and brings ToolCancelled once it no longer runs,
// or ToolFinished, or Compensated, where the call was faster. A call that this process does not run died with the one that did.
type CancelTool struct {
	Step    int64
	Attempt int64
}

// Reconcile asks the tool of a step whether its operation happened, and brings Reconciled.
type Reconcile struct {
	Step        int64
	Attempt     int64 // that is asked about
	Try         int64
	Tool        string
	Arguments   string // a JSON object
	OperationID string
}

// Compensate lets a tool undo an operation of the task that this one refers to, and brings Compensated.
type Compensate struct {
	Step        int64 // the operation's place in this task
	Attempt     int64
	Tool        string
	Arguments   string // a JSON object
	OperationID string
	// CompensationID is the same over all attempts, and over all tasks that undo the operation.
	CompensationID string
	Result         string
	Evidence       json.RawMessage
	Leases         []Lease
}

// SetTimer waits until a time, in microseconds since the Unix epoch, and brings TimerFired.
type SetTimer struct{ At int64 }

// Advance brings Advanced at once.
type Advance struct{ Of uint64 }

// ID implements Effect.
func (e ConsultRecipe) ID() string { return fmt.Sprintf("consult:%d", e.Of) }

// ID implements Effect.
func (e CallModel) ID() string { return fmt.Sprintf("model:%d", e.Request) }

// ID implements Effect.
func (e CallTool) ID() string { return fmt.Sprintf("tool:%d:%d", e.Step, e.Attempt) }

// ID implements Effect.
func (e AcquireLeases) ID() string { return fmt.Sprintf("lease:%d:%d", e.Step, e.Attempt) }

// ID implements Effect.
func (e CancelTool) ID() string { return fmt.Sprintf("cancel:%d:%d", e.Step, e.Attempt) }

// ID implements Effect.
func (e Reconcile) ID() string { return fmt.Sprintf("reconcile:%d:%d:%d", e.Step, e.Attempt, e.Try) }

// ID implements Effect.
func (e Compensate) ID() string { return fmt.Sprintf("undo:%d:%d", e.Step, e.Attempt) }

// ID implements Effect.
func (e SetTimer) ID() string { return fmt.Sprintf("timer:%d", e.At) }

// ID implements Effect.
func (e Advance) ID() string { return fmt.Sprintf("advance:%d", e.Of) }

// Pending gives what is owed to the world, in a fixed order. A task that is neither ended nor stopped
// always has something pending.
func Pending(s *State) []Effect {
	switch {
	case s.created == nil || s.outcome != nil || s.stop != nil:
		return nil
	case s.undoes():
		return s.pendingUndo()
	case s.cancel != nil:
		return s.pendingCancels()
	case s.conv.Stage() == conv.NotInitialized:
		return []Effect{ConsultRecipe{Of: s.createdSeq}}
	case s.reply != nil:
		return []Effect{ConsultRecipe{Of: s.replySeq}}
	case s.request != 0:
		return []Effect{CallModel{Request: s.request, Ordinal: s.answered + 1, Compaction: s.compaction}}
	case s.retryAt != 0:
		return []Effect{SetTimer{At: s.retryAt}}
	}
	effects := s.pendingSteps(func(step *task.Step) Effect {
		return CallTool{
			Step: step.ID, Attempt: step.Attempt, Tool: step.Request.Tool,
			Arguments: effective(&step.Request), OperationID: step.Request.OperationID, Leases: leasesOf(step.Leases),
		}
	})
	switch {
	case len(effects) > 0:
		return effects
	case s.awaited() != nil:
		return nil
	case s.wantsOutcomes() || s.wantsCompactionPlan():
		return []Effect{ConsultRecipe{Of: s.seq}}
	}
	return []Effect{Advance{Of: s.seq}}
}

// pendingCancels cuts off what is executing, and looks for what may have happened. Without either the task waits for a
// person, or it would have ended.
func (s *State) pendingCancels() []Effect {
	return s.pendingSteps(func(step *task.Step) Effect { return CancelTool{Step: step.ID, Attempt: step.Attempt} })
}

// pendingSteps gives what is owed to the steps of the batch, and the timer of the first that waits. executing gives
// what is owed to one that executes.
func (s *State) pendingSteps(executing func(*task.Step) Effect) []Effect {
	var effects []Effect
	var due int64
	for i := range s.steps {
		step, names := &s.steps[i], []string(nil)
		if step.State == task.Ready {
			names = s.leased(step)
		}
		switch {
		case step.State == task.Executing:
			effects = append(effects, executing(step))
		case len(names) > 0:
			if s.cancel == nil && s.startable(i) {
				effects = append(effects, AcquireLeases{Step: step.ID, Attempt: step.Attempt + 1, Resources: names, Due: step.Due})
			}
		case step.State == task.Reconciling && step.Probing:
			effects = append(effects, Reconcile{
				Step: step.ID, Attempt: step.Attempt, Try: step.Tries, Tool: step.Request.Tool,
				Arguments: effective(&step.Request), OperationID: step.Request.OperationID,
			})
		case s.waits(i) && (due == 0 || step.Due < due):
			due = step.Due
		}
	}
	if due != 0 {
		effects = append(effects, SetTimer{At: due})
	}
	return effects
}

// waits tells whether the i-th step goes on when its time has come. One that is ready needs a place and its resources as
// well: when these become free is told by what frees it, and a timer would only fire again and again.
func (s *State) waits(i int) bool {
	step := &s.steps[i]
	switch {
	case step.Due == 0:
		return false
	case step.State == task.Ready:
		return s.startable(i)
	}
	return step.State == task.Reconciling
}

// Seeking tells whether it is being found out what a call did.
func (s *State) Seeking() bool {
	return slices.ContainsFunc(s.steps, func(step task.Step) bool { return step.State == task.Reconciling })
}

// Awaited gives the steps whose outcome a person has to find out.
func (s *State) Awaited() []int64 {
	var ids []int64
	for i := range s.steps {
		if s.steps[i].State == task.AwaitingOutcome {
			ids = append(ids, s.steps[i].ID)
		}
	}
	return ids
}

// Attempt is how often a step of the batch under way was started; 0 where there is none.
func (s *State) Attempt(step int64) int64 {
	if found := s.step(step); found != nil {
		return found.Attempt
	}
	return 0
}

// awaited gives the first step whose outcome a person has to find out, where nothing else can go on; nil when
// there is none.
func (s *State) awaited() *task.Step {
	var first *task.Step
	for i := range s.steps {
		switch step := &s.steps[i]; step.State {
		case task.AwaitingOutcome:
			if first == nil {
				first = step
			}
		case task.Executing, task.Reconciling:
			return nil
		case task.Ready:
			if !s.held(s.plan, s.steps, i) {
				return nil
			}
		}
	}
	return first
}
