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

// replay rebuilds the visible list from the full one, as conversation.md says that an offline reader does.
func replay(full []event.Message) []int {
	var visible []int
	for i, m := range full {
		if m.Role != roleMarker {
			visible = append(visible, i)
			continue
		}
		var marker struct {
			Count int `json:"rollback_message_count"`
		}
		if json.Unmarshal([]byte(m.Content), &marker) != nil {
			continue
		}
		for ; marker.Count > 0 && len(visible) > 0 && full[visible[len(visible)-1]].Role != event.RoleSystem; marker.Count-- {
			visible = visible[:len(visible)-1]
		}
	}
	return visible
}

// copyOf copies a state deeply enough to notice any change to it.
func copyOf(s *State) *State {
	c := *s
	c.full, c.visible, c.pending = slices.Clone(s.full), slices.Clone(s.visible), slices.Clone(s.pending)
	return &c
}

func drawConfig(t *rapid.T) Config {
	c := DefaultConfig()
	if rapid.Bool().Draw(t, "limited") {
		n := rapid.Int64Range(1, 6).Draw(t, "max_turns")
		c.MaxTurns = &n
	}
	if rapid.Bool().Draw(t, "final prompt") {
		text := "final?"
		c.FinalResponsePrompt = &text
	}
	if rapid.Bool().Draw(t, "silent") {
		c.EarlyStopPrompt = nil
	}
	c.FinalPromptOnce = rapid.Bool().Draw(t, "once")
	c.FormatError.Strategy = rapid.SampledFrom([]string{StrategyIgnore, StrategyReprompt, StrategyRollback}).Draw(t, "strategy")
	c.FormatError.MaxReprompts = rapid.Int64Range(0, 2).Draw(t, "max_reprompts")
	c.Rollback = RollbackConfig{RefusalKeywords: []string{"sorry"}, MaxRollbacks: rapid.Int64Range(0, 2).Draw(t, "max_rollbacks")}
	return c
}

func drawOperation(t *rapid.T, s *State) Operation {
	switch rapid.IntRange(0, 9).Draw(t, "operation") {
	case 0:
		return Init{Task: rapid.StringN(0, 5, 20).Draw(t, "task")}
	case 1, 2, 3:
		op := Results{ResetRollbacks: rapid.Bool().Draw(t, "reset")}
		for _, c := range s.pending {
			op.Results = append(op.Results, Result{Message: event.Message{Role: event.RoleTool, ToolCallID: c.ID}})
		}
		if len(op.Results) > 0 && rapid.IntRange(0, 4).Draw(t, "spoil") == 0 {
			op.Results = op.Results[1:]
		}
		return op
	default:
		return drawReply(t)
	}
}

func drawReply(t *rapid.T) Reply {
	op := Reply{
		Message: event.Message{
			Role:    event.RoleAssistant,
			Content: rapid.SampledFrom([]string{"", "four", "sorry", "<tool_call>", " "}).Draw(t, "content"),
		},
		FinishReason: rapid.SampledFrom([]string{"stop", "length", "tool_calls"}).Draw(t, "finish"),
	}
	for i := range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "calls") {
		op.Message.ToolCalls = append(op.Message.ToolCalls, event.ToolCall{ID: fmt.Sprint(i), Name: "tool"})
	}
	if rapid.IntRange(0, 3).Draw(t, "direct") == 0 {
		text := rapid.SampledFrom([]string{"", "4"}).Draw(t, "answer")
		op.Answers.DirectFinal = &text
	}
	if rapid.IntRange(0, 3).Draw(t, "verify") == 0 {
		op.Answers.Verdict = &Verdict{Verified: rapid.Bool().Draw(t, "verified")}
	}
	if rapid.IntRange(0, 5).Draw(t, "refusal") == 0 {
		op.Answers.Refusal = &abi.Keywords{Keywords: rapid.SampledFrom([][]string{nil, {"no"}}).Draw(t, "words")}
	}
	return op
}

// TestAnyOperations: whatever comes, in any order, nothing panics; a refused operation leaves no trace;
// stages are left along the table alone; the visible list is what a replay gives, and holds no marker; a
// conversation that has ended accepts nothing.
func TestAnyOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(drawConfig(t))
		for range rapid.IntRange(1, 30).Draw(t, "length") {
			op := drawOperation(t, s)
			before := copyOf(s)
			d, err := Decide(s, op)
			require.True(t, reflect.DeepEqual(before, s), "Decide changed the state")
			if err != nil {
				continue
			}
			require.NotEqual(t, Done, before.stage.Action(), "an ended conversation accepted %T", op)
			for _, p := range d.Events {
				require.NoError(t, Evolve(s, p))
			}
			requireSound(t, before, s, d)
		}
	})
}

func requireSound(t *rapid.T, before, s *State, d *Decision) {
	require.Equal(t, d.Stage, s.stage)
	require.Equal(t, d.Head, s.head)
	require.NotEqual(t, NoAction, s.stage.Action(), "ended an operation in %s", s.stage)
	path := d.Events[len(d.Events)-1].(*event.Decided).StagePath
	require.Equal(t, before.stage.String(), path[0])
	for i := range path[1:] {
		from, err := ParseStage(path[i])
		require.NoError(t, err)
		to, err := ParseStage(path[i+1])
		require.NoError(t, err)
		require.Contains(t, transitions[from], to)
	}
	require.Equal(t, replay(s.full), append([]int(nil), s.visible...))
	require.EqualValues(t, len(s.visible), d.Info.VisibleMessages)
	require.EqualValues(t, len(s.full), d.Info.Messages)
	for m := range s.Visible() {
		require.NotEqual(t, roleMarker, m.Role)
	}
	require.Equal(t, s.stage == AwaitTools, len(s.pending) > 0)
	require.LessOrEqual(t, s.head.Rollbacks, s.config.Rollback.MaxRollbacks)
}

func TestTransitionsOutsideTheTableAreErrors(t *testing.T) {
	for from := NotInitialized; from < stageCount; from++ {
		for to := NotInitialized; to < stageCount; to++ {
			d := &draft{s: New(DefaultConfig()), stage: from, path: []string{from.String()}}
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
	s := New(DefaultConfig())
	require.Error(t, Evolve(s, &event.TaskFailed{}))
	require.Error(t, Evolve(s, &event.MessageAppended{Of: 3}), "the message is not there")
	require.Error(t, Evolve(s, &event.Decided{Head: event.Head{Stage: "nowhere"}}))
}
