package conv

import (
	"errors"
	"fmt"

	"github.com/axishost/axishost/host/internal/event"
)

// Triggers of a forced final turn.
const (
	TriggerTurnLimit      = "turn_limit"
	TriggerContextLimit   = "context_limit"
	TriggerToolsExhausted = "tools_exhausted"
	TriggerBudgetLimit    = "budget_limit"
	TriggerRepeated       = "repeated_failure"
)

// Reasons of rollbacks.
const (
	ReasonRefusal         = "assistant_refusal"
	ReasonFormatError     = "format_error"
	ReasonContextLimit    = "context_limit"
	ReasonTokenExhaustion = "token_exhaustion"
	ReasonDuplicateQuery  = "duplicate_query"
	ReasonToolError       = "tool_error"
)

// Decision is what an operation leads to.
type Decision struct {
	// Events in the order in which they are to be evolved; where the operation is a step, the last is the
	// Decided. None: nothing changes.
	Events []event.Payload
	Stage  Stage
	Head   event.Head
	Info   *event.Info
	// Tokens is the estimate of what is then visible; 0 where none is kept.
	Tokens int64
}

// Decide gives what an operation leads to, and changes nothing. An error means that the operation is
// refused: a *StageError, a *TransitionError or one that says what does not fit. A nil decision means that
// there is nothing to do.
func Decide(s *State, op Operation) (*Decision, error) {
	d := &draft{s: s, head: s.head, stage: s.stage, full: len(s.full)}
	d.window = window{
		parent: s.window, keep: s.window.len(), keepSegs: s.window.segCount(), raw: s.window.raw,
		calibration: s.window.calibration, own: d.buffer.own[:0], segs: d.buffer.segs[:0],
	}
	d.path = append(d.buffer.path[:0], s.stage.name())
	d.events = d.buffer.events[:0]
	done, err := d.perform(op)
	if d.err != nil {
		err = errors.Join(err, d.err)
	}
	if err != nil || !done {
		return nil, err
	}
	return d.decision(op.name()), nil
}

// perform performs an operation; done is false where there is nothing to do.
func (d *draft) perform(op Operation) (done bool, err error) {
	switch op := op.(type) {
	case Init:
		return true, d.init(op)
	case Reply:
		return true, d.reply(op)
	case Results:
		return true, d.results(op)
	case RollbackToolCalls:
		return d.rollbackToolCalls(op)
	case RollbackExchange:
		return d.rollbackExchange(op)
	case ContextError:
		return true, d.contextError(op)
	case ForceFinalize:
		return true, d.forceFinalize(op)
	default:
		return d.adjust(op)
	}
}

// draft collects an operation's events, and knows where the conversation will stand after them.
type draft struct {
	s      *State
	stage  Stage
	head   event.Head
	path   []event.Stage
	events []event.Payload
	info   event.Info
	window window // what will be visible
	full   int
	quiet  bool // no Decided: nothing of it changes
	err    error

	// What most operations need, in the draft's own memory: one allocation instead of ten.
	buffer struct {
		own      [4]entry
		segs     [4]segment
		path     [6]event.Stage
		events   [6]event.Payload
		appended [4]event.MessageAppended
		decided  event.Decided
		result   Decision
	}
	appended int // how many of buffer.appended are in use
}

func (d *draft) decision(operation string) *Decision {
	d.head.Stage = d.stage.name()
	d.info.VisibleMessages, d.info.Messages = int64(d.window.len()), int64(d.full)
	d.info.Appended = int64(d.full - len(d.s.full))
	d.info.AssistantTurn = d.head.Turns
	switch d.stage {
	case ForceFinal:
		d.info.ForceFinalizeStage = d.stage.String()
		if d.info.FinalizationTrigger == "" {
			d.info.FinalizationTrigger = d.head.Trigger
		}
	case ForceCompleted, ToolCallsRejected, Completed:
		d.info.FinalizationTrigger = d.head.Trigger
	}
	if !d.quiet {
		d.buffer.decided = event.Decided{Operation: operation, StagePath: d.path, Head: d.head, Info: &d.info}
		d.events = append(d.events, &d.buffer.decided)
	}
	d.buffer.result = Decision{Events: d.events, Stage: d.stage, Head: d.head, Info: &d.info, Tokens: d.s.tracked(&d.window)}
	return &d.buffer.result
}

// may tells whether the table has a way from here.
func (d *draft) may(next Stage) bool {
	for _, legal := range transitions[d.stage] {
		if legal == next {
			return true
		}
	}
	return false
}

// to goes to a stage, along the table.
func (d *draft) to(next Stage) {
	if d.may(next) {
		d.jump(next)
	} else if d.err == nil {
		d.err = &TransitionError{From: d.stage, To: next, Path: d.path}
	}
}

