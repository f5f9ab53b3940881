package core

import (
	"errors"
	"fmt"
	"slices"

	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// ErrEnded says that the task has ended: it accepts no input.
var ErrEnded = errors.New("the task has ended")

// Decide gives the events that an input leads to, with their envelopes filled in, and changes nothing. now
// is the time, in microseconds since the Unix epoch. An input that comes too late to matter leads to no
// events; an error says that it does not fit the task.
func Decide(s *State, now int64, in Input) ([]*event.Event, error) {
	if s.outcome != nil {
		return nil, ErrEnded
	}
	if s.created == nil && !begins(in) {
		return nil, errors.New("there is no such task")
	}
	if !s.heeds(in) {
		return nil, nil
	}
	d := &draft{s: s, task: s.task, config: &s.config, now: now, seq: s.seq, answered: s.answered, spent: s.spent}
	if err := d.decide(in); err != nil {
		return nil, err
	}
	return d.events, nil
}

func (d *draft) decide(in Input) (err error) {
	if d.s.undoes() {
		d.compensates, d.undos = d.s.created.Compensates, slices.Clone(d.s.undos)
		return d.undoes(in)
	}
	switch in := in.(type) {
	case TaskSubmitted:
		err = d.submit(in)
	case PluginsRejected:
		err = d.pluginsRejected(in)
	case Claimed:
		err = d.claim(in)
	case RecipeAnswered:
		err = d.recipeAnswered(in)
	case ModelReplied:
		err = d.modelReplied(in)
	case ModelFailed:
		err = d.modelFailed(in)
	case TimerFired:
		err = d.timerFired()
	case ToolFinished:
		err = d.toolFinished(in)
	case OperationBegan:
		d.operationBegan(in)
	case OperationEnded:
		d.operationEnded(in)
	case LeasesFree:
		d.leasesFree(in)
	case Reconciled:
		err = d.reconciled(in)
	case OutcomeDecided:
		err = d.outcomeDecided(in)
	case CancelRequested:
		err = d.cancelRequested(in)
	case ToolCancelled:
		err = d.toolCancelled(in)
	case Compensated: // nothing is undone here
	case Advanced:
		err = d.advance()
	default:
		err = fmt.Errorf("input %T is not known", in)
	}
	return err
}

// begins tells whether an input can be a task's first.
func begins(in Input) bool {
	switch in := in.(type) {
	case TaskSubmitted:
		return true
	case PluginsRejected:
		return in.Created != nil
	}
	return false
}

// draft collects the events of one input.
type draft struct {
	s        *State
	task     string
	config   *Config
	now      int64
	seq      uint64 // of the last event so far
	answered int64  // model calls answered, the events so far included
	spent    int64  // tokens, the same
	events   []*event.Event
	misfits  map[int]string
	unmet    map[int]string
	calls    callCounts // of tools, those that this input starts included

	// compensates and undos are, of a task that undoes, what is to be undone, and where that stands after the events so far.
	compensates *event.Compensation
	undos       []task.Undo
}

var (
	hostActor   = event.Actor{Kind: event.ActorHost}
	userActor   = event.Actor{Kind: event.ActorUser}
	modelActor  = event.Actor{Kind: event.ActorModel}
	recipeActor = event.Actor{Kind: event.ActorRecipe}
)

// emit adds an event that the host makes true, and gives its sequence number.
func (d *draft) emit(p event.Payload, cause uint64) *event.Event {
	d.seq++
	e := &event.Event{
		Version: event.Newest, Task: d.task, Seq: d.seq, Time: d.now,
		Actor: hostActor, Cause: cause, Payload: p,
	}
	d.events = append(d.events, e)
	return e
}

func (d *draft) submit(in TaskSubmitted) error {
	if d.s.created != nil {
		return errors.New("the task exists already")
	}
	config, err := decodeConfig(in.Created.Config)
	if err != nil {
		return err
	}
	d.task = in.Task
	created := d.emit(&in.Created, 0)
	created.Actor = userActor
	claim := d.emit(&event.Claimed{Worker: in.Worker, Fence: 1}, created.Seq)
	if in.Created.Compensates != nil {
		return d.submitUndo(&in.Created, claim.Seq)
	}
	if hasHook(&in.Created, hookStart) {
		return nil
	}
	d.config = &config
	return d.apply(conv.New(config.Conversation, environment(&in.Created, &config)), conv.Init{Task: in.Created.Goal}, created.Seq)
}

// claim takes the task over: what was under way is lost, and asked for again where that is harmless.
func (d *draft) claim(in Claimed) error {
	s := d.s
	if in.Fence <= s.fence {
		return fmt.Errorf("fence %d is not above %d", in.Fence, s.fence)
	}
	claim := d.emit(&event.Claimed{Worker: in.Worker, Fence: in.Fence}, 0).Seq
	if s.cancel != nil {
		return d.takeOverCancelled(claim)
	}
	if s.request != 0 {
		d.emit(&event.ModelFailed{Class: event.ClassLost, Reason: "the worker stopped before the reply was known"}, s.request)
	}
	if s.request != 0 || (s.stop != nil && s.stop.Kind == StopModel) {
		d.requestModel(claim, s.conv.Len(), 1, s.compaction)
	}
	for i := range s.steps {
		d.claimStep(&s.steps[i], claim)
	}
	_, err := d.startSteps(0)
	return err
}

// claimStep settles a call that was under way, or asks again what was being asked. What failed since its plugin did is
// run again: that was known not to have happened.
func (d *draft) claimStep(step *task.Step, claim uint64) {
	const lost = "the worker stopped before the outcome was known"
	switch {
	case step.State == task.Executing && d.s.mayHaveHappened(step):
		unknown := &event.ToolUnknown{Class: event.ClassLost, Reason: lost, Operations: step.Operations}
		d.probe(step, d.emitStep(step.ID, step.Attempt, unknown, step.Started).Seq)
	case step.State == task.Executing:
		failed := &event.ToolFailed{Class: event.ClassLost, Reason: lost}
		if !d.s.keeps(step) {
			d.giveBack(step, failed, step.Started)
		}
		d.emitStep(step.ID, step.Attempt, failed, step.Started)
		d.emitStep(step.ID, step.Attempt, &event.RetryScheduled{At: d.now}, claim)
	case step.State == task.Failed && step.Fault != "":
		d.emitStep(step.ID, step.Attempt, &event.RetryScheduled{At: d.now}, claim)
	case step.State == task.Reconciling && step.Probing:
		d.startProbe(step, step.Tries, claim)
	case step.State == task.AwaitingOutcome && d.s.reconciles(step):
		d.startProbe(step, step.Tries+1, claim)
	}
}

// apply performs an operation of the conversation, and what follows from it but the end of the task.
func (d *draft) apply(c *conv.State, op conv.Operation, cause uint64) error {
	decision, err := conv.Decide(c, op)
	if err != nil {
		return err
	}
	d.record(decision, cause)
	return d.next(decision)
}

// next asks the model for its next turn, where the conversation waits for one and nothing is to be done
// first: the budget is used up, or the conversation is to be compacted.
func (d *draft) next(decision *conv.Decision) error {
	if decision.Stage.Action() == conv.Done { // no room for another reply: results alone never complete a task
		d.partial(decision.Stage.String(), "", d.seq)
		return nil
	}
	if decision.Stage.Action() == conv.CallModel && d.mayAsk(decision) && !d.config.spentAll(decision.Stage, d.spent) &&
		!d.config.dueForCompaction(decision.Stage, decision.Tokens) {
		d.requestModel(d.seq, int(decision.Info.VisibleMessages), 1, nil)
	}
	return nil
}

// spentAll tells whether the token budget is used up before the turn that stage waits for. The final turn is
// what the budget's end leads to.
func (c *Config) spentAll(stage conv.Stage, spent int64) bool {
	limit := c.Limits.TokensPerTask
	return limit != nil && spent >= *limit && stage != conv.ForceFinal
}

// record adds the events of a decision. A message that another event holds is not stored again.
func (d *draft) record(decision *conv.Decision, cause uint64) {
	for _, p := range d.announced(decision.Events) {
		if m, ok := p.(*event.MessageAppended); ok && m.Of != 0 {
			p = &event.MessageAppended{Of: m.Of}
		}
		d.emit(p, cause)
	}
}

// advance goes on where nothing is under way: the steps of a batch were all denied, the calls of a reply were
// made before, the budget is used up, or the conversation is to be compacted.
func (d *draft) advance() error {
	s := d.s
	switch {
	case s.stop != nil:
		return nil
	case len(s.steps) > 0 && s.open():
		_, err := d.startSteps(0)
		return err
	case len(s.steps) > 0:
		return d.closeBatch()
	case s.conv.Stage() == conv.AwaitTools:
		_, err := d.rollBackBatch(conv.ReasonDuplicateQuery, s.seq)
		return err
	case s.request != 0 || s.retryAt != 0 || s.conv.Stage().Action() != conv.CallModel:
		return nil
	case s.stuck && s.conv.Stage() != conv.ForceFinal:
		return d.apply(s.conv, conv.ForceFinalize{Trigger: conv.TriggerRepeated}, s.seq)
	case s.config.spentAll(s.conv.Stage(), s.spent):
		return d.apply(s.conv, conv.ForceFinalize{Trigger: conv.TriggerBudgetLimit}, s.seq)
	default:
		return d.compact(nil, s.seq)
	}
}

// environment is what surrounds a task's conversation.
func environment(created *event.TaskCreated, config *Config) conv.Environment {
	env := conv.Environment{MaxOutputTokens: config.Limits.MaxOutputTokens, Preflight: true}
	for _, p := range created.Tools {
		for _, t := range p.Tools {
			env.ToolsText += t.Name + t.Description + string(t.Schema)
		}
	}
	return env
}
