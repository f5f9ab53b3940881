package task

import (
	"fmt"
	"slices"

	"github.com/axishost/axishost/host/internal/event"
)

// State is where a step stands.
type State uint8

// The states of a step.
const (
	None State = iota
	Proposed
	AwaitingPermission
	AwaitingApproval
	Validating // arguments that an approver edited
	Ready
	Executing
	Reconciling     // it may have happened: the tool is asked whether it has
	AwaitingOutcome // the tool could not tell: a person looks
	Observing
	Failed
	Denied
	Expired   // nobody approved it in time
	Closed    // done: its result was taken up
	Cancelled // never begun, or cut off before anything had happened
	stateCount
)

var stateNames = [stateCount]string{
	"none", "proposed", "awaiting_permission", "awaiting_approval", "validating", "ready", "executing", "reconciling",
	"awaiting_outcome", "observing", "failed", "denied", "expired", "done", "cancelled",
}

func (s State) String() string {
	if s < stateCount {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Settled tells that the step's outcome is known and waits to be observed.
func (s State) Settled() bool { return s == Observing || s == Failed || s == Denied }

// Over tells that nothing more can come of the step.
func (s State) Over() bool { return s == Closed || s == Cancelled || s == Expired }

// Unsure tells that the step may have changed the world, and that nobody knows yet.
func (s State) Unsure() bool { return s == Executing || s == Reconciling || s == AwaitingOutcome }

// transitions is the table of the step machine. There is deliberately no way from executing by ToolUnknown to ready:
// what may have happened is never simply done again.
var transitions = map[State]map[event.Type]State{
	None: {event.TypeToolRequested: Proposed},
	Proposed: {
		event.TypeToolAuthorized: Ready, event.TypeApprovalRequested: AwaitingApproval, event.TypeStepDenied: Denied,
		event.TypePermissionMissing: AwaitingPermission, event.TypeStepCancelled: Cancelled,
	},
	AwaitingPermission: {event.TypePermissionGranted: Proposed, event.TypeStepCancelled: Cancelled},
	AwaitingApproval: {
		event.TypeApprovalGranted: Ready, event.TypeApprovalEdited: Validating, event.TypeApprovalRejected: Denied,
		event.TypeApprovalExpired: Expired, event.TypeStepCancelled: Cancelled,
	},
	Validating: {
		event.TypeArgumentsValid: Ready, event.TypeArgumentsInvalid: AwaitingApproval, event.TypeStepCancelled: Cancelled,
	},
	Ready: {
		event.TypeToolStarted: Executing, event.TypeStepCancelled: Cancelled, event.TypeLeaseAcquired: Ready,
		event.TypeToolUnknown: Reconciling, // an earlier attempt may have happened, and there is to be no further one
	},
	Executing: {
		event.TypeToolSucceeded: Observing, event.TypeToolFailed: Failed, event.TypeToolUnknown: Reconciling,
		event.TypeCancelAcknowledged: Cancelled, // or observing, or reconciling: see Next
		event.TypeHostOperation:      Executing, event.TypeToolProgress: Executing, event.TypeLeaseReleased: Executing,
	},
	Reconciling: {
		event.TypeOperationAbsent: Ready, event.TypeOperationFound: Observing,
		event.TypeReconcileInconclusive: Reconciling, // or awaiting_outcome
		event.TypeReconcileStarted:      Reconciling, event.TypeHostOperation: Reconciling, event.TypeLeaseReleased: Reconciling,
	},
	AwaitingOutcome: {
		event.TypeOperationFound: Observing, event.TypeOperationAbsent: Ready,
		event.TypeLeaseReleased:    AwaitingOutcome,
		event.TypeReconcileStarted: Reconciling, // whoever takes the task over asks the tool once more
	},
	Failed: {
		event.TypeRetryScheduled: Ready, event.TypeObservationRecorded: Closed, event.TypeStepCancelled: Cancelled,
	},
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
	// Readied, Started and Settled are the sequence numbers of the events that last made it ready, started it and
	// settled it.
	Readied uint64
	Started uint64
	Settled uint64
	// Due is when a step that waits goes on, in microseconds since the Unix epoch: ready, its next attempt;
	// reconciling, the next probe. 0: at once.
	Due int64
	// Outbound are the operations of the attempt.
	Outbound
	// Doubt tells that an attempt which failed has changed something or may have, and that nobody has found out since
	// what became of the step.
	Doubt bool
	// Tries counts the probes since the outcome became unknown; Probing tells that one is under way.
	Tries   int64
	Probing bool
	// Succeeded tells that the last attempt did.
	Succeeded bool
	// Class is the class of the failure, where it failed, and Unknown why its outcome was not known.
	Class   string
	Unknown string
	// Fault is why the plugin failed, where that is what settled it.
	Fault string
	// Leases are the resources that it has to itself.
	Leases []event.LeaseAcquired

	last [3]event.Type
}

// Next gives the state that an event leads to, without going there.
func (s *Step) Next(p event.Payload) (State, error) {
	t := p.Type()
	next, ok := transitions[s.State][t]
	switch p := p.(type) {
	case *event.CancelAcknowledged:
		switch {
		case p.NothingHappened:
		case p.Result != nil:
			next = Observing
		default:
			next = Reconciling
		}
	case *event.ReconcileInconclusive:
		if p.Next == 0 {
			next = AwaitingOutcome
		}
	}
	if !ok {
		return s.State, &TransitionError{Step: s.ID, State: s.State, Event: t, Last: s.history()}
	}
	return next, nil
}

// Apply moves the step by a durable event.
func (s *Step) Apply(e *event.Event) error {
	next, err := s.Next(e.Payload)
	if err != nil {
		return err
	}
	if next == Ready && s.State != Ready {
		s.Readied = e.Seq
	}
	s.State = next
	copy(s.last[:], s.last[1:])
	s.last[len(s.last)-1] = e.Payload.Type()
	switch p := e.Payload.(type) {
	case *event.ToolRequested:
		s.ID, s.Request, s.Args = e.Step, *p, e.Args
	case *event.ToolStarted:
		s.Started, s.Attempt, s.Due, s.Outbound = e.Seq, e.Attempt, 0, Outbound{}
		s.Fault, s.Class = "", ""
	case *event.LeaseAcquired, *event.LeaseReleased:
		s.Leases = leased(s.Leases, p)
	case *event.RetryScheduled:
		s.Due = p.At
	case *event.HostOperation:
		if s.State == Executing { // a probe's are not the call's
			s.take(p)
		}
	case *event.StepDenied, *event.ApprovalRejected, *event.ApprovalExpired, *event.StepCancelled:
		s.Settled = e.Seq
	default:
		s.applyOutcome(e)
	}
	return nil
}

// leased gives leases after an event that takes one or gives one back. It is a list of its own: copies of a step share
// what they had.
func leased(leases []event.LeaseAcquired, p event.Payload) []event.LeaseAcquired {
	switch p := p.(type) {
	case *event.LeaseAcquired:
		return append(without(leases, p.Resource), *p) // the next attempt has it anew
	case *event.LeaseReleased:
		return without(leases, p.Resource)
	}
	return leases
}

func without(leases []event.LeaseAcquired, resource string) []event.LeaseAcquired {
	return slices.DeleteFunc(slices.Clone(leases), func(l event.LeaseAcquired) bool { return l.Resource == resource })
}

// applyOutcome takes what an event says of how the call ended.
func (s *Step) applyOutcome(e *event.Event) {
	switch p := e.Payload.(type) {
	case *event.ToolSucceeded:
		s.Settled, s.Succeeded, s.Doubt = e.Seq, true, false
	case *event.ToolFailed:
		s.Settled, s.Class = e.Seq, p.Class
		s.Doubt = s.Doubt || len(s.Open) > 0 || s.Landed > 0
		if p.Fault {
			s.Fault = p.Reason
		}
	case *event.CancelAcknowledged:
		if s.State == Reconciling {
			s.unsure("it was cut off")
			return
		}
		s.Settled, s.Succeeded = e.Seq, p.Result != nil
	case *event.ToolUnknown:
		s.unsure(p.Reason)
	case *event.ReconcileStarted:
		s.Tries, s.Probing, s.Due = p.Try, true, 0
	case *event.ReconcileInconclusive:
		s.Tries, s.Probing, s.Due = p.Try, false, p.Next
	case *event.OperationFound:
		s.Settled, s.Succeeded, s.Probing, s.Doubt = e.Seq, true, false, false
	case *event.OperationAbsent:
		s.Probing, s.Due, s.Doubt, s.Outbound = false, 0, false, Outbound{}
	}
}

// unsure notes why the outcome is not known, from where probes are counted.
func (s *Step) unsure(why string) {
	s.Unknown, s.Tries, s.Probing, s.Due = why, 0, false, 0
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
