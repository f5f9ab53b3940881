package core

import (
	"fmt"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// undoes decides for a task that undoes what another did.
func (d *draft) undoes(in Input) error {
	switch in := in.(type) {
	case PluginsRejected:
		return d.pluginsRejected(in)
	case Claimed:
		return d.claimUndo(in)
	case TimerFired, Advanced:
		if d.s.cancel != nil {
			return nil
		}
		return d.undoNext(d.s.seq)
	case LeasesFree:
		return d.undoLeased(in)
	case Compensated:
		return d.compensated(in)
	case OperationBegan:
		if u := turn(d.undos); d.s.cancel != nil || u == nil || d.lapsed(u.Leases) {
			return nil
		}
		return d.undoOperation(in.Step, in.Attempt, in.Operation, event.OperationBegun)
	case OperationEnded:
		return d.undoOperation(in.Step, in.Attempt, in.Operation, in.Operation.State)
	case CancelRequested:
		return d.cancelRequested(in)
	case ToolCancelled:
		return d.undoCancelled(in)
	case OutcomeDecided:
		return &NotAwaitedError{Step: in.Step}
	}
	return fmt.Errorf("input %T does not fit a task that undoes what another did", in)
}

// submitUndo begins with what happened last.
func (d *draft) submitUndo(created *event.TaskCreated, cause uint64) (err error) {
	d.compensates = created.Compensates
	if d.undos, err = newUndos(created); err != nil {
		return err
	}
	return d.undoNext(cause)
}

// emitUndo adds an event about the undoing of an operation, and takes it up in the draft.
func (d *draft) emitUndo(u *task.Undo, attempt int64, p event.Payload, cause uint64) (*event.Event, error) {
	e := d.emitStep(u.ID, attempt, p, cause)
	return e, u.Apply(e)
}

// undoGiveBack gives back what an undoing has to itself, before the event of the same commit that says what it did. What may
// have undone its operation, and is tried again under the same id, keeps it until then.
func (d *draft) undoGiveBack(u *task.Undo, with event.Payload, again bool, cause uint64) error {
	if failed, ok := with.(*event.CompensationFailed); ok && failed.Unknown && again {
		return nil
	}
	for _, l := range u.Leases {
		if _, err := d.emitUndo(u, u.Attempt, d.released(l, with), cause); err != nil {
			return err
		}
	}
	return nil
}

// undoLeased starts the operation whose turn it is, with the resources that it waited for.
func (d *draft) undoLeased(in LeasesFree) error {
	u := turn(d.undos)
	if u == nil || u.ID != in.Step || u.State != task.UndoWaiting || u.Attempt+1 != in.Attempt || u.Due > d.now {
		return nil
	}
	for _, l := range in.Leases {
		if _, err := d.emitUndo(u, in.Attempt, d.acquired(l), d.s.seq); err != nil {
			return err
		}
	}
	return d.undoStart(u, d.s.seq)
}

// undoNext starts the operation whose turn it is, when its time has come and it needs no lease first, or ends the task.
func (d *draft) undoNext(cause uint64) error {
	u := turn(d.undos)
	switch {
	case u == nil:
		d.endUndo(cause)
		return nil
	case u.State == task.UndoExecuting || u.Due > d.now || len(d.undoResources(u)) > 0:
		return nil
	}
	return d.undoStart(u, cause)
}

// undoResources are those of State, before the task is there too.
func (d *draft) undoResources(u *task.Undo) []string {
	if d.s.created != nil {
		return d.s.undoResources(u)
	}
	created, ok := d.events[0].Payload.(*event.TaskCreated)
	if !ok {
		return nil
	}
	return (&State{created: created}).undoResources(u)
}

// undoStart says that an operation is about to be undone.
func (d *draft) undoStart(u *task.Undo, cause uint64) error {
	op := &d.compensates.Operations[u.ID-1]
	started := &event.CompensationStarted{
		Of: op.OperationID, OperationID: CompensationID(d.compensates.Task, op.OperationID), Reason: d.compensates.Reason,
	}
	e, err := d.emitUndo(u, u.Attempt+1, started, cause)
	e.Args = ArgumentsDigest(op.Arguments)
	return err
}

// compensated takes what came of an attempt. One that may pass, or of which nobody knows, is made again under the same id:
// that is the other side's to know, and needs no reconciling.
func (d *draft) compensated(in Compensated) error {
	u := undoOf(d.undos, in.Step, in.Attempt)
	if u == nil {
		return nil // of an earlier attempt
	}
	op := &d.compensates.Operations[u.ID-1]
	outcome, passes := d.undoOutcome(u, op, in)
	wait, again := d.config.Limits.backoff(u.Attempt-1, d.config.Limits.ToolRetries, in.Output.RetryAfterMillis*1000, in.Jitter)
	again = again && passes && d.s.cancel == nil
	if failed, ok := outcome.(*event.CompensationFailed); ok && passes && !again && d.s.cancel == nil {
		failed.Reason += d.config.Limits.undoGivenUp(u, in)
	}
	if err := d.undoGiveBack(u, outcome, again, u.Started); err != nil {
		return err
	}
	settled, err := d.emitUndo(u, u.Attempt, outcome, u.Started)
	if err != nil {
		return err
	}
	settled.Actor = event.Actor{Kind: event.ActorTool, ID: op.Tool}
	switch {
	case d.s.cancel != nil:
		return d.endCancelled(d.s.cancel, d.s.cancelSeq)
	case again:
		_, err := d.emitUndo(u, u.Attempt, &event.RetryScheduled{At: d.now + max(wait, 1)}, settled.Seq)
		return err
	}
	return d.undoNext(settled.Seq)
}

// undoOutcome gives the event that an outcome becomes, and whether trying again can help.
func (d *draft) undoOutcome(u *task.Undo, op *event.CompensatedOperation, in Compensated) (p event.Payload, passes bool) {
	out := in.Output
	failed := &event.CompensationFailed{Of: op.OperationID, Reason: out.Result, Unknown: u.Unknown || len(u.Open) > 0 || u.Landed > 0}
	switch {
	case in.Fault != "":
		failed.Class, failed.Reason, failed.Unknown = in.Class, in.Fault, mayBeUndone(u)
		return failed, true
	case out.Status == abi.ToolUnknown:
		failed.Class, failed.Unknown = event.ClassLost, mayBeUndone(u)
		return failed, true
	case out.Status == abi.ToolOK:
		return &event.CompensationSucceeded{Of: op.OperationID, Result: out.Result, Evidence: out.Evidence}, false
	}
	class := out.Class
	if class == "" {
		class = abi.ClassPermanent
	}
	failed.Class = string(class)
	return failed, class == abi.ClassTransient || class == abi.ClassRateLimited
}

// mayBeUndone tells whether an attempt that gave no answer, or one before it, may have undone its operation: something
// had gone out that could.
func mayBeUndone(u *task.Undo) bool { return u.Unknown || u.Operations > 0 }

// undoGivenUp says why a failure that could pass is not tried again.
func (l *Limits) undoGivenUp(u *task.Undo, in Compensated) string {
	if u.Attempt > l.ToolRetries {
		return fmt.Sprintf(" (gave up after %d attempts: limits.tool_retries)", u.Attempt)
	}
	return fmt.Sprintf(" (it asks to wait %d s, more than limits.retry_max_ms allows)", in.Output.RetryAfterMillis/1000)
}

// undoOperation keeps an operation of an attempt that is under way.
func (d *draft) undoOperation(place, attempt int64, op event.HostOperation, state string) error {
	u := undoOf(d.undos, place, attempt)
	if u == nil {
		return nil
	}
	op.State = state
	_, err := d.emitUndo(u, attempt, &op, u.Started)
	return err
}

// claimUndo takes the task over. What was under way is tried again at once, under the same id; where the task is being
// cancelled, it is told what may have come of it.
func (d *draft) claimUndo(in Claimed) error {
	if in.Fence <= d.s.fence {
		return fmt.Errorf("fence %d is not above %d", in.Fence, d.s.fence)
	}
	claim := d.emit(&event.Claimed{Worker: in.Worker, Fence: in.Fence}, 0).Seq
	u := turn(d.undos)
	if u != nil && u.State == task.UndoExecuting {
		if err := d.undoLost(u, event.ClassLost, "the worker stopped before the outcome was known", u.Started); err != nil {
			return err
		}
		if d.s.cancel == nil {
			if _, err := d.emitUndo(u, u.Attempt, &event.RetryScheduled{At: d.now}, claim); err != nil {
				return err
			}
		}
	}
	if d.s.cancel != nil {
		return d.endCancelled(d.s.cancel, d.s.cancelSeq)
	}
	return d.undoNext(claim)
}

// undoLost says that an attempt is over, and that it gave nothing.
func (d *draft) undoLost(u *task.Undo, class, reason string, cause uint64) error {
	failed := &event.CompensationFailed{
		Of: d.compensates.Operations[u.ID-1].OperationID, Class: class, Reason: reason, Unknown: mayBeUndone(u),
	}
	if err := d.undoGiveBack(u, failed, d.s.cancel == nil, cause); err != nil {
		return err
	}
	_, err := d.emitUndo(u, u.Attempt, failed, cause)
	return err
}

// undoCancelled ends a task whose attempt was cut off. It is not looked for: what it may have done is told, and a
// later task may undo the same again.
func (d *draft) undoCancelled(in ToolCancelled) error {
	u := undoOf(d.undos, in.Step, in.Attempt)
	switch {
	case u == nil:
		return nil // its outcome came first
	case d.s.cancel == nil:
		return fmt.Errorf("operation %d is not being cancelled", in.Step)
	}
	if err := d.undoLost(u, event.ClassCancelled, "it was cut off", d.s.cancelSeq); err != nil {
		return err
	}
	return d.endCancelled(d.s.cancel, d.s.cancelSeq)
}

// endOfUndo tells how an attempt ended that was under way when the task was cancelled.
func endOfUndo(u *task.Undo) string {
	switch {
	case u.State == task.Undone:
		return event.EndDone
	case u.Unknown:
		return event.EndUnknown
	case u.Class == event.ClassCancelled || u.Class == event.ClassLost:
		return event.EndCancelled
	}
	return event.EndFailed
}

// PartialNotUndone is the reason of a task that could not undo all that it was to undo.
const PartialNotUndone = "not_undone"

const sourceCompensation = "compensation"

// reasonLines are how many operations are told of in the reason of a failure: it is read as one line.
const reasonLines = 3

// endUndo writes how the task ends. That an operation is undone is its tool's word: nothing else verifies it.
func (d *draft) endUndo(cause uint64) {
	var lines []string
	done := int64(0)
	for i := range d.undos {
		u := &d.undos[i]
		if u.State == task.Undone {
			done++
		}
		lines = append(lines, d.undoLine(u))
	}
	answer, all := strings.Join(lines, "\n"), int64(len(d.undos))
	switch done {
	case all:
		proof := d.emit(&event.GoalVerified{Verified: event.VerifiedNone}, cause).Seq
		d.emit(&event.TaskSucceeded{Answer: answer, Verified: event.VerifiedNone, Source: sourceCompensation}, proof)
	case 0:
		if more := len(lines) - reasonLines; more > 0 {
			lines = append(lines[:reasonLines], fmt.Sprintf("and %d more", more))
		}
		d.emit(&event.TaskFailed{Reason: "nothing is known to be undone: " + strings.Join(lines, "; ")}, cause)
	default:
		d.emit(&event.TaskPartial{Reason: PartialNotUndone, Answer: answer, Done: done, Undone: all - done, Resume: cause}, cause)
	}
}

// undoLine says what came of an operation.
func (d *draft) undoLine(u *task.Undo) string {
	op := &d.compensates.Operations[u.ID-1]
	how, why := "is not undone", u.Reason
	switch {
	case u.State == task.Undone:
		how, why = "is undone", u.Result
	case u.Unknown:
		how = "may be undone, and nobody knows"
	}
	return clipped(fmt.Sprintf("step %d (%s) %s: %s", op.Step, op.Tool, how, why))
}