// jump goes to a stage outside the table: reset and reopen alone.
func (d *draft) jump(next Stage) {
	d.stage = next
	d.path = append(d.path, next.name())
}

func (d *draft) append(m *event.Message, of uint64, joined bool) {
	e := &event.MessageAppended{}
	if d.appended < len(d.buffer.appended) {
		e = &d.buffer.appended[d.appended]
		d.appended++
	}
	e.Message, e.Of, e.Joined = m, of, joined
	d.events = append(d.events, e)
	d.window.push(entry{message: m, at: d.full}, joined, d.s.estimator())
	d.full++
}

func (d *draft) appendUser(text string) {
	d.append(&event.Message{Role: event.RoleUser, Content: text}, 0, false)
}

// hide marks the last n visible messages as rolled back.
func (d *draft) hide(n int64, reason string) {
	d.events = append(d.events, &event.RollbackMarked{Count: n, Reason: reason})
	d.window.pop(d.window.poppable(n), d.s.estimator())
	d.full++
}

func (d *draft) init(op Init) error {
	if d.full > 0 || d.stage != NotInitialized {
		return &StageError{Operation: op.name(), Stage: d.stage}
	}
	user, err := d.s.config.userMessage(op.Task)
	if err != nil {
		return err
	}
	if op.User != nil {
		user = *op.User
	}
	system := d.s.config.SystemPrompt
	if op.System != nil {
		system = op.System
	}
	if system != nil && *system != "" {
		d.append(&event.Message{Role: event.RoleSystem, Content: *system}, 0, false)
		d.to(SystemMessageSet)
	}
	d.appendUser(user)
	d.to(InitialUserMessage)
	d.checkTurns()
	return nil
}

// checkTurns forces the final turn when the next reply is the last that is allowed.
func (d *draft) checkTurns() {
	limit := d.head.MaxTurns
	if limit == nil {
		return
	}
	next := d.head.Turns + 1
	if next == *limit || (d.s.config.StrictTurnLimit && next >= *limit) {
		d.forceFinal(TriggerTurnLimit)
	}
}

// forceFinal makes the next reply the last one, and announces it where there is a text for that.
func (d *draft) forceFinal(trigger string) {
	prompt := d.s.final
	if d.s.config.SilentFinal {
		prompt = nil
		d.skipped(trigger)
	}
	d.head.Trigger, d.head.HasPrompt = trigger, prompt != nil
	d.info.HasEarlyStopPrompt = new(prompt != nil)
	d.events = append(d.events, &event.FinalizationForced{Trigger: trigger, HasPrompt: prompt != nil})
	if prompt != nil {
		d.appendUser(*prompt)
	}
	d.to(ForceFinal)
}

func (d *draft) skipped(trigger string) {
	d.info.SkippedFinal = true
	switch trigger {
	case TriggerTurnLimit:
		d.info.SkippedTurnLimit = true
	case TriggerContextLimit:
		d.info.SkippedContextLimit = true
	case TriggerToolsExhausted:
		d.info.SkippedExhausted = true
	}
}

func (d *draft) forceFinalize(op ForceFinalize) error {
	if d.stage.Action() != CallModel || d.stage == ForceFinal {
		return &StageError{Operation: op.name(), Stage: d.stage}
	}
	d.forceFinal(op.Trigger)
	return nil
}

// adjust performs the operations between steps.
func (d *draft) adjust(op Operation) (done bool, err error) {
	switch op := op.(type) {
	case Observe:
		d.quiet = true
		d.events = append(d.events, &event.PromptObserved{Tokens: op.Tokens})
	case ResetRollbacks:
		d.head.Rollbacks = 0
	case SetMaxTurns:
		d.head.MaxTurns = op.Limit
	case Reopen:
		d.head.Rollbacks, d.head.Trigger, d.head.HasPrompt = 0, "", false
		d.jump(InitialUserMessage)
	case Reset:
		d.quiet = true
		d.events = append(d.events, &event.ConversationReset{})
	case Marker:
		d.quiet = true
		d.events = append(d.events, &event.MarkerAppended{Name: op.Name, Content: op.Content})
	case Append:
		d.quiet = true
		return true, d.appendBetween(op.Message)
	default:
		return false, fmt.Errorf("operation %T is not known", op)
	}
	return true, nil
}

func (d *draft) appendBetween(m event.Message) error {
	switch {
	case m.Role == event.RoleSystem && d.full > 0:
		return errors.New("a system message can only be the first")
	case d.full == 0 && m.Role != event.RoleSystem && m.Role != event.RoleUser:
		return fmt.Errorf("a conversation begins with a system or user message, not with one of role %q", m.Role)
	}
	d.append(&m, 0, false)
	return nil
}
