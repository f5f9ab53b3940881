package conv

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/axishost/axishost/host/internal/event"
)

// operation translates an operation of the vectors.
func (c *vector) operation(op vectorOp) Operation {
	switch op.Op {
	case "init":
		return Init{Task: op.Task}
	case "assistant", "assistant_role_user":
		return c.reply(op)
	case "tools":
		r := Results{Exhausted: op.Exhausted}
		for _, result := range op.Results {
			role := event.RoleTool
			if result.Role != "" {
				role = result.Role
			}
			r.Results = append(r.Results, Result{
				Message:  event.Message{Role: role, ToolCallID: result.ID, Name: result.Name, Content: result.Content},
				Rejected: slices.Contains(op.Rejected, result.ID),
			})
		}
		return r
	case "observe":
		return Observe{Tokens: op.InputTokens}
	case "reset_counter":
		return ResetRollbacks{}
	case "rollback_tool_calls":
		return RollbackToolCalls{Reason: op.Reason}
	case "rollback_exchange":
		return RollbackExchange{Reason: op.Reason}
	case "context_error":
		info := op.ErrorInfo
		if string(info) == "{}" || string(info) == "null" {
			info = nil
		}
		return ContextError{Info: info}
	case "marker":
		return Marker{Name: text(op.Name), Content: text(op.Content)}
	case "append":
		return Append{Message: event.Message{Role: op.Message.Role, Content: text(op.Message.Content), ToolCallID: text(op.Message.ToolCallID)}}
	case "reopen":
		return Reopen{}
	case "set_max_turns":
		return SetMaxTurns{Limit: op.Value}
	case "reset":
		return Reset{}
	}
	panic("operation " + op.Op)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (c *vector) reply(op vectorOp) Reply {
	r := Reply{
		Message:      event.Message{Role: event.RoleAssistant, Content: text(op.Content), Reasoning: text(op.Reasoning)},
		FinishReason: op.FinishReason,
	}
	if op.Op == "assistant_role_user" {
		r.Message.Role = event.RoleUser
	}
	for _, call := range op.ToolCalls {
		r.Message.ToolCalls = append(r.Message.ToolCalls, event.ToolCall{ID: call.ID, Name: call.Name, Arguments: string(call.Arguments)})
	}
	if p := c.Hooks.Prefix; p != nil && strings.HasPrefix(r.Message.Content, *p) {
		answer := strings.TrimSpace(strings.TrimPrefix(r.Message.Content, *p))
		r.Answers.DirectFinal = &answer
	}
	r.Answers.PromptFinal = c.Hooks.Prompt
	if c.Runtime == "web_search" {
		answer := boxed(r.Message.Content)
		r.Answers.DirectFinal = &answer
		r.Answers.PromptFinal = new(false)
	}
	return r
}

// boxed is the answer hook of the reference's web runtime, as the vectors' README tells it.
func boxed(reply string) string {
	const open = `\boxed{`
	at := strings.LastIndex(reply, open)
	if at < 0 {
		return ""
	}
	rest := []rune(reply[at+len(open):])
	depth, end := 1, len(rest)
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			end = i
			break
		}
	}
	raw := string(rest[:end])
	for _, none := range []string{"?", "??", "???", "？", "……", "…", "...", "unknown", ""} {
		if raw == none {
			return ""
		}
	}
	return strings.TrimSpace(raw)
}

// seen is a state in the form in which reference and machine are compared.
type seen struct {
	New                  []string
	Stage, Action        string
	Turns, Rollbacks     int64
	Trigger              string
	HasPrompt            bool
	MaxTurns             string
	Pending, Visible     []string
	RawCount             int
	TokensRaw, TokensEst int64
	Ratio                float64
	Step                 bool
	Info                 map[string]any
}

func (e *vectorExpect) describe() seen {
	s := seen{
		Stage: e.State.Stage, Action: e.State.Action, Turns: e.State.Turns, Rollbacks: e.State.Rollbacks,
		Trigger: text(e.State.Trigger), HasPrompt: e.State.HasPrompt, MaxTurns: limitText(e.State.MaxTurns),
		Pending: e.State.Pending, RawCount: e.State.RawCount, Ratio: e.State.Tokens.Ratio,
		TokensRaw: e.State.Tokens.Raw, TokensEst: e.State.Tokens.Est,
	}
	if s.Action == "" {
		s.Action = "none"
	}
	for _, v := range e.State.Visible {
		s.Visible = append(s.Visible, fmt.Sprint(v))
	}
	for _, m := range e.New {
		line := messageText(m.Role, text(m.Content), text(m.Name), text(m.ToolCallID))
		for _, call := range m.ToolCalls {
			line += " call " + call.ID + " " + call.Function.Name + " " + canonical(call.Function.Arguments)
		}
		s.New = append(s.New, line)
	}
	if e.Step != nil {
		s.Step, s.Info = true, map[string]any{}
		for key, value := range e.Step.Info {
			if key != "emoji" {
				s.Info[key] = value
			}
		}
	}
	return s.normal()
}

func describe(state *State, d *Decision, grown int, c *vector) seen {
	h := state.head
	s := seen{
		Stage: state.stage.String(), Action: state.stage.Action().String(), Turns: h.Turns, Rollbacks: h.Rollbacks,
		Trigger: h.Trigger, HasPrompt: h.HasPrompt, MaxTurns: limitText(h.MaxTurns), RawCount: len(state.full), Ratio: 1,
	}
	for _, call := range state.pending {
		s.Pending = append(s.Pending, call.ID)
	}
	for i := range state.window.len() {
		e := state.window.at(i)
		switch {
		case e.summary:
			s.Visible = append(s.Visible, fmt.Sprintf("c%d", e.at))
		case e.message.Role == event.RoleTool && i < state.cutoff(state.window):
			s.Visible = append(s.Visible, fmt.Sprintf("o%d", e.at))
		default:
			s.Visible = append(s.Visible, fmt.Sprint(e.at))
		}
	}
	if state.tracks() {
		s.TokensRaw = state.window.raw
		s.TokensEst = state.window.scaled(state.window.len(), state.window.raw)
		s.Ratio = math.Round(state.window.ratio*1e12) / 1e12
	}
	for i := max(0, len(state.full)-grown); i < len(state.full); i++ {
		m := state.full[i]
		line := messageText(m.Role, m.Content, m.Name, m.ToolCallID)
		for _, call := range m.ToolCalls {
			line += " call " + call.ID + " " + call.Name + " " + canonical(call.Arguments)
		}
		s.New = append(s.New, line)
	}
	if d != nil {
		s.Step, s.Info = true, map[string]any{}
		raw, err := json.Marshal(d.Info)
		if err == nil {
			err = json.Unmarshal(raw, &s.Info)
		}
		if err != nil {
			panic(err)
		}
		s.Info["stage"] = s.Stage
		s.Info["stage_path"] = toAny(d.Events[len(d.Events)-1].(*event.Decided).StagePath)
	}
	return s.normal()
}

// normal makes what is empty nil.
func (s seen) normal() seen {
	for _, list := range []*[]string{&s.New, &s.Pending, &s.Visible} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	return s
}

func toAny(path []event.Stage) []any {
	var out []any
	for _, p := range path {
		out = append(out, string(p))
	}
	return out
}

func limitText(n *int64) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

func messageText(role, content, name, id string) string {
	if role == roleMarker {
		content = canonical(content)
	}
	return fmt.Sprintf("%s %q name %q id %q", role, content, name, id)
}

// canonical is JSON in one form; what is none stays as it is.
func canonical(s string) string {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return s
	}
	return string(b)
}
