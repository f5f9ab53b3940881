package core

import (
	"encoding/json"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
)

// dueForCompaction tells whether older messages are to be replaced before the model is asked again. A forced
// turn is not put off: its answer is due.
func (c *Config) dueForCompaction(stage conv.Stage, tokens int64) bool {
	t := c.Compaction.Threshold
	return t != nil && tokens >= *t && stage != conv.ForceFinal
}

// wantsCompactionPlan tells whether the recipe is to say what is replaced.
func (s *State) wantsCompactionPlan() bool {
	return len(s.steps) == 0 && s.conv.Stage().Action() == conv.CallModel && !s.compacted &&
		hasHook(s.created, string(abi.HookCompact)) && s.config.dueForCompaction(s.conv.Stage(), s.conv.Tokens()) &&
		!s.config.spentAll(s.conv.Stage(), s.spent)
}

// compactQuestion describes what is visible, without its text.
func (s *State) compactQuestion() Question {
	in := abi.CompactInput{Messages: []abi.CompactMessage{}, Used: s.conv.Tokens()}
	if w := s.config.Conversation.ContextLimit.Window; w != nil {
		in.Window = *w
	}
	for i := range s.conv.Len() {
		m := s.conv.At(i)
		described := abi.CompactMessage{
			Index: i, Role: m.Role, Name: m.Name, Bytes: len(m.Content), Tokens: conv.Counted{}.One(m),
		}
		for _, c := range m.ToolCalls {
			described.ToolCalls = append(described.ToolCalls, c.Name)
		}
		in.Messages = append(in.Messages, described)
	}
	return Question{Hook: abi.HookCompact, Input: encode(in)}
}

// compact replaces older messages, by the recipe's plan or the host's: it drops them, asks the model for a
// summary, or, where there is nothing to replace, asks for the next turn all the same.
func (d *draft) compact(answers []event.Answer, cause uint64) error {
	s := d.s
	plan, discard := s.compactionPlan(answers)
	switch {
	case plan == nil || s.compacted && answers == nil:
		d.requestModel(cause, s.conv.Len(), 1, nil)
	case discard:
		d.emit(&event.MarkerAppended{Name: conv.MarkerDiscardAll, Content: string(encode(map[string]any{"prefix_len": plan.From}))}, cause)
		decision, err := conv.Decide(s.conv, conv.Reopen{})
		if err != nil {
			return err
		}
		d.record(decision, d.seq)
		d.requestModel(d.seq, int(plan.From), 1, nil)
	default:
		d.requestModel(cause, s.conv.Len(), 1, plan)
	}
	return nil
}

// compactionPlan gives what is to be replaced; nil for nothing. A plan of the recipe's that does not fit what
// is visible, parts a call from its results, or drops the task, is no decision: the host's own then holds.
func (s *State) compactionPlan(answers []event.Answer) (plan *event.Compaction, discard bool) {
	plan = s.hostPlan()
	var out abi.CompactOutput
	if a := answered(answers, abi.HookCompact); a != nil && a.Decided && json.Unmarshal([]byte(a.Output), &out) == nil {
		own := &event.Compaction{From: int64(out.From), To: int64(out.To), Prompt: out.Prompt}
		if own.Prompt == "" {
			own.Prompt = s.config.Compaction.Prompt
		}
		switch {
		case out.Discard && out.From >= s.opening() && out.From < s.conv.Len() && s.between(out.From):
			return &event.Compaction{From: own.From}, true
		case !out.Discard && out.From >= 0 && out.To <= s.conv.Len() && s.between(out.From) && s.between(out.To):
			return own, false
		}
	}
	if plan.To-plan.From < 2 {
		return nil, false
	}
	return plan, false
}

// opening counts the messages that a conversation begins with: the system's and the task.
func (s *State) opening() int {
	n := 0
	for n < s.conv.Len() && (s.conv.At(n).Role == event.RoleSystem || s.conv.At(n).Role == event.RoleUser) {
		n++
	}
	return n
}

// between tells whether the list can be cut before i: a call stays with its results.
func (s *State) between(i int) bool { return i == s.conv.Len() || s.conv.At(i).Role != event.RoleTool }

// hostPlan keeps the beginning (system message and task) and the latest messages.
func (s *State) hostPlan() *event.Compaction {
	from, n := s.opening(), s.conv.Len()
	to := max(from, n-int(s.config.Compaction.KeepRecent))
	for to > from && to < n && s.conv.At(to).Role == event.RoleTool {
		to-- // a call stays with its results
	}
	return &event.Compaction{From: int64(from), To: int64(to), Prompt: s.config.Compaction.Prompt}
}

// usableSummary is the text of a reply that can stand for what it sums up: one that is whole, and text alone;
// empty for others.
func usableSummary(reply *event.ModelReplied) string {
	if len(reply.Message.ToolCalls) > 0 || cutOff(reply) {
		return ""
	}
	return strings.TrimSpace(reply.Message.Content)
}

// summarised puts a summary in place of what it sums up. One that saves nothing would only be asked for
// again: the final turn is forced instead.
func (d *draft) summarised(reply *event.ModelReplied, cause uint64) error {
	s, plan := d.s, d.s.compaction
	summary := usableSummary(reply)
	before := int64(0)
	for i := plan.From; i < plan.To; i++ {
		before += conv.Counted{}.One(s.conv.At(int(i)))
	}
	after := conv.Counted{}.One(&event.Message{Role: event.RoleAssistant, Content: summary})
	if summary == "" || after >= before {
		return d.apply(s.conv, conv.ForceFinalize{Trigger: conv.TriggerContextLimit}, cause)
	}
	content := encode(map[string]any{"summary": summary, "prefix_len": plan.From, "compressed_count": plan.To - plan.From})
	d.emit(&event.MarkerAppended{Name: conv.MarkerCompaction, Content: string(content)}, cause)
	d.requestModel(d.seq, s.conv.Len()-int(plan.To-plan.From)+1, 1, nil)
	return nil
}
