package core

import (
	"slices"

	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// Phase is what a task is doing, as people and lists see it.
type Phase string

// The phases that a task can be in.
const (
	PhaseCreated         Phase = "created"
	PhasePlanning        Phase = "planning"
	PhaseReplanning      Phase = "replanning"
	PhaseReady           Phase = "ready"
	PhaseExecuting       Phase = "executing"
	PhaseReconciling     Phase = "reconciling"
	PhaseAwaitingOutcome Phase = "awaiting_outcome"
	PhaseCancelling      Phase = "cancelling"
	PhaseObserving       Phase = "observing"
	PhaseSucceeded       Phase = "succeeded"
	PhasePartial         Phase = "partial"
	PhaseFailed          Phase = "failed"
	PhaseCancelled       Phase = "cancelled"
)

// Ended tells that a task in this phase accepts nothing any more.
func (p Phase) Ended() bool {
	switch p {
	case PhaseSucceeded, PhasePartial, PhaseFailed, PhaseCancelled:
		return true
	}
	return false
}

// Phases are all phases, those in which a task has ended last.
func Phases() []Phase {
	return []Phase{
		PhaseCreated, PhasePlanning, PhaseReplanning, PhaseReady, PhaseExecuting, PhaseReconciling, PhaseAwaitingOutcome,
		PhaseObserving, PhaseCancelling,
		PhaseSucceeded, PhasePartial, PhaseFailed, PhaseCancelled,
	}
}

// Phase derives what the task is doing.
func (s *State) Phase() Phase {
	if s.undoes() && s.outcome == nil && s.cancel == nil {
		return undoPhase(s.undos)
	}
	begun := s.conv != nil && s.conv.Stage() != conv.NotInitialized
	return phase(s.outcome, s.cancel != nil, begun, s.steps, s.replanning)
}

// PhaseAfter gives what the task will be doing once events are evolved, for the list entry that is
// committed with them. The events must be those that Decide gave for s.
func PhaseAfter(s *State, events []*event.Event) Phase {
	begun := s.conv != nil && s.conv.Stage() != conv.NotInitialized
	cancelling, replanning := s.cancel != nil, s.replanning
	shadow := New()
	shadow.created, shadow.steps, shadow.stepCount = s.created, slices.Clone(s.steps), s.stepCount
	shadow.undos = slices.Clone(s.undos)
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *event.TaskCreated:
			shadow.created = p
			shadow.undos, _ = newUndos(p)
		case *event.TaskSucceeded:
			return PhaseSucceeded
		case *event.TaskPartial:
			return PhasePartial
		case *event.TaskFailed:
			return PhaseFailed
		case *event.TaskCancelled:
			return PhaseCancelled
		case *event.CancelRequested:
			cancelling = true
		case *event.ReplanRequested:
			replanning = true
		case *event.ModelReplied:
			replanning = replanning && s.compaction != nil
		case *event.Decided:
			begun = true
			if p.Head.Stage != event.Stage(conv.AwaitTools.String()) {
				shadow.steps = nil
			}
		}
		if e.Step != 0 && shadow.evolvePart(e) != nil {
			break // Evolve will say the same, and loudly
		}
	}
	if shadow.undoes() && !cancelling {
		return undoPhase(shadow.undos)
	}
	return phase(nil, cancelling, begun, shadow.steps, replanning)
}

func phase(outcome *Outcome, cancelling, begun bool, steps []task.Step, replanning bool) Phase {
	switch {
	case outcome != nil:
		return outcome.Phase
	case cancelling:
		return PhaseCancelling
	case !begun:
		return PhaseCreated
	}
	first := PhasePlanning
	if replanning {
		first = PhaseReplanning
	}
	for i := range steps {
		if p, ok := phaseOf[steps[i].State]; ok && rank[p] < rank[first] {
			first = p
		}
	}
	return first
}

// phaseOf gives what a task is doing by one step of its.
var phaseOf = map[task.State]Phase{
	task.Reconciling: PhaseReconciling, task.Executing: PhaseExecuting, task.AwaitingOutcome: PhaseAwaitingOutcome,
	task.Proposed: PhaseReady, task.Ready: PhaseReady,
	task.Observing: PhaseObserving, task.Failed: PhaseObserving, task.Denied: PhaseObserving,
}

// rank is the precedence of phases: a batch is where its most pressing step is.
var rank = map[Phase]int{
	PhaseReconciling: 0, PhaseExecuting: 1, PhaseAwaitingOutcome: 2, PhaseReady: 3, PhaseObserving: 4, PhasePlanning: 5, PhaseReplanning: 5,
}
