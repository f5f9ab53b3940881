package core

import (
	"fmt"

	"github.com/axishost/axishost/host/internal/event"
)

// reducer is the minimal machine of an agent runtime, which ours refines: what a whole history becomes when all that it
// has besides is left out. Each call is a plan of one step for it.
type reducer struct {
	steps map[int64]string
	spent int64 // starts
	ended bool
}

// moves of one step: from which state an event leads where.
var moves = map[event.Type]struct {
	from []string
	to   string
}{
	event.TypeToolRequested:   {[]string{""}, "ready"}, // PlanProposed
	event.TypeToolStarted:     {[]string{"ready"}, "executing"},
	event.TypeToolSucceeded:   {[]string{"executing"}, "observing"},
	event.TypeToolFailed:      {[]string{"executing"}, "ready"},                // known not to have happened: may be tried again, or given up
	event.TypeToolUnknown:     {[]string{"executing", "ready"}, "reconciling"}, // ready: a repetition that is given up
	event.TypeOperationAbsent: {[]string{"reconciling"}, "ready"},
	event.TypeOperationFound:  {[]string{"reconciling"}, "observing"},
}

// reduce holds a history against the minimal machine.
func reduce(log []*event.Event) error {
	r := &reducer{steps: map[int64]string{}}
	for _, e := range log {
		if err := r.apply(e); err != nil {
			return fmt.Errorf("event %d (%s): %w", e.Seq, e.Payload.Type(), err)
		}
	}
	return nil
}

func (r *reducer) apply(e *event.Event) error {
	if r.ended {
		return fmt.Errorf("after the end")
	}
	switch p := e.Payload.(type) {
	case *event.GoalVerified:
		return r.requireKnown()
	case *event.TaskSucceeded, *event.TaskPartial, *event.TaskFailed, *event.TaskCancelled:
		r.ended = true
		return r.requireKnown()
	case *event.CancelAcknowledged:
		switch {
		case r.steps[e.Step] != "executing":
			return fmt.Errorf("step %d is %q", e.Step, r.steps[e.Step])
		case p.NothingHappened:
			r.steps[e.Step] = "ready"
		case p.Result != nil:
			r.steps[e.Step] = "observing"
		default:
			r.steps[e.Step] = "reconciling"
		}
		return nil
	}
	move, ok := moves[e.Payload.Type()]
	if !ok {
		return nil
	}
	for _, from := range move.from {
		if r.steps[e.Step] == from {
			if r.steps[e.Step] = move.to; move.to == "executing" {
				r.spent++
			}
			return nil
		}
	}
	return fmt.Errorf("step %d is %q", e.Step, r.steps[e.Step])
}

// requireKnown: a goal is reached, and a task ends, only when nothing is open about what was done.
func (r *reducer) requireKnown() error {
	for step, state := range r.steps {
		if state == "executing" || state == "reconciling" {
			return fmt.Errorf("step %d is %s", step, state)
		}
	}
	return nil
}
