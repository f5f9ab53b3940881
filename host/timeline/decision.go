package timeline

import (
	"fmt"

	"github.com/axishost/axishost/host/internal/event"
)

// decided tells a decision: the reply that it judged, the path through the stages, and what was hidden or
// asked for again, and why. The path is a detail where it did not go straight, for there it shows which stages
// the decision went back through; else it is routine.
func (t *Timeline) decided(p *event.Decided) []Line {
	path := Line{Routine, "", p.Path(" → ")}
	var lines []Line
	if t.compaction != nil {
		lines = append(lines, Line{Notice, "compact", "the summary cannot be used: it is cut off, no plain text, or no shorter than what it sums up"})
		t.reply, t.compaction = nil, nil
	}
	if t.reply != nil {
		lines = append(lines, Line{Plain, fmt.Sprintf("turn %d", turnOf(p)), t.told()})
		t.reply = nil
	}
	why := because(p)
	if why != nil {
		path.Kind = Detail
	}
	if len(lines) > 0 || why != nil {
		lines = append(append(lines, path), why...)
	}
	lines = append(lines, t.forced...)
	t.forced = nil
	return lines
}

// turnOf is the turn of the reply that was judged: one that was rolled back has given its turn back.
func turnOf(p *event.Decided) int64 {
	if p.Operation == "assistant" && p.Info.RollbackReason == "" {
		return p.Head.Turns
	}
	return p.Head.Turns + 1
}

// because says what did not go straight.
func because(p *event.Decided) []Line {
	i := p.Info
	inRow := fmt.Sprintf("rollback %d in a row", i.AssistantRollbacks)
	switch {
	case len(i.RefusalKeywords) > 0:
		return notice("hidden: a refusal (%s); asked again, %s", list(i.RefusalKeywords), inRow)
	case p.Operation == "rollback_tool_calls":
		return notice("hidden: the calls of this turn (%s); asked again, %s", show(i.RollbackReason), inRow)
	case i.ForceRecovery:
		return notice("hidden: the latest tool exchange, %d messages (%s)", *i.RollbackCount, show(i.RollbackReason))
	case i.RollbackReason != "":
		return notice("hidden: a malformed tool call (%s); asked again, %s", list(i.FormatKeywords), inRow)
	case i.Context != nil:
		return contextLines(i, p.Operation == "context_error")
	case len(i.FormatKeywords) > 0:
		return notice("malformed tool call (%s): asked for a valid one, reprompt %d in a row", list(i.FormatKeywords), p.Head.Reprompts)
	case p.Operation == "reopen":
		return notice("reopened")
	}
	return nil
}

func contextLines(i *event.Info, told bool) []Line {
	room := "the endpoint calls the prompt too long"
	if !told && i.Context.Window != nil {
		room = fmt.Sprintf("the prompt counts %d tokens of a window of %d", i.Context.Prompt, *i.Context.Window)
	}
	switch {
	case i.BudgetStop:
		return notice("no room for a reply: %s", room)
	case i.RollbackCount != nil && *i.RollbackCount > 0:
		return notice("hidden: the last %d messages (context_limit); %s", *i.RollbackCount, room)
	}
	return notice("context_limit: %s", room)
}

func notice(format string, args ...any) []Line {
	return []Line{{Notice, "", fmt.Sprintf(format, args...)}}
}

// marked tells that older messages were replaced. The reply that the summary came in is no turn.
func (t *Timeline) marked(p *event.MarkerAppended) []Line {
	c := t.compaction
	t.reply, t.compaction = nil, nil
	if c == nil {
		return []Line{{Notice, "compact", "older messages were dropped (" + show(p.Name) + ")"}}
	}
	return []Line{{Notice, "compact", fmt.Sprintf("%d messages replaced by a summary, in %s", c.To-c.From, duration(t.latency))}}
}
