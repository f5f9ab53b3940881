package core

import (
	"errors"
	"fmt"
	"slices"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// A task that undoes what another one did (a compensation task) has no conversation: it lets the tools undo the operations
// that its TaskCreated names, in that order, one after the other. In its events the step of the envelope is the
// place of the operation, from 1, that an event is about.

// whileUndoing are the events of such a task that are about no operation.
var whileUndoing = []event.Type{
	event.TypeClaimed, event.TypePluginRejected, event.TypeCancelRequested, event.TypeTaskCancelled,
	event.TypeGoalVerified, event.TypeTaskSucceeded, event.TypeTaskPartial, event.TypeTaskFailed,
}

// undoes tells whether the task is one that undoes what another did.
func (s *State) undoes() bool { return s.created != nil && s.created.Compensates != nil }

// newUndos gives the undoings of a task before the first has begun.
func newUndos(created *event.TaskCreated) ([]task.Undo, error) {
	switch {
	case created.Compensates == nil:
		return nil, nil
	case len(created.Compensates.Operations) == 0:
		return nil, errors.New("a task that undoes has operations to undo")
	case created.Recipe != nil:
		return nil, errors.New("a task that undoes has no recipe")
	}
	undos := make([]task.Undo, len(created.Compensates.Operations))
	for i := range undos {
		undos[i].ID = int64(i) + 1
	}
	return undos, nil
}

// turn gives the undoing whose turn it is: the first that is not over; nil when all are.
func turn(undos []task.Undo) *task.Undo {
	i := slices.IndexFunc(undos, func(u task.Undo) bool { return !u.State.Over() })
	if i < 0 {
		return nil
	}
	return &undos[i]
}

// undoOf gives the undoing at a place, while its n-th attempt is under way; nil when it is not.
func undoOf(undos []task.Undo, place, attempt int64) *task.Undo {
	u := turn(undos)
	if u == nil || u.ID != place || u.Attempt != attempt || u.State != task.UndoExecuting {
		return nil
	}
	return u
}

// evolveUndo applies an event about one operation.
func (s *State) evolveUndo(e *event.Event) error {
	if e.Step > int64(len(s.undos)) {
		return fmt.Errorf("there are %d operations to undo, and none has the place %d", len(s.undos), e.Step)
	}
	u, op := &s.undos[e.Step-1], &s.created.Compensates.Operations[e.Step-1]
	if p, ok := e.Payload.(*event.CompensationStarted); ok {
		switch next := turn(s.undos); {
		case next != u && next != nil:
			return fmt.Errorf("operation %d is to be undone before operation %d", next.ID, u.ID)
		case p.Of != op.OperationID:
			return fmt.Errorf("operation %d is %s, not %s", u.ID, op.OperationID, p.Of)
		}
	}
	return u.Apply(e)
}

// undoPhase gives what a task that undoes is doing.
func undoPhase(undos []task.Undo) Phase {
	switch u := turn(undos); {
	case u == nil || u.State == task.UndoWaiting && u.Attempt > 0:
		return PhaseReady // the next attempt, or the end
	case u.State == task.UndoExecuting:
		return PhaseExecuting
	case u.ID > 1:
		return PhaseReady
	}
	return PhaseCreated
}

// undoResources are what an undoing needs to itself: what its operation did.
func (s *State) undoResources(u *task.Undo) []string {
	op := &s.created.Compensates.Operations[u.ID-1]
	return s.named(op.Tool, op.Arguments)
}

// pendingUndo gives what is owed to the operation whose turn it is.
func (s *State) pendingUndo() []Effect {
	switch u := turn(s.undos); {
	case u != nil && u.State == task.UndoWaiting && len(s.undoResources(u)) > 0:
		return []Effect{AcquireLeases{Step: u.ID, Attempt: u.Attempt + 1, Resources: s.undoResources(u), Due: u.Due}}
	case u == nil || (u.State == task.UndoWaiting && u.Due == 0):
		return []Effect{Advance{Of: s.seq}}
	case u.State == task.UndoWaiting:
		return []Effect{SetTimer{At: u.Due}}
	case s.cancel != nil:
		return []Effect{CancelTool{Step: u.ID, Attempt: u.Attempt}}
	default:
		op := &s.created.Compensates.Operations[u.ID-1]
		return []Effect{Compensate{
			Step: u.ID, Attempt: u.Attempt, Tool: op.Tool, Arguments: op.Arguments, OperationID: op.OperationID,
			CompensationID: CompensationID(s.created.Compensates.Task, op.OperationID), Result: op.Result, Evidence: op.Evidence,
			Leases: leasesOf(u.Leases),
		}}
	}
}
