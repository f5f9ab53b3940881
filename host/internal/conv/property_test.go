package conv

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawConfig(t *rapid.T) Config {
	c := DefaultConfig()
	limit := func(name string, lo, hi int64) *int64 {
		if !rapid.Bool().Draw(t, name+" set") {
			return nil
		}
		return new(rapid.Int64Range(lo, hi).Draw(t, name))
	}
	c.MaxTurns = limit("max_turns", 1, 6)
	c.ContextLimit = ContextConfig{
		Window: limit("window", 10, 200), SafetyMargin: rapid.Int64Range(0, 9).Draw(t, "margin"),
		MinGeneration: rapid.SampledFrom([]int64{0, 0, 20}).Draw(t, "min"), Warning: limit("warning", 1, 60),
	}
	if rapid.Bool().Draw(t, "final prompt") {
		c.FinalResponsePrompt = new("final?")
	}
	if rapid.Bool().Draw(t, "no announcement") {
		c.EarlyStopPrompt = nil
	}
	c.FinalPromptOnce = rapid.Bool().Draw(t, "once")
	c.StrictTurnLimit = rapid.Bool().Draw(t, "strict")
	c.ProtectTask = rapid.Bool().Draw(t, "protect")
	c.ContextLimit.SpareAnswers = rapid.Bool().Draw(t, "spare answers")
	c.AggregateRejected = rapid.Bool().Draw(t, "aggregate")
	c.KeepCalls = rapid.Bool().Draw(t, "keep calls")
	c.SilentFinal = rapid.Bool().Draw(t, "silent")
	c.KeepToolResults = rapid.Int64Range(-1, 2).Draw(t, "keep results")
	c.FormatError.Strategy = rapid.SampledFrom([]string{StrategyIgnore, StrategyReprompt, StrategyRollback}).Draw(t, "strategy")
	c.FormatError.MaxReprompts = rapid.Int64Range(0, 2).Draw(t, "max_reprompts")
	c.Rollback = RollbackConfig{RefusalKeywords: []string{"sorry"}, MaxRollbacks: rapid.Int64Range(0, 2).Draw(t, "max_rollbacks")}
	return c
}

func drawEnvironment(t *rapid.T) Environment {
	env := Environment{
		MaxOutputTokens: 30, Preflight: rapid.Bool().Draw(t, "preflight"), Additive: rapid.Bool().Draw(t, "additive"),
		IncludesTools: rapid.Bool().Draw(t, "includes tools"), Estimator: estimators["sum_overhead"],
	}
	if rapid.Bool().Draw(t, "tools") {
		env.ToolsText = "tools"
	}
	return env
}

func drawOperation(t *rapid.T, s *State) Operation {
	number := func(name string) int64 { return rapid.Int64Range(-1, 4).Draw(t, name) }
	switch rapid.IntRange(0, 24).Draw(t, "operation") {
	case 0:
		return Init{Task: rapid.StringN(0, 5, 20).Draw(t, "task")}
	case 1, 2, 3, 4, 5, 6:
		return drawResults(t, s)
	case 7:
		return Observe{Tokens: rapid.Int64Range(-1, 300).Draw(t, "observed")}
	case 8:
		return ResetRollbacks{}
	case 9:
		return RollbackToolCalls{Reason: ReasonToolError}
	case 10:
		return RollbackExchange{Reason: rapid.SampledFrom([]string{"", ReasonContextLimit, "other"}).Draw(t, "reason")}
	case 11:
		return ContextError{Info: json.RawMessage(`{"message":"too long"}`)}
	case 12:
		return Marker{Name: markerRollback, Content: fmt.Sprintf(`{"rollback_message_count": %d}`, number("count"))}
	case 13:
		return Marker{Name: MarkerCompaction, Content: fmt.Sprintf(`{"summary": "s", "prefix_len": %d, "compressed_count": %d}`, number("prefix"), number("count"))}
	case 14:
		return Marker{Name: MarkerDiscardAll, Content: fmt.Sprintf(`{"prefix_len": %d}`, number("prefix"))}
	case 15:
		return Marker{Name: rapid.SampledFrom([]string{"", "rollback", "compaction"}).Draw(t, "name"), Content: rapid.SampledFrom([]string{"", "[]", `{"rollback_message_count": "1"}`}).Draw(t, "content")}
	case 16:
		return Append{Message: event.Message{Role: rapid.SampledFrom([]string{"user", "assistant", "tool", "system"}).Draw(t, "role"), Content: "appended"}}
	case 17:
		return Reopen{}
	case 18:
		if rapid.Bool().Draw(t, "no limit") {
			return SetMaxTurns{}
		}
		return SetMaxTurns{Limit: new(rapid.Int64Range(1, 6).Draw(t, "limit"))}
	case 19:
		return ForceFinalize{Trigger: TriggerBudgetLimit}
	default:
		return drawReply(t)
	}
}

