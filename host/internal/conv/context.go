package conv

import (
	"github.com/axishost/axishost/host/internal/event"
)

// warning is the room below which the final turn is forced.
func (d *draft) warning() int64 {
	if w := d.s.config.ContextLimit.Warning; w != nil {
		return *w
	}
	return d.s.env.MaxOutputTokens
}

// generationBudget says what room the window leaves for a reply.
func (d *draft) generationBudget() *event.ContextEstimate {
	limit := &d.s.config.ContextLimit
	e := &event.ContextEstimate{
		Reserved: d.s.env.MaxOutputTokens, Margin: limit.SafetyMargin, MinGeneration: limit.MinGeneration,
		Warning: d.warning(), Window: limit.Window,
	}
	e.Total = e.Warning + e.Margin
	if limit.Window == nil {
		return e
	}
	e.Reserved = e.Warning
	e.Prompt = d.s.estimate(&d.window, &d.s.plain)
	remaining := *limit.Window - e.Prompt - e.Margin
	e.Remaining = &remaining
	e.Total += e.Prompt
	e.HardStop = e.MinGeneration > 0 && remaining < e.MinGeneration
	e.NeedsFinal = !e.HardStop && remaining < e.Warning
	e.Exceeds = e.HardStop || e.NeedsFinal
	return e
}

// promptFit says whether the announcement of the forced turn fits, as things are now.
func (d *draft) promptFit() *event.PromptFit {
	limit := &d.s.config.ContextLimit
	if d.s.final == nil || limit.Window == nil {
		return &event.PromptFit{Fits: true}
	}
	tokens := d.s.estimate(&d.window, &d.s.withFinal)
	left := *limit.Window - tokens - limit.SafetyMargin
	return &event.PromptFit{WithPrompt: tokens, Remaining: &left, Fits: left > 0}
}

// finalizationBudget is the generation budget, with what the announcement of the forced turn takes.
func (d *draft) finalizationBudget() *event.ContextEstimate {
	e := d.generationBudget()
	e.PromptFit = d.promptFit()
	if left := e.PromptFit.Remaining; left != nil {
		e.NeedsFinal = e.NeedsFinal || *left < e.Warning
		e.Total = max(e.Total, e.WithPrompt+e.Warning+e.Margin)
		e.Exceeds = e.HardStop || e.NeedsFinal
	}
	return e
}

// checkContextAfterReply is level 2c; it tells whether it settled the reply.
func (d *draft) checkContextAfterReply() bool {
	if !d.s.env.Preflight || d.s.config.ContextLimit.MinGeneration <= 0 {
		return false
	}
	return d.checkBudget(d.generationBudget(), false)
}

// checkContextAfterTools looks at the window before the model is asked with new results.
func (d *draft) checkContextAfterTools() bool {
	if !d.s.env.Preflight {
		return false
	}
	if d.s.config.ContextLimit.MinGeneration > 0 && d.checkBudget(d.generationBudget(), true) {
		return true
	}
	e := d.finalizationBudget()
	if !e.HardStop && !e.NeedsFinal && !e.Fits {
		d.contextFinal(e, true)
		return true
	}
	return d.checkBudget(e, true)
}

// checkBudget ends the conversation where there is no room at all, and forces the final turn where there is
// too little.
func (d *draft) checkBudget(e *event.ContextEstimate, mayHide bool) bool {
	switch {
	case e.HardStop:
		d.info.Context = e
		d.budgetStop()
	case e.NeedsFinal:
		d.contextFinal(e, mayHide)
	default:
		return false
	}
	return true
}

// contextFinal forces the final turn because the window is full: the latest exchange is hidden where that
// is allowed, and the announcement must fit.
func (d *draft) contextFinal(e *event.ContextEstimate, mayHide bool) {
	d.info.Context = e
	hidden := int64(0)
	if mayHide && !d.s.config.SilentFinal && d.may(ContextRollback) {
		if hidden = int64(d.trailing()); hidden > 0 {
			d.hide(hidden, ReasonContextLimit)
			d.to(ContextRollback)
		}
	}
	d.info.RollbackCount = &hidden
	if d.s.env.Preflight && !d.s.config.SilentFinal {
		e.PromptFit = d.promptFit()
		if e.MinGeneration > 0 && !e.Fits {
			d.budgetStop()
			return
		}
	}
	d.forceFinal(TriggerContextLimit)
}

// budgetStop ends the conversation: there is no room for a reply.
func (d *draft) budgetStop() {
	d.info.BudgetStop, d.info.FinalizationTrigger = true, TriggerContextLimit
	d.to(TokenExceeded)
}

// trailing counts the messages that a context rollback hides: back to and with the latest reply, never past a
// system message, nor the task where that is protected.
func (d *draft) trailing() int {
	w, n := &d.window, 0
	for ; n < w.len(); n++ {
		i := w.len() - 1 - n
		m := w.at(i).message
		switch {
		case m.Role == event.RoleSystem, d.s.config.ProtectTask && d.isTask(i):
			return n
		case d.s.config.KeepCalls && d.stage == ToolMessages && m.Role != event.RoleTool:
			return n
		case m.Role == event.RoleAssistant:
			return n + 1
		}
	}
	return n
}

// isTask tells whether the i-th visible message is the one that holds the task.
func (d *draft) isTask(i int) bool {
	e := d.window.at(i)
	return e.message.Role == event.RoleUser && (e.at == 0 || (e.at == 1 && d.s.full[0].Role == event.RoleSystem))
}

// contextError is what happens when the endpoint refuses the prompt for its length.
func (d *draft) contextError(op ContextError) error {
	if d.stage.Action() != CallModel {
		return &StageError{Operation: op.name(), Stage: d.stage}
	}
	var e *event.ContextEstimate
	if d.s.env.Preflight {
		e = d.finalizationBudget()
	} else {
		limit := &d.s.config.ContextLimit
		e = &event.ContextEstimate{
			Reserved: d.s.env.MaxOutputTokens, Margin: limit.SafetyMargin, MinGeneration: limit.MinGeneration,
			Warning: d.warning(), Window: limit.Window, Exceeds: true, Detection: "provider_error",
			PromptFit: &event.PromptFit{Fits: true},
		}
	}
	e.ProviderError = op.Info
	if d.stage == ForceFinal {
		d.info.Context, d.info.FinalizationTrigger = e, TriggerContextLimit
		return nil
	}
	d.contextFinal(e, true)
	return nil
}
