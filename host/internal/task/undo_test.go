package task

import (
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryPairOfUndo: every pair of a state and an event goes where it should, or is refused with both.
func TestEveryPairOfUndo(t *testing.T) {
	want := map[UndoState]map[event.Type]UndoState{
		UndoWaiting: {event.TypeCompensationStarted: UndoExecuting, event.TypeLeaseAcquired: UndoWaiting},
		UndoExecuting: {
			event.TypeCompensationSucceeded: Undone, event.TypeCompensationFailed: UndoFailed,
			event.TypeHostOperation: UndoExecuting, event.TypeToolProgress: UndoExecuting, event.TypeLeaseReleased: UndoExecuting,
		},
		UndoFailed: {event.TypeRetryScheduled: UndoWaiting},
	}
	for from := UndoWaiting; from < undoStateCount; from++ {
		for n, typ := range event.Types() {
			u := &Undo{ID: 7, State: from}
			err := u.Apply(&event.Event{Seq: uint64(n + 1), Step: 7, Attempt: 2, Payload: event.New(typ)})
			if to, legal := want[from][typ]; legal {
				require.NoError(t, err)
				assert.Equal(t, to, u.State, "%s in %s", typ, from)
				continue
			}
			var refused *UndoError
			require.ErrorAs(t, err, &refused, "%s in %s", typ, from)
			assert.Equal(t, from, u.State, "a refused event moved it")
			assert.Contains(t, err.Error(), "undoing 7 in state "+from.String())
		}
	}
}

// TestUndo: what may have gone out is counted for each attempt, and what nobody knows stays so until it is known.
func TestUndo(t *testing.T) {
	u, seq := &Undo{ID: 1}, uint64(0)
	apply := func(attempt int64, payloads ...event.Payload) {
		for _, p := range payloads {
			seq++
			require.NoError(t, u.Apply(&event.Event{Seq: seq, Step: 1, Attempt: attempt, Payload: p}))
		}
	}
	apply(1, &event.CompensationStarted{Of: "op"}, &event.HostOperation{Number: 1, State: event.OperationDone},
		&event.HostOperation{Number: 2, Write: true, State: event.OperationBegun},
		&event.HostOperation{Number: 2, Write: true, State: event.OperationFailed},
		&event.HostOperation{Number: 3, Write: true, State: event.OperationBegun})
	assert.Equal(t, int64(1), u.Operations, "of one nothing was sent")
	apply(1, &event.CompensationFailed{Of: "op", Reason: "timeout", Unknown: true})
	assert.True(t, u.State.Over())
	assert.True(t, u.Unknown)
	apply(1, &event.RetryScheduled{At: 9})
	assert.False(t, u.State.Over())
	assert.Equal(t, int64(9), u.Due)
	apply(2, &event.CompensationStarted{Of: "op"})
	assert.Zero(t, u.Due)
	assert.Zero(t, u.Operations)
	assert.Equal(t, int64(2), u.Attempt)
	assert.True(t, u.Unknown, "the first attempt may have undone it")
	apply(2, &event.CompensationSucceeded{Of: "op", Result: "void"})
	assert.Equal(t, "void", u.Result)
	assert.Empty(t, u.Reason)
	assert.False(t, u.Unknown)
	assert.True(t, u.State.Over())
}
