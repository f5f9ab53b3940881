package host

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
)

// TestGoal: an answer that does not hold by the configuration is rejected, with why; one that does is verified by it.
func TestGoal(t *testing.T) {
	object := map[string]any{"type": "object", "required": []any{"sum"}}
	for name, tt := range map[string]struct {
		goal                   core.GoalConfig
		bad, good, by, because string
	}{
		"match":  {core.GoalConfig{Match: `^\d+$`}, "three", " 391\n", "match", `the answer does not match "^\\d+$"`},
		"equals": {core.GoalConfig{Equals: new("391 ")}, "392", "391", "equals", "the answer is not the one that is expected"},
		"schema": {core.GoalConfig{Schema: object}, `{"total": 1}`, `{"sum": 1}`, "schema", "the answer does not fit its schema: "},
		"prose":  {core.GoalConfig{Schema: object}, "the sum is 1", `{"sum": 1}`, "schema", "the answer must be JSON, and nothing else"},
		"all":    {core.GoalConfig{Schema: object, Match: "7", Equals: new(`{"sum": 7}`)}, `{"sum": 8}`, `{"sum": 7}`, "schema+match+equals", "the answer is not"},
	} {
		t.Run(name, func(t *testing.T) {
			sub := bare()
			sub.Config.Goal = tt.goal
			h := open(t, newLog(t), &fakeModel{replies: []any{says(tt.bad), says(tt.good)}}, Events{})
			r, err := h.Run(t.Context(), sub)
			require.NoError(t, err)
			assert.Equal(t, "succeeded", r.Phase)
			assert.Equal(t, tt.by, r.Verified)
			events := history(t, h, r.Task)
			assert.Equal(t, 1, count(events, event.TypeGoalRejected))
			for _, e := range events {
				if p, ok := e.Payload.(*event.GoalRejected); ok {
					assert.Contains(t, p.Reason, tt.because)
				}
			}
		})
	}
}

// TestGoalThatCannotBeChecked: a schema that is none is a mistake of the configuration, told before the task begins.
func TestGoalThatCannotBeChecked(t *testing.T) {
	sub := bare()
	sub.Config.Goal.Schema = map[string]any{"type": "text"}
	_, err := open(t, newLog(t), &fakeModel{}, Events{}).Run(t.Context(), sub)
	var mistake *PluginSetError
	require.ErrorAs(t, err, &mistake)
	assert.ErrorContains(t, err, "goal.schema cannot be used: it is no JSON Schema")
}
