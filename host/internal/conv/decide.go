package conv

import (
	"errors"
	"fmt"

	"github.com/axishost/axishost/host/internal/event"
)

// Triggers of a forced final turn.
const (
	TriggerTurnLimit = "turn_limit"
)

// Reasons of rollbacks.
const (
	ReasonRefusal     = "assistant_refusal"
	ReasonFormatError = "format_error"
)

// Decision is what an operation leads to.
type Decision struct {
	// Events in the order in which they are to be evolved; the last is the Decided.
	Events []event.Payload
	Stage  Stage
	Head   event.Head
	Info   event.Info
}

// Decide gives what an operation leads to, and changes nothing. An error means that the operation is
// refused: a *StageError, a *TransitionError or one that says what does not fit.
func Decide(s *State, op Operation) (*Decision, error) {
	d := &draft{s: s, head: s.head, stage: s.stage, visible: len(s.visible), full: len(s.full)}
	d.path = append(make([]string, 0, 6), s.stage.String())
	var err error
	switch op := op.(type) {
	case Init:
		err = d.init(op)
	case Reply:
		err = d.reply(op)
	case Results:
		err = d.results(op)
	default:
		err = fmt.Errorf("operation %T is not known", op)
	}
	if err = errors.Join(err, d.err); err != nil {
		return nil, err
	}
	return d.decision(op.name()), nil
}

// draft collects an operation's events, and knows where the conversation will stand after them.
type draft struct {
	s       *State
	stage   Stage
	head    event.Head
	path    []string
	events  []event.Payload
	info    event.Info
	visible int // messages visible after the events so far
	full    int
	err     error
}

func (d *draft) decision(operation string) *Decision {
	d.head.Stage = d.stage.String()
	d.info.VisibleMessages, d.info.Messages = int64(d.visible), int64(d.full)
	d.info.Appended = int64(d.full - len(d.s.full))
	d.info.AssistantTurn = d.head.Turns
	switch d.stage {
	case ForceFinal, ForceCompleted, ToolCallsRejected, Completed:
		d.info.FinalizationTrigger = d.head.Trigger
	}
	d.events = append(d.events, &event.Decided{Operation: operation, StagePath: d.path, Head: d.head, Info: d.info})
	return &Decision{Events: d.events, Stage: d.stage, Head: d.head, Info: d.info}
}

// to goes to a stage, along the table.
func (d *draft) to(next Stage) {
	for _, legal := range transitions[d.stage] {
		if legal == next {
			d.stage = next
			d.path = append(d.path, next.String())
			return
		}
	}
	if d.err == nil {
		d.err = &TransitionError{From: d.stage, To: next, Path: d.path}
	}
}

func (d *draft) append(m event.Message, of uint64) {
	d.events = append(d.events, &event.MessageAppended{Message: &m, Of: of})
	d.visible++
	d.full++
}

func (d *draft) appendUser(text string) {
	d.append(event.Message{Role: event.RoleUser, Content: text}, 0)
}

func (d *draft) init(op Init) error {
	if d.stage != NotInitialized {
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
		d.append(event.Message{Role: event.RoleSystem, Content: *system}, 0)
		d.to(SystemMessageSet)
	}
	d.appendUser(user)
	d.to(InitialUserMessage)
	d.checkTurns()
	return nil
}

func (d *draft) results(op Results) error {
	if d.stage != AwaitTools {
		return &StageError{Operation: op.name(), Stage: d.stage}
	}
	if err := matchResults(d.s.pending, op.Results); err != nil {
		return err
	}
	for _, r := range op.Results {
		d.append(r.Message, r.Of)
	}
	if op.ResetRollbacks {
		d.head.Rollbacks = 0
	}
	d.to(ToolMessages)
	d.checkTurns()
	return nil
}

// matchResults checks that every pending call has exactly one result, in call order.
func matchResults(pending []event.ToolCall, results []Result) error {
	if len(results) != len(pending) {
		return fmt.Errorf("%d results for %d calls", len(results), len(pending))
	}
	for i, r := range results {
		if r.Message.Role != event.RoleTool {
			return fmt.Errorf("result %d has role %q", i, r.Message.Role)
		}
		if r.Message.ToolCallID != pending[i].ID {
			return fmt.Errorf("result %d answers call %q; call %q is next", i, r.Message.ToolCallID, pending[i].ID)
		}
	}
	return nil
}

// checkTurns forces the final turn when the next reply is the last that is allowed.
func (d *draft) checkTurns() {
	limit := d.s.config.MaxTurns
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
	prompt := d.s.config.finalPrompt()
	d.head.Trigger, d.head.HasPrompt = trigger, prompt != ""
	d.info.HasEarlyStopPrompt = d.head.HasPrompt
	d.events = append(d.events, &event.FinalizationForced{Trigger: trigger, HasPrompt: d.head.HasPrompt})
	if prompt != "" {
		d.appendUser(prompt)
	}
	d.to(ForceFinal)
}
