package conv

import (
	"strings"
	"unicode/utf8"
)

// unusable is level 4: a refusal, or text that looks like a tool call. It tells whether it settled the
// reply.
func (d *draft) unusable(prior Stage, op Reply) bool {
	if words := d.refusal(op); len(words) > 0 && d.mayRollBack() {
		d.info.RefusalKeywords = words
		d.rollBackReply(prior, ReasonRefusal)
		return true
	}
	return d.formatError(prior, op)
}

// refusal gives the words that make the reply a refusal: the hook's, or the configured keywords in it.
func (d *draft) refusal(op Reply) []string {
	if op.Answers.Refusal != nil {
		return op.Answers.Refusal.Keywords
	}
	return hits(op.Message.Content, d.s.config.Rollback.RefusalKeywords)
}

func (d *draft) formatError(prior Stage, op Reply) bool {
	config := d.s.config.FormatError
	words := hits(op.Message.Content, config.Keywords)
	strategy, reprompt := config.Strategy, config.Reprompt
	if hook := op.Answers.FormatError; hook != nil {
		words = hook.Keywords
		if hook.Strategy != "" {
			strategy = hook.Strategy
		}
		if hook.Reprompt != "" {
			reprompt = hook.Reprompt
		}
	}
	switch {
	case len(words) == 0 || strategy == StrategyIgnore:
		return false
	case strategy == StrategyRollback && !d.mayRollBack():
		return false
	case strategy == StrategyReprompt && config.MaxReprompts > 0 && d.head.Reprompts >= config.MaxReprompts:
		return false
	}
	d.info.FormatKeywords, d.info.FormatStrategy = words, strategy
	d.info.OffendingPreview = preview(op.Message.Content)
	d.info.OffendingLength = int64(utf8.RuneCountInString(op.Message.Content))
	if strategy == StrategyRollback {
		d.rollBackReply(prior, ReasonFormatError)
		return true
	}
	d.head.Reprompts++
	d.appendUser(reprompt)
	d.to(FormatErrorPrompt)
	d.checkTurns()
	return true
}

// mayRollBack tells whether the counter allows one more rollback in a row.
func (d *draft) mayRollBack() bool { return d.head.Rollbacks < d.s.config.Rollback.MaxRollbacks }

// rollBackReply hides the reply, and goes back to where it was asked for.
func (d *draft) rollBackReply(prior Stage, reason string) {
	if prior == InitialUserMessage {
		d.rollBack(InitialUserMessage, reason)
	} else {
		d.rollBack(ToolMessages, reason)
	}
}

// rollBack hides the latest reply, gives its turn back, and waits for another at target.
func (d *draft) rollBack(target Stage, reason string) {
	d.hide(1, reason)
	d.head.Turns = max(0, d.head.Turns-1)
	d.head.Rollbacks++
	d.info.RollbackReason, d.info.AssistantRollbacks = reason, d.head.Rollbacks
	d.to(AssistantRollback)
	d.to(target)
}

// hits gives the keywords that stand in text, in their order. Empty keywords stand nowhere.
func hits(text string, keywords []string) []string {
	var found []string
	for _, k := range keywords {
		if k != "" && strings.Contains(text, k) {
			found = append(found, k)
		}
	}
	return found
}
