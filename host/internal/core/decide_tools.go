package core

import (
	"fmt"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

func (d *draft) emitStep(step, attempt int64, p event.Payload, cause uint64) *event.Event {
	d.release(step, p, cause)
	e := d.emit(p, cause)
	e.Step, e.Attempt = step, attempt
	return e
}

// propose makes a step of each call, denies those that cannot run, and starts as many as may run at once.
func (d *draft) propose(calls []event.ToolCall, answers []event.Answer, cause uint64) error {
	d.calls = d.s.calls.clone()
	d.plan(answers, cause)
	running := int64(0)
	for i, c := range calls {
		id := d.s.stepCount + int64(i) + 1
		arguments, rules := EffectiveArguments(d.s, c, i, answers)
		args := ArgumentsDigest(arguments)
		request := &event.ToolRequested{
			CallID: c.ID, Tool: c.Name, Arguments: c.Arguments, OperationID: operationID(d.task, id, args),
			Repairs: rules, Key: key(answers, i),
		}
		if len(rules) > 0 {
			request.Repaired = arguments
		}
		requested := d.emitStep(id, 0, request, cause)
		requested.Args = args
		if denied := d.deny(requested, d.misfits[i], d.unmet[i], running); denied != nil {
			d.emitStep(id, 0, denied, requested.Seq)
			continue
		}
		d.calls.add(c.Name, args)
		d.emitStep(id, 0, &event.ToolAuthorized{}, requested.Seq)
		running++
	}
	_, err := d.startSteps(0)
	return err
}

// key is what the recipe calls the i-th query of a reply; empty where it does not say.
func key(answers []event.Answer, i int) string {
	if a := answeredFor(answers, abi.HookDedupe, i); a != nil && a.Decided {
		return a.Output
	}
	return ""
}

// duplicates tells whether a reply asks what was asked before, in this task or in the reply itself.
func (s *State) duplicates(calls int, answers []event.Answer) bool {
	seen := map[string]bool{}
	for i := range calls {
		k := key(answers, i)
		if k != "" && (s.keys[k] || seen[k]) {
			return true
		}
		seen[k] = true
	}
	return false
}

// toolFinished takes the outcome of a call. One that may have changed the world, and of which nobody knows whether it
// has, is looked for; one that failed for a passing reason is made again; any other is observed.
func (d *draft) toolFinished(in ToolFinished) error {
	s := d.s
	step := s.step(in.Step)
	if step == nil || step.State != task.Executing || step.Attempt != in.Attempt {
		return nil // of an earlier attempt, or of a batch that is closed
	}
	outcome := s.outcomeOf(step, in)
	var wait int64
	var again bool
	if failed, ok := outcome.(*event.ToolFailed); ok && !failed.Fault {
		if wait, again = d.retries(step, failed, in); !again && (s.inDoubt(step) || (s.lost(step, in) && s.mayRepeat(step))) {
			// Whatever it says of itself, it may have happened, in this attempt or an earlier one, and there is no further one.
			outcome = unknown(step, in)
		}
	}
	if outcome.Type() == event.TypeToolFailed && !(again && s.keeps(step)) {
		d.giveBack(step, outcome, step.Started)
	}
	settled := d.emitStep(step.ID, step.Attempt, outcome, step.Started)
	settled.Actor = event.Actor{Kind: event.ActorTool, ID: step.Request.Tool}
	switch {
	case outcome.Type() == event.TypeToolUnknown:
		d.probe(step, settled.Seq)
		return nil
	case again:
		d.emitStep(step.ID, step.Attempt, &event.RetryScheduled{At: d.now + wait}, settled.Seq)
		return nil
	}
	return d.settled(settled)
}

// outcomeOf gives the event that an outcome becomes. A write is known not to have happened while nothing had gone
// out that could change something.
func (s *State) outcomeOf(step *task.Step, in ToolFinished) event.Payload {
	out := in.Output
	switch lost := s.lost(step, in); {
	case lost && s.mayRepeat(step):
		// Not known either, and no matter: it is made again, under the same operation id.
		return &event.ToolFailed{Class: string(abi.ClassTransient), Reason: in.Fault + out.Result}
	case lost && s.mayHaveHappened(step):
		return unknown(step, in)
	case in.Fault != "":
		return &event.ToolFailed{Class: string(abi.ClassPermanent), Reason: in.Fault, Fault: true}
	case out.Status == abi.ToolUnknown:
		return &event.ToolFailed{Class: string(abi.ClassTransient), Reason: out.Result, Tokens: in.Tokens}
	case out.Status == abi.ToolOK && in.Unexpected != "" && s.harmless(step):
		return &event.ToolFailed{Class: string(abi.ClassPermanent), Reason: unexpected(out.Result, in.Unexpected), Tokens: in.Tokens}
	case out.Status == abi.ToolOK:
		return &event.ToolSucceeded{Result: unexpected(out.Result, in.Unexpected), Tokens: in.Tokens, Evidence: out.Evidence}
	}
	class := out.Class
	if class == "" {
		class = abi.ClassPermanent
	}
	failed := &event.ToolFailed{Class: string(class), Reason: out.Result, Tokens: in.Tokens}
	if out.RetryAfterMillis > s.config.Limits.RetryMax {
		failed.Reason += fmt.Sprintf(" (it asks to wait %d s, more than limits.retry_max_ms allows)", out.RetryAfterMillis/1000)
	}
	return failed
}

// lost tells whether nobody knows by itself what a call did: it was cut off, it says so, or it is a write that failed while
// a request of its has no answer, or that of a server which failed. Of such a request the host knows more than the tool.
func (s *State) lost(step *task.Step, in ToolFinished) bool {
	return in.Fault != "" || in.Output.Status == abi.ToolUnknown ||
		(s.writes(step) && in.Output.Status == abi.ToolFailed && len(step.Open) > 0)
}

// unknown is the outcome of a call of which nobody knows what it did.
func unknown(step *task.Step, in ToolFinished) *event.ToolUnknown {
	if in.Fault == "" {
		return &event.ToolUnknown{Class: event.ClassLost, Reason: in.Output.Result, Operations: step.Operations}
	}
	return &event.ToolUnknown{Class: in.Class, Reason: in.Fault, Operations: step.Operations}
}

// unexpected gives a result, and how it is not what the tool's contract promises, for the model. What changed something
// has succeeded all the same: it is not undone by being odd.
func unexpected(result, how string) string {
	if how == "" {
		return result
	}
	return result + "\n\n(This is not what the tool promises: " + how + ")"
}

// mayHaveHappened tells whether a call that was cut off may have changed the world in a way that a repetition
// would change it again.
func (s *State) mayHaveHappened(step *task.Step) bool {
	return s.writes(step) && step.Operations > 0
}

// mayRepeat tells whether a call that was cut off may have happened, in this attempt or in an earlier one, and may be made
// again under the same operation id.
func (s *State) mayRepeat(step *task.Step) bool {
	return s.repeatable(step) && (step.Doubt || step.Operations > 0)
}

// inDoubt tells whether a call that may be repeated, and now says that it failed, may have happened all the same: in an
// earlier attempt, or by a request of this one that has no answer.
func (s *State) inDoubt(step *task.Step) bool {
	return s.repeatable(step) && (step.Doubt || len(step.Open) > 0)
}

// keeps tells whether a step that failed, and is made again, keeps its resources: it is in doubt from then on.
func (s *State) keeps(step *task.Step) bool {
	return s.repeatable(step) && (step.Doubt || len(step.Open) > 0 || step.Landed > 0)
}

// repeatable tells whether a step's tool changes the world, and may do so again under the same operation id.
func (s *State) repeatable(step *task.Step) bool {
	spec := s.tool(step.Request.Tool)
	return spec != nil && spec.Effect == string(abi.EffectIdempotent)
}

// writes tells whether each run of a step's tool changes the world.
func (s *State) writes(step *task.Step) bool {
	spec := s.tool(step.Request.Tool)
	return spec != nil && spec.Effect == string(abi.EffectWrite)
}

// retries tells whether a call is made again, and after which wait: where its failure can pass and the call is known not to
// have happened, or may happen again. This is the only retry layer of tools.
func (d *draft) retries(step *task.Step, failed *event.ToolFailed, in ToolFinished) (wait int64, again bool) {
	class := abi.FailureClass(failed.Class)
	passing := class == abi.ClassTransient && !d.s.mayHaveHappened(step)
	if class == abi.ClassRateLimited { // what was told to wait did not happen; but something else of the call may have
		passing = !d.s.writes(step) || step.Landed == 0
	}
	wait, again = d.s.config.Limits.backoff(step.Attempt-1, d.s.config.Limits.ToolRetries, in.Output.RetryAfterMillis*1000, in.Jitter)
	return wait, again && passing && !failed.Fault && d.s.cancel == nil
}

// settled goes on after a step whose outcome is known: what waits is started, and the batch is closed when
// nothing is open any more. e is the event of this draft that settled it.
func (d *draft) settled(e *event.Event) error {
	s := d.s
	switch failed, ok := e.Payload.(*event.ToolFailed); {
	case s.cancel != nil:
		return d.endCancelled(s.cancel, s.cancelSeq) // kept as evidence
	case s.stop != nil || (ok && failed.Fault):
		return nil // stopped: what was under way is recorded, nothing new begins
	}
	open, err := d.startSteps(e.Seq)
	if err != nil || open {
		return err
	}
	if s.hookForOutcomes(e) {
		return nil // the recipe is asked first, where it wants to be
	}
	return d.closeBatch()
}

// running counts the calls and probes under way. A step that waits for its next probe takes no place.
func running(steps []task.Step) int64 {
	n := int64(0)
	for i := range steps {
		if s := &steps[i]; s.State == task.Executing || (s.State == task.Reconciling && s.Probing) {
			n++
		}
	}
	return n
}

// startSteps starts the steps that wait, in call order, as many as may run at once, and tells whether any is still
// open after that. Those that need leases start when they have them. cause is the event that made room; 0: each is
// caused by what made it ready.
func (d *draft) startSteps(cause uint64) (open bool, err error) {
	if err := d.giveUp(); err != nil {
		return false, err
	}
	steps, err := d.steps()
	if err != nil {
		return false, err
	}
	running := running(steps)
	for i := range steps {
		step := &steps[i]
		open = open || (!step.State.Settled() && !step.State.Over())
		if step.State == task.Ready && step.Due <= d.now && running < d.config.Limits.ParallelTools &&
			len(d.s.leased(step)) == 0 && !d.s.held(d.planned(), steps, i) {
			e := d.emitStep(step.ID, step.Attempt+1, &event.ToolStarted{}, cause)
			if running++; cause == 0 {
				e.Cause = step.Readied
			}
		}
	}
	return open, nil
}

// closeBatch hands all results to the conversation, in call order whatever order they came in.
func (d *draft) closeBatch() error {
	steps, made, err := d.outcomes()
	if err != nil {
		return err
	}
	op := conv.Results{Exhausted: d.s.exhausted(&d.s.calls)}
	for i := range steps {
		step := &steps[i]
		op.Results = append(op.Results, conv.Result{
			Message: made[step.Settled], Of: step.Settled, Rejected: step.State == task.Denied,
		})
		op.ResetRollbacks = op.ResetRollbacks || step.State == task.Observing
		if step.State != task.Cancelled {
			d.emitStep(step.ID, step.Attempt, &event.ObservationRecorded{}, step.Settled)
		}
	}
	closed := d.seq
	d.replan(steps)
	return d.apply(d.s.conv, op, closed)
}

// rollBackBatch hides the calls of a batch with their results: the model is asked again as if it had not
// made them. What they did stays done, so it is for batches alone that changed nothing.
func (d *draft) rollBackBatch(reason string, cause uint64) (done bool, err error) {
	decision, err := conv.Decide(d.s.conv, conv.RollbackToolCalls{Reason: reason})
	if err != nil || decision == nil {
		return false, err
	}
	for i := range d.s.steps {
		if step := &d.s.steps[i]; step.State != task.Cancelled {
			d.emitStep(step.ID, step.Attempt, &event.ObservationRecorded{}, step.Settled)
		}
	}
	d.record(decision, cause)
	return true, d.next(decision)
}

// hookForOutcomes tells whether the recipe is to judge the outcomes of the batch that settled closes: one of
// its calls failed, and all of them could be hidden. settled is the event that closes it; nil when all were settled.
func (s *State) hookForOutcomes(settled *event.Event) bool {
	if !hasHook(s.created, string(abi.HookToolOutcome)) {
		return false
	}
	failed := settled != nil && settled.Payload.Type() == event.TypeToolFailed
	for i := range s.steps {
		step := &s.steps[i]
		failed = failed || step.State == task.Failed
		if !s.harmless(step) {
			return false
		}
	}
	return failed
}

// harmless tells whether a step has changed nothing, so that it may be hidden: its tool only looks, or it is known
// not to have run.
func (s *State) harmless(step *task.Step) bool {
	spec := s.tool(step.Request.Tool)
	if spec == nil || spec.Effect == string(abi.EffectPure) || spec.Effect == string(abi.EffectRead) {
		return true
	}
	return step.State == task.Denied || step.State == task.Cancelled
}

// wantsOutcomes tells whether the outcomes of a settled batch are to be judged now.
func (s *State) wantsOutcomes() bool {
	if len(s.steps) == 0 || !s.hookForOutcomes(nil) {
		return false
	}
	return !s.open()
}

// open tells whether the outcome of a step of the batch is still to come.
func (s *State) open() bool {
	for i := range s.steps {
		if state := s.steps[i].State; !state.Settled() && !state.Over() {
			return true
		}
	}
	return false
}
