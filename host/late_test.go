package host

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/stretchr/testify/require"
)

// lateLedger starts a ledger at which writes arrive, and have their effect only when they are let go: whoever asked for
// them is gone by then. came is called once for each of them when it has arrived.
func lateLedger(t *testing.T, came func()) (s *ledgertest.Server, letGo func()) {
	gone := make(chan struct{})
	s = newLedger(t, ledgertest.Options{Raw: true, OnRequest: func(method, _ string) {
		if method == "POST" {
			came()
			<-gone
		}
	}})
	letGo = sync.OnceFunc(func() {
		close(gone)
		require.NoError(t, s.Close()) // it waits for them
	})
	t.Cleanup(letGo)
	return s, letGo
}

// TestCancelShutsOutWhatIsUnderWay: a task that is cancelled while its write is under way ends as not having made it, and
// what then arrives is refused.
func TestCancelShutsOutWhatIsUnderWay(t *testing.T) {
	log, runners, ended := newLog(t), newRunners(), make(chan error, 1)
	s, letGo := lateLedger(t, sync.OnceFunc(func() { requestCancel(log, runners, ended) }))
	h, err := Open(Options{Log: log, Runners: runners, CacheDir: cacheDir(), Model: &fakeModel{replies: []any{appends("cash", 1)}}})
	require.NoError(t, err)
	r, err := h.Run(t.Context(), ledgerTask(t, s))
	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.Equal(t, "cancelled", r.Phase)
	events := history(t, h, r.Task)
	require.Equal(t, event.EndCancelled, events[len(events)-1].Payload.(*event.TaskCancelled).InFlight[0].End)
	letGo()
	requireTrue(t, events, s.Effects(), true)
	requireMade(t, s.Effects())
}

// TestGivingUpShutsOutWhatIsUnderWay: a write that does not answer in time, and is not made again, is told to the model as
// not made; and it is not, whatever arrives later. One that is made again is made once.
func TestGivingUpShutsOutWhatIsUnderWay(t *testing.T) {
	var again sync.WaitGroup
	again.Add(1)
	s, letGo := lateLedger(t, sync.OnceFunc(again.Done))
	sub := ledgerTask(t, s)
	sub.Config.Limits.ToolTimeout, sub.Config.Limits.ToolRetries = 300, 0
	h := open(t, newLog(t), &fakeModel{replies: []any{appends("cash", 1), says("it was not made")}}, Events{})
	r, err := h.Run(t.Context(), sub)
	require.NoError(t, err)
	again.Wait()
	events := history(t, h, r.Task)
	require.Equal(t, 1, count(events, event.TypeToolUnknown))
	require.Equal(t, 1, count(events, event.TypeOperationAbsent))
	require.Equal(t, 1, count(events, event.TypeStepCancelled))
	letGo()
	requireTrue(t, events, s.Effects(), true)
	requireMade(t, s.Effects())
}

// TestLateAttemptBesideItsRetry: the first attempt arrives after the second one was made.
func TestLateAttemptBesideItsRetry(t *testing.T) {
	first := make(chan struct{})
	var came atomic.Int64
	s := newLedger(t, ledgertest.Options{Raw: true, OnRequest: func(method, _ string) {
		if method == "POST" && came.Add(1) == 1 {
			<-first
		}
	}})
	sub := ledgerTask(t, s)
	sub.Config.Limits.ToolTimeout = 300
	h := open(t, newLog(t), &fakeModel{replies: []any{appends("cash", 1), says("done")}}, Events{})
	r, err := h.Run(t.Context(), sub)
	close(first)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	requireTrue(t, history(t, h, r.Task), s.Effects(), true)
	requireMade(t, s.Effects(), 1)
}
