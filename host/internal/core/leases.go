package core

import (
	"slices"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// A step that may change named resources has them to itself, over all tasks of the log, for as long as nobody knows what
// it did: from its start until its outcome is known. Who else has a resource stands outside the task, so the machine
// asks for it as an effect and starts the step on the answer; the driver makes the start and the leases durable as one.

// leased are the resources that a step needs to itself before it starts.
func (s *State) leased(step *task.Step) []string {
	if !s.writes(step) && !s.repeatable(step) {
		return nil
	}
	return s.resources(step)
}

// leasesOf are the leases that a call is told of.
func leasesOf(acquired []event.LeaseAcquired) []Lease {
	var leases []Lease
	for _, l := range acquired {
		leases = append(leases, Lease{l.Resource, l.Fence})
	}
	return leases
}

// startable tells whether the i-th step could start now, but for its time and its leases.
func (s *State) startable(i int) bool {
	return s.steps[i].State == task.Ready && running(s.steps) < s.config.Limits.ParallelTools && !s.held(s.plan, s.steps, i)
}

// leasesFree starts a step, with the resources that it waited for. An answer that comes when the step cannot start any
// more starts nothing, and takes nothing.
func (d *draft) leasesFree(in LeasesFree) {
	s := d.s
	for i := range s.steps {
		step := &s.steps[i]
		if step.ID != in.Step || step.Attempt+1 != in.Attempt || step.Due > d.now || s.stop != nil || !s.startable(i) {
			continue
		}
		for _, l := range in.Leases {
			d.emitStep(step.ID, in.Attempt, d.acquired(l), step.Readied)
		}
		d.emitStep(step.ID, in.Attempt, &event.ToolStarted{}, step.Readied)
	}
}

// acquired is the event that takes a lease now.
func (d *draft) acquired(l Lease) *event.LeaseAcquired {
	return &event.LeaseAcquired{Resource: l.Resource, Fence: l.Fence, Expires: d.now + d.config.Limits.leaseTime()}
}

// leaseTime is how long a lease lasts that nobody gives back, in microseconds: never less than the call may take.
func (l *Limits) leaseTime() int64 { return max(l.LeaseTime, l.ToolTimeout) * 1000 }

// release gives back what a step has to itself, before the event of the same commit that says what it did.
func (d *draft) release(id int64, p event.Payload, cause uint64) {
	if step := d.s.step(id); step != nil && settles(p) {
		d.giveBack(step, p, cause)
	}
}

// giveBack gives back what a step has to itself.
func (d *draft) giveBack(step *task.Step, with event.Payload, cause uint64) {
	for _, l := range step.Leases {
		released := d.emit(d.released(l, with), cause)
		released.Step, released.Attempt = step.ID, step.Attempt
	}
}

// lapsed tells whether a lease has run out: what would change its resource must not begin any more.
func (d *draft) lapsed(leases []event.LeaseAcquired) bool {
	return slices.ContainsFunc(leases, func(l event.LeaseAcquired) bool { return l.Expires <= d.now })
}

// released is the event that gives a lease back now, with the event that says what its holder did.
func (d *draft) released(l event.LeaseAcquired, with event.Payload) *event.LeaseReleased {
	reason := "done"
	switch cancelled := with.Type() == event.TypeCancelAcknowledged; {
	case l.Expires <= d.now:
		reason = "expired"
	case cancelled:
		reason = "cancelled"
	}
	return &event.LeaseReleased{Resource: l.Resource, Fence: l.Fence, Reason: reason}
}

// settles tells whether it is known what a step did once an event of its is in the log. Of a failure whoever writes it
// knows: what is made again under the same id keeps its resources until then.
func settles(p event.Payload) bool {
	switch p := p.(type) {
	case *event.ToolSucceeded, *event.OperationFound, *event.OperationAbsent:
		return true
	case *event.CancelAcknowledged:
		return p.NothingHappened || p.Result != nil
	}
	return false
}
