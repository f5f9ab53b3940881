package core

import (
	"fmt"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// A call that may have changed the world, and of which nobody knows whether it has, is never simply made again. The
// tool is asked whether its operation happened: found, the step is observed with what the tool then gives; absent, it
// has not happened and will not, and may begin again. Where the tool cannot tell, however often it is asked, the
// step waits for a person, and the task halts.

// probe asks the tool of a step for the first time; a person where the tool has no way to tell.
func (d *draft) probe(step *task.Step, cause uint64) {
	if !d.s.reconciles(step) {
		d.emitStep(step.ID, step.Attempt, &event.ReconcileInconclusive{Reason: "the tool has no reconcile: it cannot tell"}, cause)
		return
	}
	d.startProbe(step, 1, cause)
}

// reconciles tells whether the tool of a step can say what became of a call.
func (s *State) reconciles(step *task.Step) bool {
	spec := s.tool(step.Request.Tool)
	return spec != nil && spec.Reconcile
}

func (d *draft) startProbe(step *task.Step, try int64, cause uint64) {
	d.emitStep(step.ID, step.Attempt, &event.ReconcileStarted{OperationID: step.Request.OperationID, Try: try}, cause)
}

// reconciled takes what a probe found out.
func (d *draft) reconciled(in Reconciled) error {
	step := d.s.step(in.Step)
	if step == nil || step.State != task.Reconciling || !step.Probing || step.Tries != in.Try {
		return nil // an earlier probe's
	}
	actor := event.Actor{Kind: event.ActorTool, ID: step.Request.Tool}
	switch {
	case in.Fault == "" && in.Status == "found":
		found := d.emitStep(step.ID, step.Attempt, &event.OperationFound{Result: unexpected(in.Result, in.Unexpected), Tokens: in.Tokens, Evidence: in.Evidence}, d.s.seq)
		found.Actor = actor
		return d.settled(found)
	case in.Fault == "" && in.Status == "absent":
		absent := d.emitStep(step.ID, step.Attempt, &event.OperationAbsent{Evidence: in.Evidence}, d.s.seq)
		absent.Actor = actor
		return d.absent(step, absent.Seq)
	}
	reason := in.Reason
	if in.Fault != "" {
		reason = in.Fault
	}
	inconclusive := &event.ReconcileInconclusive{Try: in.Try, Reason: reason}
	if wait, ok := d.config.Limits.backoff(in.Try-1, d.config.Limits.ReconcileTries-1, in.RetryAfter, in.Jitter); ok {
		inconclusive.Next = d.now + max(wait, 1)
	}
	d.emitStep(step.ID, step.Attempt, inconclusive, d.s.seq).Actor = actor
	if d.s.cancel != nil || d.s.stop != nil {
		return nil
	}
	_, err := d.startSteps(d.seq) // its place is free meanwhile
	return err
}

// absent goes on with a step that is known not to have happened: it begins again, as often as a failure that passes
// would be tried, and else the model is told.
func (d *draft) absent(step *task.Step, cause uint64) error {
	reason := ""
	switch {
	case d.s.cancel != nil:
		reason = "the task was cancelled"
	case step.Attempt > d.config.Limits.ToolRetries:
		reason = fmt.Sprintf("It did not happen, in %d attempts (limits.tool_retries). The last one: %s", step.Attempt, step.Unknown)
	}
	if reason != "" {
		return d.settled(d.emitStep(step.ID, step.Attempt, &event.StepCancelled{Reason: reason}, cause))
	}
	if d.s.stop != nil {
		return nil
	}
	_, err := d.startSteps(0)
	return err
}

// outcomeDecided takes what a person found out. It starts nothing: whoever runs the task does.
func (d *draft) outcomeDecided(in OutcomeDecided) error {
	step := d.s.step(in.Step)
	if step == nil || step.State != task.AwaitingOutcome || (in.Attempt != 0 && in.Attempt != step.Attempt) {
		return &NotAwaitedError{Step: in.Step, Attempt: in.Attempt}
	}
	var p event.Payload = &event.OperationAbsent{Evidence: in.Evidence}
	if in.Found {
		p = &event.OperationFound{Result: in.Result, Evidence: in.Evidence}
	}
	e := d.emitStep(step.ID, step.Attempt, p, d.s.seq)
	if e.Actor = in.Actor; e.Actor.Kind == "" {
		e.Actor = userActor
	}
	if d.s.cancel == nil {
		return nil
	}
	if in.Found {
		return d.settled(e)
	}
	return d.absent(step, e.Seq)
}

// NotAwaitedError says that nobody waits for a person to find out what became of a step.
type NotAwaitedError struct{ Step, Attempt int64 }

func (e *NotAwaitedError) Error() string {
	if e.Attempt != 0 {
		return fmt.Sprintf("attempt %d of step %d does not wait for its outcome to be decided", e.Attempt, e.Step)
	}
	return fmt.Sprintf("step %d does not wait for its outcome to be decided", e.Step)
}

// operationBegan keeps an operation that may change something, while its call or its probe runs and the task goes on.
func (d *draft) operationBegan(in OperationBegan) {
	step := d.s.step(in.Step)
	if step == nil || step.Attempt != in.Attempt || (step.State != task.Executing && step.State != task.Reconciling) ||
		(step.State == task.Executing && (d.s.cancel != nil || d.lapsed(step.Leases))) {
		return
	}
	op := in.Operation
	op.State = event.OperationBegun
	d.emitStep(step.ID, step.Attempt, &op, step.Started)
}

// operationEnded keeps how an operation ended, while that still says something of the step.
func (d *draft) operationEnded(in OperationEnded) {
	step := d.s.step(in.Step)
	if step == nil || step.Attempt != in.Attempt || (step.State != task.Executing && step.State != task.Reconciling) {
		return
	}
	op := in.Operation
	d.emitStep(step.ID, step.Attempt, &op, step.Started)
}
