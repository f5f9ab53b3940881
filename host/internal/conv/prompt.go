package conv

import (
	"strings"

	"github.com/axishost/axishost/host/internal/event"
)

// What is put into a prompt where what is visible would be refused.
const (
	textNotRun   = "There is no result: this call was not run, or its result is not shown any more."
	textContinue = "Go on with the task."
)

// Prompt gives the messages to be sent to the model: what is visible, in the form that the strictest
// endpoints take. Every call has exactly one result, in call order, right behind its message; a result
// without its call is told by the user; neighbours of one role are joined; the first message after the
// system's is the user's, and the last is not the assistant's. The log is not changed. The messages are
// views: not to be changed.
func (s *State) Prompt() []event.Message {
	b := promptBuilder{told: s.config.ToolResultRole == event.RoleUser, out: make([]event.Message, 0, s.window.len()+2)}
	for m := range s.rendered(s.window) {
		b.add(m)
	}
	b.answer()
	if n := len(b.out); n == 0 || b.out[n-1].Role == event.RoleAssistant || b.out[n-1].Role == event.RoleSystem {
		b.add(&event.Message{Role: event.RoleUser, Content: textContinue})
	}
	return b.out
}

// Excerpt gives the visible messages from i to j, in the form of a prompt, with the task before them and a
// question behind.
func (s *State) Excerpt(i, j int, question string) []event.Message {
	b := promptBuilder{told: true} // no tools are offered for it, so none can stand in it
	for n := range j {
		m := s.window.at(n).message
		if n >= i || m.Role == event.RoleSystem || (m.Role == event.RoleUser && n < 2) {
			b.add(m)
		}
	}
	b.add(&event.Message{Role: event.RoleUser, Content: question})
	return b.out
}

// promptBuilder holds the calls of the latest assistant message and the results that came for them.
type promptBuilder struct {
	// told tells that calls and results are sent as text.
	told    bool
	out     []event.Message
	calls   []event.ToolCall
	results []*event.Message
}

func (b *promptBuilder) add(m *event.Message) {
	if m.Role == event.RoleTool && len(b.calls) > 0 {
		b.results = append(b.results, m)
		return
	}
	b.answer()
	switch m.Role {
	case event.RoleTool:
		b.join(&event.Message{Role: event.RoleUser, Content: "Result of " + m.Name + ": " + m.Content})
	case event.RoleSystem:
		b.out = append(b.out, *m)
	default:
		if m.Role == event.RoleAssistant && len(m.ToolCalls) == 0 && strings.TrimSpace(m.Content) == "" {
			return // endpoints refuse a message with nothing in it
		}
		if b.told && len(m.ToolCalls) > 0 {
			m = asText(m)
		}
		b.join(m)
		b.calls = b.out[len(b.out)-1].ToolCalls
	}
}

// asText tells the calls of a message in its text.
func asText(m *event.Message) *event.Message {
	told := *m
	for _, c := range m.ToolCalls {
		told.Content = paragraphs(told.Content, "Called "+c.Name+" with "+c.Arguments)
	}
	told.ToolCalls = nil
	return &told
}

// answer puts the results of the open calls behind them, in call order. A result may stand for several
// calls, its ids joined by a comma; a call without one was not run.
func (b *promptBuilder) answer() {
	used := make([]bool, len(b.results))
	for _, c := range b.calls {
		content, name := textNotRun, c.Name
		for i, r := range b.results {
			switch {
			case r.ToolCallID == c.ID && !used[i]:
				used[i] = true
			case r.ToolCallID == c.ID || !strings.Contains(","+r.ToolCallID+",", ","+c.ID+","):
				continue
			}
			content = r.Content
			break
		}
		b.out = append(b.out, event.Message{Role: event.RoleTool, ToolCallID: c.ID, Name: name, Content: content})
	}
	b.calls, b.results = nil, nil
}

// join adds a message of the user or the assistant, to the one before it where that has the same role.
func (b *promptBuilder) join(m *event.Message) {
	n := len(b.out)
	if m.Role == event.RoleAssistant && (n == 0 || b.out[n-1].Role == event.RoleSystem) {
		b.out = append(b.out, event.Message{Role: event.RoleUser, Content: textContinue})
		n++
	}
	if n == 0 || b.out[n-1].Role != m.Role {
		b.out = append(b.out, *m)
		return
	}
	last := &b.out[n-1]
	last.Content = paragraphs(last.Content, m.Content)
	last.Reasoning = paragraphs(last.Reasoning, m.Reasoning)
	last.ToolCalls = m.ToolCalls
	last.Tokens = 0
}

func paragraphs(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}
