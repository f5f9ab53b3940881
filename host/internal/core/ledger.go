package core

import (
	"fmt"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// A rollback hides messages, never effects: what was done stays done, though the model may not see any more that it
// was. So the announcement of a forced final turn carries a short ledger of it.

const (
	ledgerLines = 10  // the latest; more would fill a window that is full already
	ledgerBytes = 160 // of each line
)

// effectOf gives the line of an event by which a step is known to have changed something; empty for any other.
func (s *State) effectOf(step *task.Step, p event.Payload) string {
	spec := s.tool(step.Request.Tool)
	if spec == nil || spec.Effect == string(abi.EffectPure) || spec.Effect == string(abi.EffectRead) {
		return ""
	}
	result := ""
	switch p := p.(type) {
	case *event.ToolSucceeded:
		result = p.Result
	case *event.OperationFound:
		result = p.Result
	case *event.CancelAcknowledged:
		if p.Result == nil {
			return ""
		}
		result = *p.Result
	default:
		return ""
	}
	return clipped(fmt.Sprintf("%s %s: %s", step.Request.Tool, effective(&step.Request), result))
}

// clipped makes a text one line of ledgerBytes at most.
func clipped(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if len(line) > ledgerBytes {
		line = strings.ToValidUTF8(line[:ledgerBytes], "") + "…"
	}
	return line
}

// ledger is what the task has changed, the events of this draft included, for the model; empty when it is nothing.
func (d *draft) ledger() string {
	done := append([]string(nil), d.s.done...)
	for _, e := range d.events {
		if step := d.s.step(e.Step); step != nil {
			if line := d.s.effectOf(step, e.Payload); line != "" {
				done = append(done, line)
			}
		}
	}
	if len(done) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\nThese calls have changed something outside, and must not be made again:")
	if more := len(done) - ledgerLines; more > 0 {
		fmt.Fprintf(&b, "\n- %d earlier ones", more)
		done = done[more:]
	}
	for _, line := range done {
		b.WriteString("\n- " + line)
	}
	return b.String()
}

// announced puts the ledger behind the announcement of a forced turn, which follows the event that says so.
func (d *draft) announced(events []event.Payload) []event.Payload {
	for i, p := range events {
		forced, ok := p.(*event.FinalizationForced)
		if !ok || !forced.HasPrompt || i+1 == len(events) {
			continue
		}
		prompt, ok := events[i+1].(*event.MessageAppended)
		ledger := d.ledger()
		if !ok || prompt.Message == nil || ledger == "" {
			continue
		}
		m := *prompt.Message
		m.Content += ledger
		out := append([]event.Payload(nil), events...)
		out[i+1] = &event.MessageAppended{Message: &m, Joined: prompt.Joined}
		return out
	}
	return events
}
