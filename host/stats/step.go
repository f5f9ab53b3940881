package stats

import (
	"slices"

	"github.com/axishost/axishost/host/internal/event"
)

// step is one call of the model's, until it is closed.
type step struct {
	tool       *toolTally // of a tool that the task has
	authorized int64
	queued     bool // authorized, and its start tells how long it waited
	started    int64
	live       bool    // an attempt or a probe is under way, or due
	begun      []int64 // the attempt's operations that may change the world, by number
	wrote      bool    // it began one, or is unknown, which says the same
	unsure     bool    // nobody knows yet what it did
	since      int64
	awaiting   bool // a person has to find out
}

// stepEvent takes what is about a step.
func (t *Task) stepEvent(e *event.Event) {
	if p, begins := e.Payload.(*event.ToolRequested); begins {
		t.propose(e, p)
		return
	}
	s := t.steps[e.Step]
	if s == nil {
		return
	}
	switch p := e.Payload.(type) {
	case *event.ToolAuthorized:
		s.authorized, s.queued = e.Time, true
	case *event.StepDenied:
		t.countNamed(denied, p.Reason)
		s.tool.denied.add(p.Reason, 1)
	case *event.ToolStarted:
		t.start(e, s)
	case *event.ToolSucceeded:
		s.tool.succeeded++
		t.settle(e, s, "")
	case *event.ToolFailed:
		class := p.Class
		if p.Fault {
			class, t.halted = "fault", true
		}
		s.tool.failed.add(class, 1)
		t.settle(e, s, p.Class)
	case *event.RetryScheduled:
		t.setLive(s, true)
	case *event.StepCancelled, *event.ObservationRecorded:
		t.drop(e.Step, s)
	default:
		t.effectEvent(e, s)
	}
}

// effectEvent takes what tells what a step changed outside.
func (t *Task) effectEvent(e *event.Event, s *step) {
	switch p := e.Payload.(type) {
	case *event.HostOperation:
		t.operation(p, s)
	case *event.ToolUnknown:
		t.settle(e, s, p.Class)
		t.setUnknown(e, s)
	case *event.CancelAcknowledged:
		if !p.NothingHappened && p.Result == nil {
			t.setUnknown(e, s)
			t.setLive(s, false)
			return
		}
		t.drop(e.Step, s)
	case *event.ReconcileStarted:
		s.begun = s.begun[:0] // a probe numbers its own operations
		t.setLive(s, true)
	case *event.ReconcileInconclusive:
		t.setLive(s, p.Next != 0)
		t.setAwaiting(s, p.Next == 0)
	case *event.OperationFound:
		t.known(e, s, found)
	case *event.OperationAbsent:
		t.known(e, s, absent)
	}
}

func (t *Task) propose(e *event.Event, p *event.ToolRequested) {
	t.count(steps)
	if len(p.Repairs) > 0 {
		t.count(repaired)
	}
	s := &step{tool: &toolTally{}} // the model may name anything: what no task has is counted as denied alone
	if t.offered[p.Tool] {
		s.tool = t.tool(p.Tool)
	}
	s.tool.calls++
	t.steps[e.Step] = s
}

func (t *Task) start(e *event.Event, s *step) {
	t.count(attempts)
	s.tool.attempts++
	if e.Attempt > 1 {
		t.count(toolRetries)
	}
	if s.queued {
		t.measure(queueLatency, e.Time-s.authorized)
	}
	s.queued, s.started, s.wrote, s.begun = false, e.Time, false, s.begun[:0]
	t.setLive(s, true)
}

// settle ends an attempt. What the host settles in place of a worker that was lost took nobody knows how long.
func (t *Task) settle(e *event.Event, s *step, class string) {
	if s.live && (class != event.ClassLost || e.Actor.Kind != event.ActorHost) {
		t.measure(toolLatency, e.Time-s.started)
		s.tool.latency.add(e.Time - s.started)
	}
	t.setLive(s, false)
}

// operation takes what the host did, or did not do, for a guest. One that was denied gave the guest no result, not
// even an error of the other side. It may have been denied after it was begun: it was no write then.
func (t *Task) operation(p *event.HostOperation, s *step) {
	switch {
	case p.State == event.OperationBegun && s.unsure: // of a probe: what it shuts out is no write
	case p.State == event.OperationBegun && p.Write:
		t.count(writes)
		t.setWrote(s)
		s.begun = append(s.begun, p.Number)
	case p.State == event.OperationFailed && p.Result == "" && p.Blob == "":
		t.count(operationsDenied)
		i := slices.Index(s.begun, p.Number)
		if !p.Write || i < 0 {
			return
		}
		t.counts[writes]--
		if s.begun = slices.Delete(s.begun, i, i+1); len(s.begun) == 0 && !s.unsure {
			t.counts[writing]--
			s.wrote = false
		}
	}
}

func (t *Task) setWrote(s *step) {
	if !s.wrote {
		t.count(writing)
	}
	s.wrote = true
}

// setUnknown begins the time in which nobody knows what an attempt did.
func (t *Task) setUnknown(e *event.Event, s *step) {
	t.count(unknown)
	s.tool.unknown++
	t.setWrote(s)
	s.unsure, s.since = true, e.Time
}

// known ends it.
func (t *Task) known(e *event.Event, s *step, what counter) {
	t.setLive(s, false)
	t.setAwaiting(s, false)
	if !s.unsure {
		return
	}
	s.unsure = false
	t.count(what)
	if e.Actor.Kind == event.ActorUser {
		t.count(byPerson)
	}
	t.measure(reconcileLatency, e.Time-s.since)
}

func (t *Task) drop(id int64, s *step) {
	t.setLive(s, false)
	t.setAwaiting(s, false)
	if !s.unsure {
		delete(t.steps, id)
	}
}

func (t *Task) setLive(s *step, live bool) {
	if s.live != live {
		s.live = live
		t.live += change(live)
	}
}

func (t *Task) setAwaiting(s *step, awaiting bool) {
	if s.awaiting != awaiting {
		s.awaiting = awaiting
		t.awaiting += change(awaiting)
	}
}
