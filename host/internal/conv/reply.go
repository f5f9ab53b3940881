package conv

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/axishost/axishost/host/internal/event"
)

// FinishLength is the finish reason of a reply that ran out of tokens.
const FinishLength = "length"

// reply judges a reply, in seven levels; each either settles it or leaves it to the next.
func (d *draft) reply(op Reply) error {
	switch {
	case op.Message.Role != event.RoleAssistant:
		return errors.New("a reply must have role assistant; it has " + op.Message.Role)
	case d.stage.Action() != CallModel:
		return &StageError{Operation: op.name(), Stage: d.stage}
	}
	if op.Observed > 0 && d.s.tracks() {
		d.events = append(d.events, &event.PromptObserved{Tokens: op.Observed})
		d.s.observe(&d.window, op.Observed)
	}
	prior := d.stage
	text, calls := op.Message.Content, len(op.Message.ToolCalls)
	d.append(&op.Message, op.Of, false)
	d.head.Turns++
	d.to(AssistantReceived)

	switch {
	case op.FinishReason == FinishLength && text == "" && calls == 0: // 1: nothing but the limit
		d.to(TokenExceeded)
	case prior == ForceFinal: // 2: the last turn, whatever it says
		d.forcedReply(calls)
	case op.FinishReason == FinishLength: // 2b: cut off
		d.cutReply(op)
	case !d.spared(prior, op) && d.checkContextAfterReply(): // 2c: no room for another turn
	case calls > 0: // 3
		d.head.Reprompts = 0
		d.info.ToolRequestCount = int64(calls)
		d.to(AwaitTools)
	case prior != FinalResponsePrompt && d.unusable(prior, op): // 4
	default:
		return d.textReply(prior, op)
	}
	return nil
}

// spared tells whether a reply is not measured against the window, since no other follows it.
func (d *draft) spared(prior Stage, op Reply) bool {
	if !d.s.config.ContextLimit.SpareAnswers || len(op.Message.ToolCalls) > 0 {
		return false
	}
	a := op.Answers
	direct := a.DirectFinal != nil && *a.DirectFinal != ""
	declined := a.PromptFinal != nil && !*a.PromptFinal
	return direct || declined || prior == FinalResponsePrompt || !d.s.mayPromptFinal()
}

func (d *draft) forcedReply(calls int) {
	switch {
	case calls > 0:
		d.info.ToolRequestCount = int64(calls)
		d.to(ToolCallsRejected)
	case d.head.HasPrompt:
		d.to(ForceCompleted)
	default:
		d.to(Completed)
	}
}

// cutReply judges a reply that ran out of tokens: a final answer in it counts, calls in it never do, even
// when they happen to be whole.
func (d *draft) cutReply(op Reply) {
	d.info.FinishReason = op.FinishReason
	if direct := op.Answers.DirectFinal; direct != nil && *direct != "" {
		d.complete(op, direct)
		return
	}
	d.info.HadContent = new(op.Message.Content != "")
	d.to(TokenExceeded)
}

// textReply is levels 5 to 7: a direct answer, the prompt for the final one, or completion.
func (d *draft) textReply(prior Stage, op Reply) error {
	d.head.Reprompts = 0
	final := d.s.config.FinalResponsePrompt
	if prior != FinalResponsePrompt {
		if direct := op.Answers.DirectFinal; direct != nil && *direct != "" {
			d.complete(op, direct)
			return nil
		}
		prompt := op.Answers.PromptFinal == nil || *op.Answers.PromptFinal
		if d.s.mayPromptFinal() && prompt {
			if *final == "" {
				return errEmptyFinalPrompt
			}
			d.head.Rollbacks = 0
			d.head.FinalPrompted = true
			d.appendUser(*final)
			d.to(FinalResponsePrompt)
			d.checkTurns()
			return nil
		}
	}
	d.complete(op, nil)
	return nil
}

// complete ends the conversation with this reply, unless verify rejects its answer and it may try again.
func (d *draft) complete(op Reply, direct *string) {
	d.head.Rollbacks = 0
	if v := op.Answers.Verdict; v != nil && !v.Verified && d.head.Rejections < d.s.config.MaxGoalRetries {
		d.head.Rejections++
		d.info.GoalRejectedReason = preview(v.Reason)
		d.appendUser(rejection(v.Reason))
		d.to(GoalRejectedPrompt)
		d.checkTurns()
		return
	}
	if direct != nil {
		d.info.DirectAnswer, d.info.DirectAnswerPreview = direct, preview(*direct)
	}
	d.to(Completed)
}

func rejection(reason string) string {
	if reason == "" {
		return "That answer was checked and does not hold. Work on, and answer again."
	}
	return reason
}

// mayPromptFinal tells whether a reply could be followed by the prompt for the final answer.
func (s *State) mayPromptFinal() bool {
	return s.config.FinalResponsePrompt != nil && !(s.config.FinalPromptOnce && s.head.FinalPrompted)
}

// preview is text on one line, at most 240 characters of it.
func preview(text string) string {
	const most = 240
	text = strings.Join(strings.FieldsFunc(text, space), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

// space tells white space as Python does, whose set also has the four separators of ASCII.
func space(r rune) bool { return unicode.IsSpace(r) || (r >= 0x1c && r <= 0x1f) }