func drawResults(t *rapid.T, s *State) Operation {
	op := Results{ResetRollbacks: rapid.Bool().Draw(t, "reset"), Exhausted: rapid.IntRange(0, 9).Draw(t, "exhausted") == 0}
	for _, c := range s.pending {
		op.Results = append(op.Results, Result{
			Message:  event.Message{Role: event.RoleTool, ToolCallID: c.ID, Name: c.Name, Content: rapid.SampledFrom([]string{"", "no", "a long result of a tool"}).Draw(t, "result")},
			Rejected: rapid.Bool().Draw(t, "rejected"),
		})
	}
	if len(op.Results) > 1 && rapid.Bool().Draw(t, "swap") {
		op.Results[0], op.Results[1] = op.Results[1], op.Results[0]
	}
	if len(op.Results) > 0 && rapid.IntRange(0, 5).Draw(t, "spoil") == 0 {
		op.Results = op.Results[1:]
	}
	return op
}

func drawReply(t *rapid.T) Reply {
	op := Reply{
		Message: event.Message{
			Role:    event.RoleAssistant,
			Content: rapid.SampledFrom([]string{"", "four", "sorry", "<tool_call>", " "}).Draw(t, "content"),
		},
		FinishReason: rapid.SampledFrom([]string{"stop", "length", "tool_calls"}).Draw(t, "finish"),
	}
	for i := range rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "calls") {
		op.Message.ToolCalls = append(op.Message.ToolCalls, event.ToolCall{ID: fmt.Sprint(rapid.IntRange(0, i).Draw(t, "id")), Name: "tool"})
	}
	if rapid.IntRange(0, 3).Draw(t, "direct") == 0 {
		op.Answers.DirectFinal = new(rapid.SampledFrom([]string{"", "4"}).Draw(t, "answer"))
	}
	if rapid.IntRange(0, 3).Draw(t, "verify") == 0 {
		op.Answers.Verdict = &Verdict{Verified: rapid.Bool().Draw(t, "verified")}
	}
	if rapid.IntRange(0, 5).Draw(t, "refusal") == 0 {
		op.Answers.Refusal = &abi.Keywords{Keywords: rapid.SampledFrom([][]string{nil, {"no"}}).Draw(t, "words")}
	}
	return op
}

// anyOperations: whatever comes, in any order, nothing panics; a refused operation leaves no trace; stages
// are left along the table alone; the visible list by increments is what a rebuild gives, and holds no
// marker; the prompt is one that a strict endpoint takes.
func anyOperations(t *rapid.T) {
	s := New(drawConfig(t), drawEnvironment(t))
	for i := range rapid.IntRange(1, 40).Draw(t, "length") {
		op := drawOperation(t, s)
		if i == 0 && rapid.IntRange(0, 9).Draw(t, "begin") > 0 {
			op = Init{Task: "t"}
		}
		before := s.Clone()
		d, err := Decide(s, op)
		requireSame(t, before, s, "Decide changed the state")
		if err != nil || d == nil {
			continue
		}
		for _, p := range d.Events {
			require.NoError(t, Evolve(s, p))
		}
		requireSound(t, before, s, d)
	}
}

func TestAnyOperations(t *testing.T) { rapid.Check(t, anyOperations) }

func FuzzOperations(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anyOperations)) }

// requireSame compares states, their functions aside.
func requireSame(t *rapid.T, a, b *State, why string) {
	x, y := *a.Clone(), *b.Clone()
	x.env, y.env = Environment{}, Environment{}
	require.True(t, reflect.DeepEqual(x, y), why)
}

