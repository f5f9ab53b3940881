package task

import (
	"fmt"

	"github.com/axishost/axishost/host/internal/event"
)

// State is where a step stands.
type State uint8

// The states of a step.
const (
	None State = iota
	Proposed
	Ready
	Executing
	Observing
	Failed
	Denied
	Closed    // done: its result was taken up
	Cancelled // never begun, or cut off before anything had happened
	stateCount
)

var stateNames = [stateCount]string{"none", "proposed", "ready", "executing", "observing", "failed", "denied", "done", "cancelled"}

func (s State) String() string {
	if s < stateCount {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Settled tells that the step's outcome is known and waits to be observed.
func (s State) Settled() bool { return s == Observing || s == Failed || s == Denied }

// Over tells that nothing more can come of the step.
func (s State) Over() bool { return s == Closed || s == Cancelled }

// transitions is the table of the step machine.
var transitions = map[State]map[event.Type]State{
	None:      {event.TypeToolRequested: Proposed},
	Proposed:  {event.TypeToolAuthorized: Ready, event.TypeStepDenied: Denied, event.TypeStepCancelled: Cancelled},
	Ready:     {event.TypeToolStarted: Executing, event.TypeStepCancelled: Cancelled},
	Executing: {event.TypeToolSucceeded: Observing, event.TypeToolFailed: Failed, event.TypeCancelAcknowledged: Cancelled},
	Failed:    {event.TypeRetryScheduled: Ready, event.TypeObservationRecorded: Closed, event.TypeStepCancelled: Cancelled},
	Denied:    {event.TypeObservationRecorded: Closed},
	Observing: {event.TypeObservationRecorded: Closed},
}

// TransitionError says that an event does not fit the state of its step.
type TransitionError struct {
	Step  int64
	State State
	Event event.Type
	// Last are the latest events of the step, oldest first.
	Last []event.Type
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("step %d in state %s cannot take event %s (last %v)", e.Step, e.State, e.Event, e.Last)
}

// Step is one tool call.
type Step struct {
	ID      int64
	State   State
	Attempt int64 // counts the starts
	Request event.ToolRequested
	Args    string // the digest of its canonical arguments
	// Started is the sequence number of the event that started it, Settled of the one that settled it.
	Started uint64
	Settled uint64
	// Succeeded tells that the last attempt did.
	Succeeded bool
	// Class is the class of the failure, where it failed.
	Class string
	// Fault is why the plugin failed, where that is what settled it.
	Fault string

	last [3]event.Type
}

// Next gives the state that an event leads to, without going there.
func (s *Step) Next(p event.Payload) (State, error) {
	t := p.Type()
	next, ok := transitions[s.State][t]
	if a, cancelled := p.(*event.CancelAcknowledged); cancelled && !a.NothingHappened {
		// Where it gave a result all the same it is observed. What is not known would be reconciled, which no tool
		// that is offered needs.
		next, ok = Observing, ok && a.Result != nil
	}
	if !ok {
		return s.State, &TransitionError{Step: s.ID, State: s.State, Event: t, Last: s.history()}
	}
	return next, nil
}

// Apply moves the step by a durable event.
func (s *Step) Apply(e *event.Event) error {
	t := e.Payload.Type()
	next, err := s.Next(e.Payload)
	if err != nil {
		return err
	}
	s.State = next
	copy(s.last[:], s.last[1:])
	s.last[len(s.last)-1] = t
	switch p := e.Payload.(type) {
	case *event.ToolRequested:
		s.ID, s.Request, s.Args = e.Step, *p, e.Args
	case *event.ToolStarted:
		s.Started, s.Attempt, s.Fault = e.Seq, e.Attempt, ""
	case *event.ToolFailed:
		s.Settled, s.Class = e.Seq, p.Class
		if p.Fault {
			s.Fault = p.Reason
		}
	case *event.ToolSucceeded:
		s.Settled, s.Succeeded = e.Seq, true
	case *event.CancelAcknowledged:
		s.Settled, s.Succeeded = e.Seq, p.Result != nil
	case *event.StepDenied:
		s.Settled = e.Seq
	}
	return nil
}

func (s *Step) history() []event.Type {
	var out []event.Type
	for _, t := range s.last {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}
