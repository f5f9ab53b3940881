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

// TestEvolveRefusesUndoing: a log of a task that undoes is refused where it has what belongs to a conversation, another
// operation than the one whose turn it is, or an end before its time.
func TestEvolveRefusesUndoing(t *testing.T) {
	started := func(step int64, of string) *event.Event {
		return &event.Event{Step: step, Attempt: 1, Payload: &event.CompensationStarted{Of: of}}
	}
	for want, events := range map[string][]*event.Event{
		"cannot take event ModelRequested":                           {{Payload: &event.ModelRequested{}}},
		"cannot take event RetryScheduled":                           {{Payload: &event.RetryScheduled{At: 1}}},
		"cannot take event MessageAppended":                          {{Payload: &event.MessageAppended{}}},
		"operation 1 is to be undone before operation 2":             {started(2, "b")},
		"operation 1 is a, not b":                                    {started(1, "b")},
		"there are 2 operations to undo, and none has the place 3":   {started(3, "c")},
		"undoing 1 in state waiting cannot take event ToolStarted":   {{Step: 1, Payload: &event.ToolStarted{}}},
		"operation 1 is being undone":                                {started(1, "a"), {Payload: &event.CancelRequested{}}, {Payload: &event.TaskCancelled{}}},
		"undoing 1 in state executing cannot take event ToolStarted": {started(1, "a"), {Step: 1, Payload: &event.ToolStarted{}}},
		"cannot take event CompensationStarted":                      {{Payload: &event.CancelRequested{}}, started(1, "a")},
	} {
		s := New()
		created := &event.TaskCreated{Goal: "g", Config: json.RawMessage("{}"), Compensates: &event.Compensation{
			Task: "01other", Operations: []event.CompensatedOperation{{Step: 2, OperationID: "a"}, {Step: 1, OperationID: "b"}},
		}}
		require.NoError(t, Evolve(s, &event.Event{Task: "t", Seq: 1, Payload: created}))
		assert.Equal(t, PhaseCreated, s.Phase())
		var err error
		for _, e := range events {
			require.NoError(t, err, want)
			e.Task, e.Seq = "t", s.Seq()+1
			err = Evolve(s, e)
		}
		require.ErrorContains(t, err, want)
	}
}