func requireSound(t *rapid.T, before, s *State, d *Decision) {
	require.Equal(t, d.Stage, s.stage)
	require.Equal(t, d.Head, s.head)
	require.EqualValues(t, s.window.len(), d.Info.VisibleMessages+changedBetween(d, s))
	if decided, ok := d.Events[len(d.Events)-1].(*event.Decided); ok && decided.Operation != (Reopen{}).name() {
		requireOnTable(t, before, decided.StagePath)
	}
	requireSame(t, s.Rebuild().withCalibration(s), s, "the visible list is not what a rebuild gives")
	for m := range s.Visible() {
		require.NotEqual(t, roleMarker, m.Role)
	}
	if s.stage.Action() == CallModel {
		requireAcceptable(t, s.Prompt())
	}
}

// changedBetween is how many visible messages a marker, which tells no counts, has changed.
func changedBetween(d *Decision, s *State) int64 {
	if _, ok := d.Events[0].(*event.Decided); ok || len(d.Events) > 1 {
		return 0
	}
	return int64(s.window.len()) - d.Info.VisibleMessages
}

// withCalibration takes over what a rebuild cannot know: how the messages were batched, and what was
// observed.
func (s *State) withCalibration(from *State) *State {
	s.window.segs, s.window.raw, s.window.calibration = from.window.segs, from.window.raw, from.window.calibration
	return s
}

func requireOnTable(t *rapid.T, before *State, path []event.Stage) {
	require.Equal(t, before.stage.name(), path[0])
	for i := range path[1:] {
		from, err := ParseStage(string(path[i]))
		require.NoError(t, err)
		to, err := ParseStage(string(path[i+1]))
		require.NoError(t, err)
		require.Contains(t, transitions[from], to)
	}
}

// requireAcceptable holds a prompt against what the strictest endpoints ask.
func requireAcceptable(t *rapid.T, prompt []event.Message) {
	require.NotEmpty(t, prompt)
	previous := ""
	var open []event.ToolCall
	for i, m := range prompt {
		if m.Role == event.RoleTool {
			require.NotEmpty(t, open, "a result without its call")
			require.Equal(t, open[0].ID, m.ToolCallID, "a result out of order")
			open = open[1:]
			previous = m.Role
			continue
		}
		require.Empty(t, open, "a call without its result")
		switch m.Role {
		case event.RoleSystem:
			require.Zero(t, i, "a system message that is not the first")
		case event.RoleUser:
			require.Contains(t, []string{"", event.RoleSystem, event.RoleAssistant, event.RoleTool}, previous)
		case event.RoleAssistant:
			require.Contains(t, []string{event.RoleUser, event.RoleTool}, previous, "an assistant message out of place")
		default:
			require.Fail(t, "role "+m.Role)
		}
		open, previous = m.ToolCalls, m.Role
	}
	require.Empty(t, open, "a call without its result")
	require.NotEqual(t, event.RoleAssistant, previous, "the prompt ends with the assistant")
}

func TestTransitionsOutsideTheTableAreErrors(t *testing.T) {
	for from := NotInitialized; from < stageCount; from++ {
		for to := NotInitialized; to < stageCount; to++ {
			d := &draft{s: New(DefaultConfig(), Environment{}), stage: from, path: []event.Stage{from.name()}}
			d.to(to)
			if slices.Contains(transitions[from], to) {
				require.NoError(t, d.err)
				require.Equal(t, to, d.stage)
				continue
			}
			var refused *TransitionError
			require.ErrorAs(t, d.err, &refused)
			require.Equal(t, from, d.stage, "a refused transition moved the stage")
			require.Contains(t, refused.Error(), from.String())
			require.Contains(t, refused.Error(), to.String())
		}
	}
}

func TestStageNames(t *testing.T) {
	for s := NotInitialized; s < stageCount; s++ {
		parsed, err := ParseStage(s.String())
		require.NoError(t, err)
		require.Equal(t, s, parsed)
	}
	_, err := ParseStage("nowhere")
	require.Error(t, err)
}

func TestEvolveRefusesWhatIsNotItsOwn(t *testing.T) {
	s := New(DefaultConfig(), Environment{})
	require.Error(t, Evolve(s, &event.TaskFailed{}))
	require.Error(t, Evolve(s, &event.MessageAppended{Of: 3}), "the message is not there")
	require.Error(t, Evolve(s, &event.Decided{Head: event.Head{Stage: "nowhere"}}))
}

// TestStagesAreNumbered: every stage has a number in records, so that a log holds no name of one.
func TestStagesAreNumbered(t *testing.T) {
	for s := NotInitialized; s < stageCount; s++ {
		b, err := s.name().MarshalCBOR()
		require.NoError(t, err)
		require.Equal(t, []byte{byte(s)}, b, "%s", s)
	}
}
