package core

import (
	"fmt"
	"slices"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// Evolve applies one durable event. An error means that the log is not one that this machine wrote; the
// state must not be used further.
func Evolve(s *State, e *event.Event) error {
	if err := evolve(s, e); err != nil {
		return fmt.Errorf("event %d (%s) of task %s: %w", e.Seq, e.Payload.Type(), e.Task, err)
	}
	return nil
}

func evolve(s *State, e *event.Event) error {
	switch {
	case e.Seq != s.seq+1:
		return fmt.Errorf("follows event %d", s.seq)
	case s.outcome != nil:
		return fmt.Errorf("the task has ended (%s)", s.outcome.Phase)
	case s.cancel != nil && !slices.Contains(whileCancelling, e.Payload.Type()):
		return &UnexpectedError{Phase: s.Phase(), Event: e.Payload.Type()}
	case (s.created == nil) != (e.Payload.Type() == event.TypeTaskCreated):
		return fmt.Errorf("a task begins with %s, and has one", event.TypeTaskCreated)
	case s.undoes() && e.Step == 0 && !slices.Contains(whileUndoing, e.Payload.Type()):
		return &UnexpectedError{Phase: s.Phase(), Event: e.Payload.Type()}
	}
	s.seq = e.Seq
	if e.Step != 0 {
		return s.evolvePart(e)
	}
	switch p := e.Payload.(type) {
	case *event.TaskCreated:
		return s.evolveCreated(e, p)
	case *event.Claimed:
		s.fence, s.stop, s.failures = p.Fence, nil, 0
	case *event.ModelRequested:
		s.request, s.retryAt, s.stop, s.compaction = e.Seq, 0, nil, p.Compaction
		s.compacted = s.compacted || p.Compaction != nil
	case *event.ModelReplied:
		s.evolveModelReplied(e, p)
	case *event.ModelFailed:
		s.evolveModelFailed(p)
	case *event.RetryScheduled:
		s.stop, s.retryAt = nil, p.At
	case *event.RecipeConsulted:
		s.stop, s.answers = haltingFault(p.Answers), p.Answers
		s.compacted = s.compacted || answered(p.Answers, abi.HookCompact) != nil
	case *event.GoalVerified, *event.GoalRejected: // said again by what follows
	case *event.PlanProposed:
		s.plan = p.Items
	case *event.ReplanRequested:
		if s.conv.Stage() == conv.NotInitialized {
			return &UnexpectedError{Phase: s.Phase(), Event: p.Type()}
		}
		s.replanning = true
	case *event.PluginRejected: // a host that takes the plugin goes on with the task as it is
	case *event.TaskSucceeded:
		s.outcome = &Outcome{Phase: PhaseSucceeded, Answer: p.Answer, Verified: p.Verified}
	case *event.TaskPartial:
		s.outcome = &Outcome{Phase: PhasePartial, Answer: p.Answer, Reason: p.Reason}
	case *event.TaskFailed:
		s.outcome = &Outcome{Phase: PhaseFailed, Reason: p.Reason}
	case *event.CancelRequested:
		s.cancel, s.cancelSeq, s.stop, s.retryAt = p, e.Seq, nil, 0
	case *event.TaskCancelled:
		return s.evolveCancelled(p)
	case *event.MessageAppended, *event.RollbackMarked, *event.MarkerAppended, *event.PromptObserved,
		*event.ConversationReset, *event.FinalizationForced, *event.Decided:
		return s.evolveConversation(e)
	default:
		return &UnexpectedError{Phase: s.Phase(), Event: e.Payload.Type()}
	}
	return nil
}

// UnexpectedError says that an event does not fit what its task is doing, or is one that this machine does not
// handle. Events of steps have a task.TransitionError instead.
type UnexpectedError struct {
	Phase Phase
	Event event.Type
}

func (e *UnexpectedError) Error() string {
	return fmt.Sprintf("a task that is %s cannot take event %s", e.Phase, e.Event)
}

// evolvePart applies an event about one step, or about one operation that is undone.
func (s *State) evolvePart(e *event.Event) error {
	if s.undoes() {
		return s.evolveUndo(e)
	}
	return s.evolveStep(e)
}

// evolveCancelled ends a task whose steps are all closed.
func (s *State) evolveCancelled(p *event.TaskCancelled) error {
	if u := turn(s.undos); u != nil && u.State == task.UndoExecuting {
		return fmt.Errorf("operation %d is being undone", u.ID)
	}
	for i := range s.steps {
		if !s.steps[i].State.Over() {
			return fmt.Errorf("step %d is %s", s.steps[i].ID, s.steps[i].State)
		}
	}
	if s.cancel == nil {
		return &UnexpectedError{Phase: s.Phase(), Event: p.Type()}
	}
	s.outcome = &Outcome{Phase: PhaseCancelled, Reason: p.Reason}
	return nil
}

func (s *State) evolveCreated(e *event.Event, p *event.TaskCreated) error {
	config, err := decodeConfig(p.Config)
	if err != nil {
		return err
	}
	if s.undos, err = newUndos(p); err != nil {
		return err
	}
	s.task, s.created, s.createdSeq, s.createdAt = e.Task, p, e.Seq, e.Time
	s.config, s.conv = config, conv.New(config.Conversation, environment(p, &config))
	return nil
}

// evolveModelReplied keeps a reply until it is judged. A summary is not one: it becomes a marker at once.
func (s *State) evolveModelReplied(e *event.Event, p *event.ModelReplied) {
	s.request, s.failures = 0, 0
	s.answered++
	s.spent += p.Usage.Prompt + p.Usage.Completion
	if s.compaction != nil {
		s.compaction = nil
		return
	}
	s.reply, s.replySeq, s.answers, s.replanning = p, e.Seq, nil, false
	s.made[e.Seq] = p.Message
}

func (s *State) evolveModelFailed(p *event.ModelFailed) {
	s.request = 0
	s.failures++
	if p.Answered {
		s.answered++
	}
	s.stop = &Stop{Kind: StopModel, Reason: p.Reason}
	if p.Class == event.ClassLost || p.Class == event.ClassCancelled {
		s.stop, s.failures = nil, 0
	}
}

// haltingFault finds the fault of a hook that the task cannot do without.
func haltingFault(answers []event.Answer) *Stop {
	for _, a := range answers {
		hook := abi.Hook(a.Hook)
		if a.Fault != "" && (hook == abi.HookStart || hook == abi.HookPlan || hook == abi.HookFinalOutput) {
			return &Stop{Kind: StopPlugin, Reason: a.Fault}
		}
	}
	return nil
}

func (s *State) evolveConversation(e *event.Event) error {
	p := e.Payload
	if m, ok := p.(*event.MessageAppended); ok && m.Of != 0 {
		message, ok := s.made[m.Of]
		if !ok {
			return fmt.Errorf("event %d made no message", m.Of)
		}
		delete(s.made, m.Of)
		p = &event.MessageAppended{Message: &message, Of: m.Of}
	}
	if err := conv.Evolve(s.conv, p); err != nil {
		return err
	}
	switch p := p.(type) {
	case *event.MarkerAppended:
		clear(s.keys) // older results are gone: their queries may be made again
	case *event.RollbackMarked:
		if p.Reason == conv.ReasonContextLimit || p.Reason == conv.ReasonTokenExhaustion {
			clear(s.keys)
		}
	}
	if d, ok := p.(*event.Decided); ok {
		if d.Operation == conv.OperationTools && d.Info.RollbackCount == nil {
			s.remember()
		}
		// What was not taken up by now is hidden: the reply was never applied, the calls were rolled back.
		delete(s.made, s.replySeq)
		s.reply, s.replySeq, s.compacted = nil, 0, false
		if d.Head.Stage != event.Stage(conv.AwaitTools.String()) {
			for i := range s.steps {
				delete(s.made, s.steps[i].Settled)
			}
			s.steps = nil
		}
	}
	return nil
}

// remember marks the queries of a batch as made: its results have become part of what the model sees.
func (s *State) remember() {
	for i := range s.steps {
		if step := &s.steps[i]; step.Succeeded && step.Request.Key != "" {
			s.keys[step.Request.Key] = true
		}
	}
}

func (s *State) evolveStep(e *event.Event) error {
	if e.Payload.Type() == event.TypeToolRequested {
		if e.Step != s.stepCount+1 {
			return fmt.Errorf("step %d follows step %d", e.Step, s.stepCount)
		}
		s.stepCount = e.Step
		s.steps = append(s.steps, task.Step{ID: e.Step})
	}
	step := s.step(e.Step)
	if step == nil {
		return fmt.Errorf("there is no step %d", e.Step)
	}
	if slices.Contains(notYet, e.Payload.Type()) {
		return &UnexpectedError{Phase: s.Phase(), Event: e.Payload.Type()}
	}
	if e.Payload.Type() == event.TypeObservationRecorded {
		s.fail(step, s.made[step.Settled].Content)
		s.finish(step)
	}
	if err := step.Apply(e); err != nil {
		return err
	}
	switch p := e.Payload.(type) {
	case *event.ToolStarted:
		if e.Attempt == 1 {
			s.calls.add(step.Request.Tool, step.Args)
		}
	case *event.ToolSucceeded:
		s.evidence = append(s.evidence, abi.Evidence{Step: e.Step, Tool: step.Request.Tool, Result: p.Result})
	case *event.CancelAcknowledged:
		if p.Result != nil {
			s.evidence = append(s.evidence, abi.Evidence{Step: e.Step, Tool: step.Request.Tool, Result: *p.Result})
		}
	case *event.ToolFailed:
		if p.Fault && s.cancel == nil {
			s.stop = &Stop{Kind: StopPlugin, Reason: p.Reason}
		}
	case *event.OperationFound:
		s.evidence = append(s.evidence, abi.Evidence{Step: e.Step, Tool: step.Request.Tool, Result: p.Result})
	}
	if line := s.effectOf(step, e.Payload); line != "" {
		s.done = append(s.done, line)
	}
	if m, ok := observation(step, e.Payload); ok {
		s.made[e.Seq] = m
	}
	return nil
}

// notYet are events of steps that the table has and that this machine does not act on: a log with one is another's.
var notYet = []event.Type{
	event.TypeApprovalRequested, event.TypeApprovalGranted, event.TypeApprovalEdited, event.TypeApprovalRejected,
	event.TypeApprovalExpired, event.TypeArgumentsValid, event.TypeArgumentsInvalid, event.TypePermissionMissing,
	event.TypePermissionGranted,
}

// observation makes the message in which the model reads what became of its call.
func observation(step *task.Step, p event.Payload) (event.Message, bool) {
	m := event.Message{Role: event.RoleTool, ToolCallID: step.Request.CallID, Name: step.Request.Tool}
	switch p := p.(type) {
	case *event.ToolSucceeded:
		m.Content, m.Tokens = p.Result, p.Tokens
	case *event.ToolFailed:
		m.Content, m.Tokens = p.Reason, p.Tokens
	case *event.OperationFound:
		m.Content, m.Tokens = p.Result, p.Tokens
	case *event.StepDenied:
		m.Content = p.Text
	case *event.StepCancelled:
		m.Content = p.Reason
	case *event.CancelAcknowledged:
		if p.Result == nil {
			return event.Message{}, false
		}
		m.Content, m.Tokens = *p.Result, p.Tokens
	default:
		return event.Message{}, false
	}
	return m, true
}
