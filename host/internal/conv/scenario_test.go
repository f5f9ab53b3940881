package conv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/cockroachdb/datadriven"
)

// TestScenarios runs testdata/scenarios/*.txt: one situation a file. Commands take one JSON object; what an operation
// leads to is the expectation.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := &scenario{state: New(DefaultConfig(), Environment{Preflight: true, MaxOutputTokens: 100})}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := s.run(d.Cmd, d.Input)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			return out
		})
	})
}

type scenario struct{ state *State }

func strict(input string, into any) error {
	dec := json.NewDecoder(strings.NewReader(input))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

func (s *scenario) run(cmd, input string) (string, error) {
	switch cmd {
	case "config":
		c := DefaultConfig()
		if err := strict(input, &c); err != nil {
			return "", err
		}
		if err := c.Validate(); err != nil {
			return "", err
		}
		s.state = New(c, Environment{Preflight: true, MaxOutputTokens: 100})
		return "ok\n", nil
	case "init":
		var op Init
		if err := strict(input, &op); err != nil {
			return "", err
		}
		return s.apply(op)
	case "reply":
		op, err := parseReply(input)
		if err != nil {
			return "", err
		}
		hooks := TextHooks(s.state, &op.Message, op.FinishReason)
		out, err := s.apply(op)
		return fmt.Sprintf("hooks %v\n%s", hooks, out), err
	case "results":
		op, err := parseResults(input)
		if err != nil {
			return "", err
		}
		return s.apply(op)
	case "observe":
		return s.parsed(input, &Observe{})
	case "reset_rollbacks":
		return s.apply(ResetRollbacks{})
	case "rollback_tool_calls":
		return s.parsed(input, &RollbackToolCalls{})
	case "rollback_exchange":
		return s.parsed(input, &RollbackExchange{})
	case "context_error":
		return s.apply(ContextError{Info: json.RawMessage(input)})
	case "marker":
		return s.parsed(input, &Marker{})
	case "append":
		var m event.Message
		if err := strict(input, &m); err != nil {
			return "", err
		}
		return s.apply(Append{Message: m})
	case "reopen":
		return s.apply(Reopen{})
	case "reset":
		return s.apply(Reset{})
	case "set_max_turns":
		return s.parsed(input, &SetMaxTurns{})
	case "force_finalize":
		return s.parsed(input, &ForceFinalize{})
	case "tokens":
		w := s.state.window
		return fmt.Sprintf("raw=%d ratio=%.3f estimate=%d\n", w.raw, w.ratio, s.state.Tokens()), nil
	case "prompt":
		var out strings.Builder
		for _, m := range s.state.Prompt() {
			fmt.Fprintf(&out, "%s %s: %s\n", m.Role, m.ToolCallID, m.Content)
		}
		return out.String(), nil
	case "visible":
		var out strings.Builder
		for m := range s.state.Visible() {
			fmt.Fprintf(&out, "%s: %s\n", m.Role, m.Content)
		}
		return out.String(), nil
	}
	return "", errors.New("command is not known")
}

// parsed applies an operation that is read from JSON as it stands.
func (s *scenario) parsed(input string, op Operation) (string, error) {
	if err := strict(input, op); err != nil {
		return "", err
	}
	return s.apply(reflect.ValueOf(op).Elem().Interface().(Operation))
}

func parseReply(input string) (Reply, error) {
	var in struct {
		Role     string           `json:"role"`
		Content  string           `json:"content"`
		Calls    []event.ToolCall `json:"calls"`
		Finish   string           `json:"finish"`
		Refusal  *[]string        `json:"refusal"`
		Format   *abi.FormatError `json:"format"`
		Direct   *string          `json:"direct"`
		Prompt   *bool            `json:"prompt"`
		Verdict  *Verdict         `json:"verdict"`
		Observed int64            `json:"observed"`
	}
	in.Role, in.Finish = event.RoleAssistant, "stop"
	err := strict(input, &in)
	op := Reply{
		Message:      event.Message{Role: in.Role, Content: in.Content, ToolCalls: in.Calls},
		FinishReason: in.Finish,
		Observed:     in.Observed,
		Answers:      Answers{FormatError: in.Format, DirectFinal: in.Direct, PromptFinal: in.Prompt, Verdict: in.Verdict},
	}
	if in.Refusal != nil {
		op.Answers.Refusal = &abi.Keywords{Keywords: *in.Refusal}
	}
	return op, err
}

func parseResults(input string) (Results, error) {
	var in struct {
		Results []struct {
			ID, Name, Content, Role string
			Rejected                bool
		} `json:"results"`
		Reset     bool `json:"reset"`
		Exhausted bool `json:"exhausted"`
	}
	err := strict(input, &in)
	op := Results{ResetRollbacks: in.Reset, Exhausted: in.Exhausted}
	for _, r := range in.Results {
		role := event.RoleTool
		if r.Role != "" {
			role = r.Role
		}
		op.Results = append(op.Results, Result{
			Message: event.Message{Role: role, ToolCallID: r.ID, Name: r.Name, Content: r.Content}, Rejected: r.Rejected,
		})
	}
	return op, err
}

// apply decides and evolves, and prints both.
func (s *scenario) apply(op Operation) (string, error) {
	d, err := Decide(s.state, op)
	switch {
	case err != nil:
		return "", err
	case d == nil:
		return "nothing to do\n", nil
	}
	var out strings.Builder
	for _, p := range d.Events {
		if err := Evolve(s.state, p); err != nil {
			return "", err
		}
		switch p := p.(type) {
		case *event.MessageAppended:
			fmt.Fprintf(&out, "append %s %q", p.Message.Role, p.Message.Content)
			for _, c := range p.Message.ToolCalls {
				fmt.Fprintf(&out, " call %s", c.Name)
			}
			out.WriteString("\n")
		case *event.MarkerAppended:
			fmt.Fprintf(&out, "marker %s %s\n", p.Name, p.Content)
		case *event.PromptObserved:
			fmt.Fprintf(&out, "observed %d\n", p.Tokens)
		case *event.ConversationReset:
			out.WriteString("reset\n")
		case *event.RollbackMarked:
			fmt.Fprintf(&out, "rollback %d %s\n", p.Count, p.Reason)
		case *event.FinalizationForced:
			fmt.Fprintf(&out, "force %s prompt=%v\n", p.Trigger, p.HasPrompt)
		case *event.Decided:
			fmt.Fprintf(&out, "path %s\ninfo %s\n", p.Path(" > "), compact(*p.Info))
		}
	}
	h := s.state.Head()
	fmt.Fprintf(&out, "action=%s turns=%d rollbacks=%d reprompts=%d rejections=%d visible=%v pending=%d\n",
		s.state.Stage().Action(), h.Turns, h.Rollbacks, h.Reprompts, h.Rejections, places(s.state), len(s.state.pending))
	return out.String(), nil
}

// compact prints what an Info says, without the counts that are in every one.
func compact(i event.Info) string {
	i.VisibleMessages, i.Messages, i.Appended, i.AssistantTurn = 0, 0, 0, 0
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(i); err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(b.String())
	for _, count := range []string{"visible_message_count", "raw_message_count", "appended_message_count", "assistant_turn_idx"} {
		text = strings.NewReplacer(`,"`+count+`":0`, "", `"`+count+`":0,`, "", `"`+count+`":0`, "").Replace(text)
	}
	return text
}

// places gives where in the full list the visible messages stand.
func places(s *State) []int {
	out := []int{}
	for i := range s.window.len() {
		out = append(out, s.window.at(i).at)
	}
	return out
}
