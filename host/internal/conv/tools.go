package conv

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/axishost/axishost/host/internal/event"
)

func (d *draft) results(op Results) error {
	if d.stage != AwaitTools {
		return &StageError{Operation: op.name(), Stage: d.stage}
	}
	if err := matchResults(d.s.pending, op.Results); err != nil {
		return err
	}
	results := op.Results
	if d.s.config.AggregateRejected {
		results = aggregate(results)
	}
	for i := range results {
		d.append(&results[i].Message, results[i].Of, i > 0)
	}
	if op.ResetRollbacks {
		d.head.Rollbacks = 0
	}
	d.to(ToolMessages)
	if op.Exhausted {
		d.forceFinal(TriggerToolsExhausted)
		return nil
	}
	if !d.checkContextAfterTools() {
		d.checkTurns()
	}
	return nil
}

// matchResults checks that the results are those of the pending calls: as many, and with the same ids. An
// endpoint may use an id twice.
func matchResults(pending []event.ToolCall, results []Result) error {
	if len(results) != len(pending) || len(results) == 0 {
		return fmt.Errorf("%d results for %d calls", len(results), len(pending))
	}
	for _, r := range results {
		if r.Message.Role != event.RoleTool {
			return fmt.Errorf("result of call %q has role %q", r.Message.ToolCallID, r.Message.Role)
		}
		if !slices.ContainsFunc(pending, func(c event.ToolCall) bool { return c.ID == r.Message.ToolCallID }) {
			return fmt.Errorf("there is no pending call %q", r.Message.ToolCallID)
		}
	}
	for _, c := range pending {
		if !slices.ContainsFunc(results, func(r Result) bool { return r.Message.ToolCallID == c.ID }) {
			return fmt.Errorf("call %q has no result", c.ID)
		}
	}
	return nil
}

// aggregate puts the results of rejected calls that say the same into one message, behind the others.
func aggregate(results []Result) []Result {
	var out []Result
	var order []string
	groups := map[string][]Result{}
	for _, r := range results {
		if !r.Rejected {
			out = append(out, r)
			continue
		}
		if groups[r.Message.Content] == nil {
			order = append(order, r.Message.Content)
		}
		groups[r.Message.Content] = append(groups[r.Message.Content], r)
	}
	for _, content := range order {
		group := groups[content]
		if len(group) == 1 {
			out = append(out, group[0])
			continue
		}
		out = append(out, Result{Message: joined(group)})
	}
	return out
}

func joined(group []Result) event.Message {
	m := group[0].Message
	var ids, names []string
	for _, r := range group {
		ids = append(ids, r.Message.ToolCallID)
		if r.Message.Name != "" {
			names = append(names, r.Message.Name)
		}
	}
	slices.Sort(names)
	m.ToolCallID, m.Name, m.Tokens = strings.Join(ids, ","), strings.Join(slices.Compact(names), ","), 0
	return m
}

// rollbackToolCalls hides the reply whose calls are pending.
func (d *draft) rollbackToolCalls(op RollbackToolCalls) (bool, error) {
	switch {
	case !d.mayRollBack():
		return false, nil
	case d.stage != AwaitTools:
		return false, &StageError{Operation: op.name(), Stage: d.stage}
	}
	d.rollBack(ToolMessages, op.Reason)
	return true, nil
}

// rollbackExchange hides the latest tool exchange: a reply with calls, its results, and the announcement of
// the forced turn behind them.
func (d *draft) rollbackExchange(op RollbackExchange) (bool, error) {
	if d.stage.Action() != CallModel {
		return false, &StageError{Operation: op.name(), Stage: d.stage}
	}
	n := d.exchange()
	if n == 0 || (d.stage != ToolMessages && d.stage != ForceFinal) {
		return false, nil
	}
	reason := op.Reason
	if reason == "" {
		reason = ReasonTokenExhaustion
	}
	d.hide(int64(n), reason)
	d.to(ContextRollback)
	d.info.RollbackCount, d.info.RollbackReason = new(int64(n)), reason
	d.info.ForceRecovery = true
	d.info.TokenRecovery = reason == ReasonTokenExhaustion
	d.info.ContextRecovery = reason == ReasonContextLimit
	d.forceFinal(TriggerContextLimit)
	return true, nil
}

// exchange counts the messages of the latest tool exchange from the end; 0 where there is none.
func (d *draft) exchange() int {
	w, n := &d.window, 0
	last := func() *event.Message {
		if n >= w.len() {
			return &event.Message{}
		}
		return w.at(w.len() - 1 - n).message
	}
	if p := d.s.final; p != nil && *p != "" && last().Role == event.RoleUser && last().Content == *p && last().ToolCallID == "" {
		n++
	}
	results := 0
	for ; last().Role == event.RoleTool || (last().Role == event.RoleUser && last().ToolCallID != ""); n++ {
		results++
	}
	if results == 0 || last().Role != event.RoleAssistant || len(last().ToolCalls) == 0 {
		return 0
	}
	return n + 1
}

var errEmptyFinalPrompt = errors.New("final_response_prompt is empty")
