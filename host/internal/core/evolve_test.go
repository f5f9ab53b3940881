package core

import (
	"encoding/json"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEvolveRefuses: an event that this machine does not handle, or that does not fit what the task is doing, is a
// typed error that names both.
func TestEvolveRefuses(t *testing.T) {
	created := &event.TaskCreated{Goal: "g", Config: json.RawMessage("{}")}
	cancel, claimed := &event.CancelRequested{Reason: "r"}, &event.Claimed{Fence: 2}
	for name, c := range map[string]struct {
		before []event.Payload
		p      event.Payload
		phase  Phase
	}{
		"a new plan":                {nil, &event.ReplanRequested{}, PhaseCreated},
		"a reserve":                 {nil, &event.BudgetReserved{}, PhaseCreated},
		"blocked":                   {nil, &event.TaskBlocked{}, PhaseCreated},
		"a lease":                   {nil, &event.LeaseAcquired{}, PhaseCreated},
		"cancelled, never asked":    {nil, &event.TaskCancelled{}, PhaseCreated},
		"a request while cancelled": {[]event.Payload{cancel, claimed}, &event.ModelRequested{}, PhaseCancelling},
		"a second cancel":           {[]event.Payload{cancel}, &event.CancelRequested{}, PhaseCancelling},
		"success while cancelled":   {[]event.Payload{cancel}, &event.TaskSucceeded{}, PhaseCancelling},
	} {
		t.Run(name, func(t *testing.T) {
			s := New()
			for _, p := range append([]event.Payload{created}, c.before...) {
				require.NoError(t, Evolve(s, &event.Event{Task: "t", Seq: s.Seq() + 1, Payload: p}))
			}
			err := Evolve(s, &event.Event{Task: "t", Seq: s.Seq() + 1, Payload: c.p})
			var refused *UnexpectedError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, UnexpectedError{Phase: c.phase, Event: c.p.Type()}, *refused)
		})
	}
	s := New()
	require.NoError(t, Evolve(s, &event.Event{Task: "t", Seq: 1, Payload: created}))
	require.NoError(t, Evolve(s, &event.Event{Task: "t", Seq: 2, Step: 1, Payload: &event.ToolRequested{}}))
	for _, p := range []event.Payload{&event.ApprovalRequested{}, &event.PermissionMissing{}} {
		err := Evolve(s, &event.Event{Task: "t", Seq: s.Seq() + 1, Step: 1, Payload: p})
		var refused *UnexpectedError
		require.ErrorAs(t, err, &refused, "%s", p.Type())
		assert.Equal(t, p.Type(), refused.Event)
	}
	for _, p := range []event.Payload{&event.ToolUnknown{}, &event.BudgetReserved{}} {
		err := Evolve(s, &event.Event{Task: "t", Seq: s.Seq() + 1, Step: 1, Payload: p})
		var refused *task.TransitionError
		require.ErrorAs(t, err, &refused, "%s", p.Type())
		assert.Equal(t, task.Proposed, refused.State)
	}
}
