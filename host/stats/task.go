package stats

import (
	"slices"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
)

// Task folds the events of one task, in order.
type Task struct {
	tally
	offered map[string]bool         // the tools of the task
	steps   map[int64]*step         // that are not closed
	undoes  bool                    // what another task did
	undone  map[int64]event.Payload // what is known last of each operation that it undoes
	claimed bool
	ended   bool
	good    bool // ended as succeeded or partial
	turns   int64

	asked      int64 // when the model was
	asking     bool  // it is asked, or is to be asked again
	summary    bool  // for a summary, not a turn
	replied    int64 // when it replied
	judging    bool  // that reply is to be verified
	live       int   // model calls, attempts and probes that are under way, or due
	halted     bool  // it waits to be resumed, or for a person
	awaiting   int   // steps of which a person has to find out what they did
	lost       bool  // a worker was lost
	active     int64 // how long the task was run
	activeFrom int64 // up to when that is counted
}

// NewTask gives a task before its first event.
func NewTask() *Task {
	return &Task{offered: map[string]bool{}, steps: map[int64]*step{}, undone: map[int64]event.Payload{}}
}

// Event takes the next event.
func (t *Task) Event(e *event.Event) {
	t.pass(e)
	switch p := e.Payload.(type) {
	case *event.TaskCreated:
		t.created(p)
	case *event.Claimed:
		t.claim(p)
	case *event.RecipeConsulted:
		t.halted = t.halted || slices.ContainsFunc(p.Answers, halts)
	case *event.PluginRejected:
		t.countNamed(rejectedPlugins, p.Class)
	case *event.TaskSucceeded:
		t.succeed(p)
	case *event.TaskPartial:
		t.ended, t.good = true, true
		t.countNamed(partialBy, p.Reason)
	case *event.TaskFailed:
		t.ended = true
		t.count(failed)
	case *event.TaskCancelled:
		t.ended = true
		t.count(cancelled)
	default:
		switch {
		case e.Step != 0 && t.undoes:
			t.undoEvent(e)
		case e.Step != 0:
			t.stepEvent(e)
		default:
			t.modelEvent(e)
		}
	}
}

// pass counts the time since the last event as one in which the task was run, where that is so. Between a stop, or
// the last event of a worker that was lost, and the claim that follows, it was not.
func (t *Task) pass(e *event.Event) {
	claim, isClaim := e.Payload.(*event.Claimed)
	switch {
	case e.Seq == 1, isClaim && claim.Fence > 1:
		t.activeFrom = e.Time
	case outside(e):
		if t.waits() {
			t.halted = true // also when what it waited for is there: nobody goes on with it yet
			t.activeFrom = e.Time
		}
		// Else what follows tells: a claim, that nobody ran it, anything else that somebody did.
	default:
		t.active += max(e.Time-t.activeFrom, 0)
		t.activeFrom = e.Time
	}
}

// outside tells whether an event may be written while nobody runs the task.
func outside(e *event.Event) bool {
	return e.Actor.Kind == event.ActorUser || e.Payload.Type() == event.TypePluginRejected
}

// waits tells that nothing is under way, and why is known.
func (t *Task) waits() bool { return t.live == 0 && (t.halted || t.awaiting > 0) }

func (t *Task) created(p *event.TaskCreated) {
	if t.undoes = p.Compensates != nil; t.undoes {
		t.count(undoTasks)
	}
	for i := range p.Tools {
		for j := range p.Tools[i].Tools {
			t.offered[p.Tools[i].Tools[j].Name] = true
		}
	}
}

// claim notes who was lost: a worker that had not come to a halt. What was measured across it is no measure of
// the host.
func (t *Task) claim(p *event.Claimed) {
	t.claimed = true
	if p.Fence <= 1 {
		return
	}
	t.lost = t.lost || !t.waits()
	t.halted, t.judging = false, false
	for _, s := range t.steps {
		s.queued = false
	}
}

// halts tells whether a hook failed that a task cannot do without.
func halts(a event.Answer) bool {
	return a.Fault != "" && (a.Hook == string(abi.HookStart) || a.Hook == string(abi.HookFinalOutput))
}

func (t *Task) succeed(p *event.TaskSucceeded) {
	t.ended, t.good = true, true
	t.count(succeeded)
	if p.Verified == event.VerifiedNone || p.Verified == "" {
		return
	}
	t.count(verified)
	for by := range strings.SplitSeq(p.Verified, "+") {
		t.countNamed(provedBy, by)
	}
}

// close gives the task's numbers as a whole. isRunning tells whether somebody runs it.
func (t *Task) close(isRunning bool) *tally {
	t.closeUndone()
	switch {
	case t.ended && t.undoes: // it has no steps and no turns, and its time is no task's
	case t.ended && t.claimed: // what was refused before it began took no steps and no time
		t.measure(taskSteps, t.counts[steps])
		t.measure(taskTurns, t.turns)
		t.measure(taskTime, t.active)
	case t.ended:
	case isRunning:
		t.count(running)
	case t.live == 0 && t.awaiting > 0:
		t.count(waiting)
	default:
		t.count(stopped)
	}
	for _, s := range t.steps {
		if s.unsure {
			t.count(open)
		}
	}
	if t.lost {
		t.count(lost)
		if t.good {
			t.count(recovered)
		}
	}
	return &t.tally
}
