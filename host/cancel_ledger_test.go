package host

import (
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/stretchr/testify/require"
)

// TestCancelOfAWriteWhoseWorkerDied: whoever cancels a task whose worker died in the middle of a write finds out first
// whether it happened, and then ends the task.
func TestCancelOfAWriteWhoseWorkerDied(t *testing.T) {
	for trouble, end := range map[ledgertest.Trouble]string{ledgertest.LoseReply: event.EndDone, ledgertest.LoseRequest: event.EndCancelled} {
		log := &dyingLog{Log: newLog(t)}
		s := newLedger(t, ledgertest.Options{Raw: true, Faults: []ledgertest.Fault{{Trouble: trouble, Method: "POST"}},
			OnRequest: func(string, string) { log.dead.Store(true) }})
		_, err := open(t, log, &fakeModel{replies: []any{appends("cash", 1)}}, Events{}).Run(t.Context(), ledgerTask(t, s))
		require.ErrorIs(t, err, errCrash)
		h := shared(t, log.Log, newRunners(), nil)
		task := theHistory(t, h)[0].Task
		r, err := h.Cancel(t.Context(), task, "no longer needed")
		require.NoError(t, err, trouble)
		require.Equal(t, "cancelled", r.Phase)
		events := history(t, h, task)
		requireTrue(t, events, s.Effects(), true)
		require.Equal(t, end, events[len(events)-1].Payload.(*event.TaskCancelled).InFlight[0].End)
	}
}

// TestCancelOfAWriteNobodyCanTell: where the tool cannot tell either, the canceller is told which step waits for a
// person, again and again, and what that person finds out ends the task.
func TestCancelOfAWriteNobodyCanTell(t *testing.T) {
	log := &dyingLog{Log: newLog(t)}
	s := newLedger(t, ledgertest.Options{Raw: true, OnEffect: func(ledgertest.Effect) { log.dead.Store(true) }, Faults: []ledgertest.Fault{
		{Trouble: ledgertest.LoseReply, Method: "POST"}, {Trouble: ledgertest.Inconclusive, Count: 99},
	}})
	sub := ledgerTask(t, s)
	sub.Config.Limits.ReconcileTries = 2
	_, err := open(t, log, &fakeModel{replies: []any{appends("cash", 1)}}, Events{}).Run(t.Context(), sub)
	require.ErrorIs(t, err, errCrash)
	h := shared(t, log.Log, newRunners(), nil)
	task := theHistory(t, h)[0].Task
	for claims := range 2 {
		r, err := h.Cancel(t.Context(), task, "no longer needed")
		var stopped *StoppedError
		require.ErrorAs(t, err, &stopped)
		require.Equal(t, int64(1), stopped.Step)
		require.Equal(t, "cancelling", r.Phase)
		require.Equal(t, 2+claims, count(history(t, h, task), event.TypeClaimed), "each canceller claims it once")
	}
	waiting, err := h.Find(t.Context(), task)
	require.NoError(t, err)
	require.True(t, waiting.Waits)
	counted := requireStats(t, h)
	require.EqualValues(t, 1, counted.Tasks.Waiting)
	require.EqualValues(t, 1, counted.Recovery.Lost, "the first worker died, and the cancellers did not")
	r, err := h.DecideOutcome(t.Context(), task, Outcome{Found: true, Result: "entry e1"})
	require.NoError(t, err)
	require.Equal(t, "cancelled", r.Phase)
	waiting, err = h.Find(t.Context(), task)
	require.NoError(t, err)
	require.False(t, waiting.Waits)
	requireTrue(t, history(t, h, task), s.Effects(), true)
}
