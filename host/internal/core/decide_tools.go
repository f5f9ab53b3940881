package core

import (
	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

func (d *draft) emitStep(step, attempt int64, p event.Payload, cause uint64) *event.Event {
	e := d.emit(p, cause)
	e.Step, e.Attempt = step, attempt
	return e
}

// propose makes a step of each call, denies those that cannot run, and starts as many as may run at once.
func (d *draft) propose(calls []event.ToolCall, answers []event.Answer, cause uint64) {
	d.calls = d.s.calls.clone()
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
		if denied := d.deny(requested, d.misfits[i], running); denied != nil {
			d.emitStep(id, 0, denied, requested.Seq)
			continue
		}
		d.calls.add(c.Name, args)
		authorized := d.emitStep(id, 0, &event.ToolAuthorized{}, requested.Seq).Seq
		if running < d.s.config.Limits.ParallelTools {
			d.emitStep(id, 1, &event.ToolStarted{}, authorized)
		}
		running++
	}
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

// toolFinished settles a step, starts the next that waits, and closes the batch when it was the last.
func (d *draft) toolFinished(in ToolFinished) error {
	s := d.s
	step := s.step(in.Step)
	if step == nil || step.State != task.Executing || step.Attempt != in.Attempt {
		return nil // of an earlier attempt, or of a batch that is closed
	}
	settled := d.emitStep(step.ID, step.Attempt, outcome(in), step.Started)
	settled.Actor = event.Actor{Kind: event.ActorTool, ID: step.Request.Tool}
	if s.cancel != nil {
		return d.endCancelled(s.cancel, s.cancelSeq) // kept as evidence
	}
	if in.Fault != "" || s.stop != nil {
		return nil // stopped: what was under way is recorded, nothing new begins
	}
	open := false
	for i := range s.steps {
		other := &s.steps[i]
		switch {
		case other.ID == step.ID:
		case other.State == task.Ready:
			d.emitStep(other.ID, other.Attempt+1, &event.ToolStarted{}, settled.Seq)
			return nil
		case !other.State.Settled():
			open = true
		}
	}
	if open || s.hookForOutcomes(settled) {
		return nil // the recipe is asked first, where it wants to be
	}
	return d.closeBatch(settled)
}

// outcome gives the event that an outcome becomes. A status that this host does not act upon otherwise,
// unknown, is a failure: only tools that may run again are offered at all.
func outcome(in ToolFinished) event.Payload {
	switch {
	case in.Fault != "":
		return &event.ToolFailed{Class: string(abi.ClassPermanent), Reason: in.Fault, Fault: true}
	case in.Output.Status == abi.ToolOK:
		return &event.ToolSucceeded{Result: in.Output.Result, Tokens: in.Tokens, Evidence: in.Output.Evidence}
	default:
		class := in.Output.Class
		if class == "" {
			class = abi.ClassPermanent
		}
		return &event.ToolFailed{Class: string(class), Reason: in.Output.Result, Tokens: in.Tokens}
	}
}

// closeBatch hands all results to the conversation, in call order whatever order they came in. settled is
// the event of this draft that settled the last step; nil when all were settled before.
func (d *draft) closeBatch(settled *event.Event) error {
	op := conv.Results{Exhausted: d.s.exhausted(&d.s.calls)}
	for i := range d.s.steps {
		step := &d.s.steps[i]
		result := conv.Result{
			Message: d.s.made[step.Settled], Of: step.Settled, Rejected: step.State == task.Denied,
		}
		succeeded := step.State == task.Observing
		if settled != nil && settled.Step == step.ID {
			result.Of = settled.Seq
			result.Message, _ = observation(step, settled.Payload)
			succeeded = settled.Payload.Type() == event.TypeToolSucceeded
		}
		op.Results = append(op.Results, result)
		op.ResetRollbacks = op.ResetRollbacks || succeeded
		d.emitStep(step.ID, step.Attempt, &event.ObservationRecorded{}, result.Of)
	}
	return d.apply(d.s.conv, op, d.seq)
}

// rollBackBatch hides the calls of a batch with their results: the model is asked again as if it had not
// made them. What they did stays done, so it is for batches alone that changed nothing.
func (d *draft) rollBackBatch(reason string, cause uint64) (done bool, err error) {
	decision, err := conv.Decide(d.s.conv, conv.RollbackToolCalls{Reason: reason})
	if err != nil || decision == nil {
		return false, err
	}
	for i := range d.s.steps {
		step := &d.s.steps[i]
		d.emitStep(step.ID, step.Attempt, &event.ObservationRecorded{}, step.Settled)
	}
	d.record(decision, cause)
	return true, d.next(decision)
}

// hookForOutcomes tells whether the recipe is to judge the outcomes of the batch that settled closes: one of
// its calls failed, and all of them could be hidden.
func (s *State) hookForOutcomes(settled *event.Event) bool {
	if !hasHook(s.created, string(abi.HookToolOutcome)) {
		return false
	}
	failed := settled != nil && settled.Payload.Type() == event.TypeToolFailed
	for i := range s.steps {
		step := &s.steps[i]
		failed = failed || step.State == task.Failed
		if spec := s.tool(step.Request.Tool); spec != nil && spec.Effect != string(abi.EffectPure) && spec.Effect != string(abi.EffectRead) {
			return false
		}
	}
	return failed
}

// wantsOutcomes tells whether the outcomes of a settled batch are to be judged now.
func (s *State) wantsOutcomes() bool {
	if len(s.steps) == 0 || !s.hookForOutcomes(nil) {
		return false
	}
	for i := range s.steps {
		if !s.steps[i].State.Settled() {
			return false
		}
	}
	return true
}
