package core

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
	"github.com/stretchr/testify/require"
)

// TestScenarios runs testdata/scenarios/*.txt: one situation a file. Commands are inputs, each one JSON object; the
// events that an input leads to and what is pending after them are the expectation. After each, the state
// must be the one that a fold over the encoded log gives, and have something pending unless it rests.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := &scenario{t: t, state: New()}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := s.run(d.Cmd, d.Input)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			return out
		})
	})
}

type scenario struct {
	t     *testing.T
	state *State
	log   []*event.Event
	now   int64
}

func strict(input string, into any) error {
	dec := json.NewDecoder(strings.NewReader(input))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

func (s *scenario) run(cmd, input string) (string, error) {
	switch cmd {
	case "now":
		return "ok\n", strict(input, &s.now)
	case "questions":
		var answers []event.Answer
		if err := strict(input, &answers); err != nil {
			return "", err
		}
		var out strings.Builder
		for _, q := range NextQuestions(s.state, answers) {
			fmt.Fprintf(&out, "%s %s\n", q.Hook, q.Input)
		}
		return out.String() + "end\n", nil
	}
	in, err := parseInput(cmd, input)
	if err != nil {
		return "", err
	}
	return s.feed(in)
}

func parseInput(cmd, input string) (Input, error) {
	switch cmd {
	case "submit":
		return parseSubmit(input)
	case "undo":
		return parseUndo(input)
	case "undone":
		in := Compensated{Step: 1, Attempt: 1, Output: abi.ToolOutput{Status: abi.ToolOK}}
		err := strict(input, &in)
		return in, err
	case "reject":
		in := PluginsRejected{Task: "01task"}
		err := strict(input, &in.Rejected)
		return in, err
	case "reject-new":
		in := PluginsRejected{Task: "01task", Created: &event.TaskCreated{Goal: "goal", Config: json.RawMessage("{}")}}
		err := strict(input, &in.Rejected)
		return in, err
	case "claim":
		in := Claimed{Worker: "w2"}
		return in, errors.Join(strict(input, &in.Fence))
	case "answers":
		var in RecipeAnswered
		err := strict(input, &in.Answers)
		return in, err
	case "answers-misfit": // what the recipe repaired does not fit the schema
		in := RecipeAnswered{Misfits: map[int]string{0: "q must be a string"}}
		err := strict(input, &in.Answers)
		return in, err
	case "reply":
		return parseReply(input)
	case "failed":
		var in ModelFailed
		err := strict(input, &in)
		return in, err
	case "timer":
		return TimerFired{}, nil
	case "tool":
		in := ToolFinished{Attempt: 1, Output: abi.ToolOutput{Status: abi.ToolOK}}
		err := strict(input, &in)
		return in, err
	case "began":
		in := OperationBegan{Attempt: 1, Operation: event.HostOperation{Number: 1, Capability: "http.fetch/1", Target: "POST ledger", Write: true}}
		err := strict(input, &in)
		return in, err
	case "ended":
		in := OperationEnded{Attempt: 1, Operation: event.HostOperation{Number: 1, Capability: "http.fetch/1", Target: "POST ledger", Write: true, State: event.OperationDone}}
		err := strict(input, &in)
		return in, err
	case "free":
		in := LeasesFree{Attempt: 1}
		err := strict(input, &in)
		return in, err
	case "probe":
		in := Reconciled{Try: 1}
		err := strict(input, &in)
		return in, err
	case "outcome":
		var in OutcomeDecided
		err := strict(input, &in)
		return in, err
	case "advance":
		return Advanced{}, nil
	case "cancel":
		var in CancelRequested
		err := strict(input, &in)
		return in, err
	case "cut-off":
		in := ToolCancelled{Attempt: 1}
		err := strict(input, &in)
		return in, err
	}
	return nil, errors.New("command is not known")
}

func parseSubmit(input string) (Input, error) {
	var in struct {
		Goal   string
		Hooks  []string
		Tools  []string
		Schema json.RawMessage // of each tool; {} where absent
		Config json.RawMessage
		// Resources of each tool.
		Resources []string
	}
	if err := strict(input, &in); err != nil {
		return nil, err
	}
	out := TaskSubmitted{Task: "01task", Worker: "w1", Created: event.TaskCreated{Goal: in.Goal, Config: json.RawMessage("{}")}}
	if in.Config != nil {
		var b bytes.Buffer
		if err := json.Compact(&b, in.Config); err != nil {
			return nil, err
		}
		out.Created.Config = b.Bytes()
	}
	if in.Hooks != nil {
		out.Created.Recipe = &event.Plugin{Name: "recipe", Digest: "d", Hooks: in.Hooks}
	}
	schema := json.RawMessage("{}")
	if in.Schema != nil {
		schema = in.Schema
	}
	for _, tool := range in.Tools { // name:effect:reconcile
		name, more, _ := strings.Cut(tool, ":")
		effect, more, _ := strings.Cut(more, ":")
		if effect == "" {
			effect = "pure"
		}
		spec := event.ToolSpec{Name: name, Schema: schema, Effect: effect, Reconcile: more == "reconcile", Resources: in.Resources}
		out.Created.Tools = append(out.Created.Tools, event.Plugin{Name: name, Tools: []event.ToolSpec{spec}})
	}
	return out, nil
}

// parseUndo begins a task that undoes: of each step of another task, one append, the latest first.
func parseUndo(input string) (Input, error) {
	var in struct {
		Steps  []int64
		Config json.RawMessage
		Recipe *event.Plugin
	}
	in.Config = json.RawMessage("{}")
	if err := strict(input, &in); err != nil {
		return nil, err
	}
	created := event.TaskCreated{Goal: "undo", Config: in.Config, Recipe: in.Recipe, Compensates: &event.Compensation{Task: "01other", Reason: "a mistake"}}
	created.Tools = []event.Plugin{{Name: "p", Tools: []event.ToolSpec{{Name: "append", Schema: json.RawMessage("{}"), Effect: "write", Compensate: true}}}}
	for _, step := range in.Steps {
		created.Compensates.Operations = append(created.Compensates.Operations, event.CompensatedOperation{
			Step: step, Tool: "append", Arguments: fmt.Sprintf(`{"n":%d}`, step), OperationID: fmt.Sprint("op", step), Result: fmt.Sprint("entry ", step),
		})
	}
	return TaskSubmitted{Task: "01task", Worker: "w1", Created: created}, nil
}

func parseReply(input string) (Input, error) {
	var in struct {
		Content string
		Calls   []event.ToolCall
		Finish  string
		Prompt  int64
		Misfits map[int]string
		Unmet   map[int]string
	}
	in.Finish = "stop"
	err := strict(input, &in)
	return ModelReplied{Misfits: in.Misfits, Unmet: in.Unmet, Reply: event.ModelReplied{
		Message: event.Message{Content: in.Content, ToolCalls: in.Calls}, FinishReason: in.Finish,
		Usage: event.Usage{Prompt: in.Prompt},
	}}, err
}

// feed decides, evolves, checks what must hold of every state, and prints.
func (s *scenario) feed(in Input) (string, error) {
	events, err := Decide(s.state, s.now, in)
	if err != nil {
		return "", err
	}
	phase := PhaseAfter(s.state, events)
	var out strings.Builder
	for _, e := range events {
		if err := Evolve(s.state, e); err != nil {
			return "", err
		}
		s.log = append(s.log, e)
		out.WriteString(line(e))
	}
	require.Equal(s.t, phase, s.state.Phase(), "the list entry would be wrong")
	s.requireFold()
	pending := Pending(s.state)
	rests := s.state.Created() == nil || s.state.Stop() != nil || s.state.Outcome() != nil
	require.Equal(s.t, rests, len(pending) == 0, "a task that does not rest has something pending")
	fmt.Fprintf(&out, "phase %s", s.state.Phase())
	for _, e := range pending {
		fmt.Fprintf(&out, " pending %s", e.ID())
	}
	if stop := s.state.Stop(); stop != nil {
		fmt.Fprintf(&out, " stopped by %s: %s", stop.Kind, stop.Reason)
	}
	return out.String() + "\n", nil
}

// requireFold checks that the state is the fold over the log as it was written.
func (s *scenario) requireFold() {
	folded := New()
	for _, e := range s.log {
		record, err := event.Encode(e)
		require.NoError(s.t, err)
		back, err := event.Decode(e.Task, e.Seq, record)
		require.NoError(s.t, err)
		require.NoError(s.t, Evolve(folded, back))
	}
	require.True(s.t, reflect.DeepEqual(folded, s.state), "the state is not the fold over its log")
}

// line prints an event; what every conversation has alike is left out.
func line(e *event.Event) string {
	payload, err := event.EncodeJSON(e.Payload)
	if err != nil {
		return err.Error()
	}
	text := string(payload)
	switch p := e.Payload.(type) {
	case *event.TaskCreated:
		text = p.Goal
	case *event.Decided:
		text = p.Operation + " " + p.Path(" > ")
	case *event.ToolRequested:
		text = p.CallID + " " + p.Tool + " " + p.Arguments
		if p.Repaired != "" {
			text += fmt.Sprintf(" repaired %s by %v", p.Repaired, p.Repairs)
		}
	case *event.MessageAppended:
		if p.Message != nil {
			text = p.Message.Role + " " + p.Message.Content
		}
	}
	where := fmt.Sprintf("%d<-%d", e.Seq, e.Cause)
	if e.Step != 0 {
		where += fmt.Sprintf(" step %d", e.Step)
	}
	if e.Attempt != 0 {
		where += fmt.Sprintf(" attempt %d", e.Attempt)
	}
	return fmt.Sprintf("%s %s %s\n", where, e.Payload.Type(), text)
}
