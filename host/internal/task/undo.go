package task

import (
	"fmt"

	"github.com/axishost/axishost/host/internal/event"
)

// UndoState is where the undoing of an operation stands.
type UndoState uint8

// The states of an undoing.
const (
	UndoWaiting   UndoState = iota // it has not begun, or is tried again later
	UndoExecuting                  // the tool is called
	Undone
	UndoFailed // it is not undone, or nobody knows
	undoStateCount
)

var undoStateNames = [undoStateCount]string{"waiting", "executing", "undone", "failed"}

func (s UndoState) String() string {
	if s < undoStateCount {
		return undoStateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Over tells that nothing more comes of it, unless a failure is tried again in the same commit.
func (s UndoState) Over() bool { return s == Undone || s == UndoFailed }

// undoTransitions is the table of an undoing. What may have undone it is tried again all the same: the other side knows
// the compensation by its id, so that undoing it twice is one effect.
var undoTransitions = map[UndoState]map[event.Type]UndoState{
	UndoWaiting: {event.TypeCompensationStarted: UndoExecuting, event.TypeLeaseAcquired: UndoWaiting},
	UndoExecuting: {
		event.TypeLeaseReleased:         UndoExecuting,
		event.TypeCompensationSucceeded: Undone, event.TypeCompensationFailed: UndoFailed,
		event.TypeHostOperation: UndoExecuting, event.TypeToolProgress: UndoExecuting,
	},
	UndoFailed: {event.TypeRetryScheduled: UndoWaiting},
}

// UndoError says that an event does not fit the state of the undoing that it is about.
type UndoError struct {
	ID    int64
	State UndoState
	Event event.Type
	// Last is the latest event of it; empty for none.
	Last event.Type
}

func (e *UndoError) Error() string {
	return fmt.Sprintf("undoing %d in state %s cannot take event %s (last %q)", e.ID, e.State, e.Event, e.Last)
}

// Undo is the undoing of one operation.
type Undo struct {
	ID      int64 // its place in the task, from 1: the step of its events
	State   UndoState
	Attempt int64 // counts the starts
	// Started is the sequence number of the event that last started it.
	Started uint64
	// Due is when one that waits is tried again, in microseconds since the Unix epoch; 0: at once.
	Due int64
	// Outbound are the operations of the attempt.
	Outbound
	// Unknown tells that one of its attempts may have undone it.
	Unknown bool
	// Result is what the tool said where it is undone, Reason why it is not, and Class of which kind that is.
	Result string
	Reason string
	Class  string

	// Leases are the resources that it has to itself.
	Leases []event.LeaseAcquired

	last event.Type
}

// Apply moves the undoing by a durable event.
func (u *Undo) Apply(e *event.Event) error {
	next, ok := undoTransitions[u.State][e.Payload.Type()]
	if !ok {
		return &UndoError{ID: u.ID, State: u.State, Event: e.Payload.Type(), Last: u.last}
	}
	u.State, u.last = next, e.Payload.Type()
	switch p := e.Payload.(type) {
	case *event.CompensationStarted:
		u.Started, u.Attempt, u.Due, u.Outbound = e.Seq, e.Attempt, 0, Outbound{}
	case *event.LeaseAcquired, *event.LeaseReleased:
		u.Leases = leased(u.Leases, p)
	case *event.HostOperation:
		u.take(p)
	case *event.CompensationSucceeded:
		u.Result, u.Reason, u.Class, u.Unknown = p.Result, "", "", false
	case *event.CompensationFailed:
		u.Reason, u.Class, u.Unknown = p.Reason, p.Class, p.Unknown
	case *event.RetryScheduled:
		u.Due = p.At
	}
	return nil
}
