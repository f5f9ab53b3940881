package task

import (
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var stepEvents = []event.Payload{
	&event.ToolRequested{Tool: "calc"}, &event.ToolAuthorized{}, &event.StepDenied{}, &event.ToolStarted{},
	&event.ToolSucceeded{}, &event.ToolFailed{Reason: "r", Fault: true}, &event.RetryScheduled{}, &event.ObservationRecorded{},
	&event.StepCancelled{}, &event.CancelAcknowledged{NothingHappened: true}, &event.ToolUnknown{}, &event.ApprovalRequested{},
	&event.TaskFailed{}, &event.Decided{},
}

// TestEveryPair: every pair of a state and an event goes where the design's table says, or is refused with
// step, state, event and the latest events.
func TestEveryPair(t *testing.T) {
	want := map[State]map[event.Type]State{
		None:      {event.TypeToolRequested: Proposed},
		Proposed:  {event.TypeToolAuthorized: Ready, event.TypeStepDenied: Denied, event.TypeStepCancelled: Cancelled},
		Ready:     {event.TypeToolStarted: Executing, event.TypeStepCancelled: Cancelled},
		Executing: {event.TypeToolSucceeded: Observing, event.TypeToolFailed: Failed, event.TypeCancelAcknowledged: Cancelled},
		Failed:    {event.TypeRetryScheduled: Ready, event.TypeObservationRecorded: Closed, event.TypeStepCancelled: Cancelled},
		Denied:    {event.TypeObservationRecorded: Closed},
		Observing: {event.TypeObservationRecorded: Closed},
		Closed:    {},
		Cancelled: {},
	}
	for from := None; from < stateCount; from++ {
		for n, p := range stepEvents {
			s := &Step{ID: 7, State: from}
			err := s.Apply(&event.Event{Seq: uint64(n + 1), Step: 7, Attempt: 2, Payload: p})
			to, legal := want[from][p.Type()]
			if legal {
				require.NoError(t, err)
				assert.Equal(t, to, s.State, "%s in %s", p.Type(), from)
				continue
			}
			var refused *TransitionError
			require.ErrorAs(t, err, &refused, "%s in %s", p.Type(), from)
			assert.Equal(t, from, s.State, "a refused event moved the step")
			assert.Contains(t, err.Error(), "step 7 in state "+from.String())
		}
	}
}

func TestStepRemembers(t *testing.T) {
	s := &Step{}
	for n, p := range []event.Payload{
		&event.ToolRequested{Tool: "calc", CallID: "c"}, &event.ToolAuthorized{}, &event.ToolStarted{},
		&event.ToolFailed{Reason: "trap", Fault: true},
	} {
		require.NoError(t, s.Apply(&event.Event{Seq: uint64(n + 1), Step: 3, Attempt: 1, Payload: p}))
	}
	assert.Equal(t, int64(3), s.ID)
	assert.Equal(t, "calc", s.Request.Tool)
	assert.Equal(t, uint64(3), s.Started)
	assert.Equal(t, uint64(4), s.Settled)
	assert.Equal(t, "trap", s.Fault)
	assert.True(t, s.State.Settled())

	err := s.Apply(&event.Event{Seq: 5, Step: 3, Payload: &event.ToolStarted{}})
	assert.ErrorContains(t, err, "[ToolAuthorized ToolStarted ToolFailed]")
	require.NoError(t, s.Apply(&event.Event{Seq: 5, Step: 3, Payload: &event.RetryScheduled{}}))
	require.NoError(t, s.Apply(&event.Event{Seq: 6, Step: 3, Attempt: 2, Payload: &event.ToolStarted{}}))
	assert.Empty(t, s.Fault, "a new attempt has not failed yet")
	assert.Equal(t, int64(2), s.Attempt)
}

// TestAcknowledgement: a call that was cut off has changed nothing, or gave its result all the same; where
// nobody knows, the step cannot be closed.
func TestAcknowledgement(t *testing.T) {
	for want, a := range map[State]*event.CancelAcknowledged{
		Cancelled: {NothingHappened: true}, Observing: {Result: new("391")}, Executing: {},
	} {
		s := &Step{ID: 7, State: Executing}
		err := s.Apply(&event.Event{Seq: 4, Step: 7, Attempt: 1, Payload: a})
		assert.Equal(t, want, s.State)
		assert.Equal(t, want == Cancelled, s.State.Over())
		if want == Executing {
			var refused *TransitionError
			require.ErrorAs(t, err, &refused)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, uint64(4), s.Settled)
		assert.Equal(t, want == Observing, s.Succeeded)
	}
}
