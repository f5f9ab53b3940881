package host

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The drills of the design, by name. Most are also part of a test that tries every place; here each is told alone.

// lostWorker leaves a task whose worker died, and the host and the model of the one who goes on. The ledger has s.
func lostWorker(t *testing.T, s *ledgertest.Server, log *dyingLog, replies ...any) (h *Host, m *fakeModel, task string) {
	_, err := open(t, log, &fakeModel{replies: replies}, Events{}).Run(t.Context(), ledgerTask(t, s))
	require.ErrorIs(t, err, errCrash)
	m = &fakeModel{replies: replies}
	h = open(t, log.Log, m, Events{})
	return h, m, theHistory(t, h)[0].Task
}

// requireResumed: the task is resumed and succeeds, and log and ledger agree. It gives the events.
func requireResumed(t *testing.T, h *Host, task string, s *ledgertest.Server) []*Event {
	t.Helper()
	r, err := h.Resume(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, "succeeded", r.Phase)
	events := history(t, h, task)
	requireTrue(t, events, s.Effects(), true)
	return events
}

// TestDrill01ModelReplyLost: the reply is lost before its tool runs. The model is asked again, and the tool runs once.
func TestDrill01ModelReplyLost(t *testing.T) {
	s := newLedger(t, ledgertest.Options{Raw: true})
	log := &dyingLog{Log: newLog(t), fatal: ofType(event.TypeModelReplied)}
	h, m, task := lostWorker(t, s, log, appends("cash", 1), says("done"))
	require.Empty(t, s.Effects())
	events := requireResumed(t, h, task, s)
	require.Equal(t, 1, count(events, event.TypeModelFailed))
	require.Len(t, m.asked, 2)
	requireMade(t, s.Effects(), 1)
}

// TestDrill02ToolDoneReplyLost: the write is done, and neither the tool nor the log hears of it. It is looked for and
// found: it is not made again.
func TestDrill02ToolDoneReplyLost(t *testing.T) {
	log := &dyingLog{Log: newLog(t)}
	s := newLedger(t, ledgertest.Options{Raw: true, OnEffect: func(ledgertest.Effect) { log.dead.Store(true) },
		Faults: []ledgertest.Fault{{Trouble: ledgertest.LoseReply, Method: "POST"}}})
	h, _, task := lostWorker(t, s, log, appends("cash", 1), says("done"))
	before := theHistory(t, h)
	require.Equal(t, event.TypeHostOperation, before[len(before)-1].Payload.Type(), "the intent is the last that is known")
	events := requireResumed(t, h, task, s)
	require.Equal(t, 1, count(events, event.TypeToolUnknown))
	require.Equal(t, 1, count(events, event.TypeOperationFound))
	require.Equal(t, 1, count(events, event.TypeToolStarted))
	require.Equal(t, 1, s.Stats().Posts)
}

// TestDrill03CrashAfterAnEvent: the worker dies right after each commit of a task is stored, in turn.
func TestDrill03CrashAfterAnEvent(t *testing.T) {
	stride := 1
	if raced {
		stride = 4
	}
	replies := []any{together(lists(), appends("cash", 1), appends("bank", 2)), says("done")}
	for n := 1; ; n += stride {
		s, inner := newLedger(t, ledgertest.Options{Raw: true}), newLog(t)
		log := &failingLog{Log: inner, left: n, after: true}
		_, err := open(t, log, &fakeModel{replies: replies}, Events{}).Run(t.Context(), ledgerTask(t, s))
		if err == nil {
			require.Greater(t, n, 10)
			return
		}
		require.ErrorIs(t, err, errCrash)
		m := &fakeModel{replies: replies}
		h := open(t, inner, m, Events{})
		requireResumed(t, h, theHistory(t, h)[0].Task, s)
		requireMade(t, s.Effects(), 1, 2)
		requirePairs(t, m.asked)
	}
}

// TestDrill04CredentialExpires while an approval is waited for.
func TestDrill04CredentialExpires(t *testing.T) { t.Skip("waits for its issue: approvals/budgets") }

// TestDrill05SeveralWorkersClaimOneStep: a worker died in the middle of a write, and four others go on at once. Where
// they know of each other one of them has the task; where they do not, the fence decides whose events count, and the
// service's keys what a request of the others does.
func TestDrill05SeveralWorkersClaimOneStep(t *testing.T) {
	for _, known := range []bool{true, false} {
		log := &dyingLog{Log: newLog(t)}
		s := newLedger(t, ledgertest.Options{Raw: known, OnRequest: func(string, string) { log.dead.Store(true) },
			Faults: []ledgertest.Fault{{Trouble: ledgertest.LoseRequest, Method: "POST"}}})
		replies := []any{appends("cash", 1), says("done")}
		h, _, task := lostWorker(t, s, log, replies...)
		var runners Runners
		if known {
			runners = newRunners()
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				_, err := shared(t, log.Log, runners, &fakeModel{replies: replies}).Resume(t.Context(), task)
				if err != nil && !errors.Is(err, errBusy) {
					assert.ErrorIs(t, err, ErrTakenOver)
				}
			})
		}
		all.Wait()
		events := history(t, h, task)
		require.Equal(t, 1, count(events, event.TypeTaskSucceeded))
		require.Equal(t, 1, count(events, event.TypeToolSucceeded)+count(events, event.TypeOperationFound))
		requireTrue(t, events, s.Effects(), true)
		requireMade(t, s.Effects(), 1)
	}
}

// TestDrill06CancelCrossesSuccess: the task is cancelled when the write has happened and its reply is under way, and
// when its result has just been stored. It ends as cancelled, with the write as evidence.
func TestDrill06CancelCrossesSuccess(t *testing.T) {
	for _, replied := range []bool{false, true} {
		log, runners := newLog(t), newRunners()
		cancelled := make(chan error, 1)
		cancel := sync.OnceFunc(func() { requestCancel(log, runners, cancelled) })
		s := newLedger(t, ledgertest.Options{Raw: true, OnEffect: func(ledgertest.Effect) {
			if !replied {
				cancel()
			}
		}})
		h, err := Open(Options{Log: log, Runners: runners, CacheDir: cacheDir(), Model: &fakeModel{replies: []any{appends("cash", 1), says("done")}},
			Events: Events{Committed: func(e *Event) {
				if replied && e.Payload.Type() == event.TypeToolSucceeded {
					cancel()
				}
			}}})
		require.NoError(t, err)
		r, err := h.Run(t.Context(), ledgerTask(t, s))
		require.NoError(t, err)
		require.NoError(t, <-cancelled)
		require.Equal(t, "cancelled", r.Phase)
		events := history(t, h, r.Task)
		requireTrue(t, events, s.Effects(), true)
		requireMade(t, s.Effects(), 1)
		require.Equal(t, done, writings(events)[0].known)
		require.Equal(t, 1, closed(events))
		require.Equal(t, event.TypeTaskCancelled, events[len(events)-1].Payload.Type())
	}
}

// TestDrill07SchemaChanges: a tool has another schema than when the task began. The task goes on with what it pinned,
// calls that wait included, and shows the model the same tools; a new task has the new schema.
func TestDrill07SchemaChanges(t *testing.T) {
	s := newLedger(t, ledgertest.Options{Raw: true})
	sub := ledgerTask(t, s)
	sub.Config.Limits.ParallelTools = 1 // so that one has started, and one has not
	log := &dyingLog{Log: newLog(t), fatal: ofType(event.TypeToolSucceeded)}
	replies := []any{together(appends("cash", 1), appends("bank", 2)), says("done")}
	first := &fakeModel{replies: replies}
	_, err := open(t, log, first, Events{}).Run(t.Context(), sub)
	require.ErrorIs(t, err, errCrash)

	old := sub.Tools[0]
	m := &fakeModel{replies: replies}
	h := open(t, log.Log, m, Events{})
	events := requireResumed(t, h, theHistory(t, h)[0].Task, s)
	requireMade(t, s.Effects(), 1, 2)
	require.Equal(t, first.asked[0].Tools, m.asked[len(m.asked)-1].Tools)
	require.Equal(t, old.Digest, events[0].Payload.(*event.TaskCreated).Tools[0].Digest)

	sub.Tools = []*plugins.Inspection{withSchema(t, old, `"required": ["account", "amount"]`, `"required": ["account", "amount", "text"]`)}
	m = &fakeModel{replies: []any{appends("cash", 3), says("done")}}
	r, err := open(t, log.Log, m, Events{}).Run(t.Context(), sub)
	require.NoError(t, err)
	require.NotEqual(t, first.asked[0].Tools, m.asked[0].Tools)
	require.Equal(t, 1, count(history(t, h, r.Task), event.TypeStepDenied))
	requireMade(t, s.Effects(), 1, 2)
}

// withSchema gives a plugin whose manifest has another text somewhere.
func withSchema(t *testing.T, i *plugins.Inspection, before, after string) *plugins.Inspection {
	manifest, err := os.ReadFile("../recipes/ledger/axis.json")
	require.NoError(t, err)
	require.Contains(t, string(manifest), before)
	packed, err := plugins.Pack(i.File(), []byte(strings.Replace(string(manifest), before, after, 1)), plugins.PackOptions{Replace: true})
	require.NoError(t, err)
	out, err := plugins.Inspect(packed)
	require.NoError(t, err)
	require.NotEqual(t, i.Digest, out.Digest)
	return out
}

// TestDrill08ProbeUnknown: what became of a write is asked, and that is itself lost: by the worker's death, by the
// network, by a service that does not know yet. It is asked again, and the write is not made again.
func TestDrill08ProbeUnknown(t *testing.T) {
	log := &dyingLog{Log: newLog(t)}
	s := newLedger(t, ledgertest.Options{Raw: true, OnRequest: func(method, _ string) {
		if method == "GET" {
			log.dead.Store(true)
		}
	}, Faults: []ledgertest.Fault{
		{Trouble: ledgertest.LoseReply, Method: "POST"},
		{Trouble: ledgertest.LoseRequest, Method: "GET"}, {Trouble: ledgertest.LoseReply, Method: "GET"}, {Trouble: ledgertest.Inconclusive},
	}})
	h, _, task := lostWorker(t, s, log, appends("cash", 1), says("done"))
	events := requireResumed(t, h, task, s)
	require.Equal(t, 2, count(events, event.TypeReconcileInconclusive))
	require.Equal(t, 1, count(events, event.TypeOperationFound))
	require.Equal(t, 1, count(events, event.TypeToolStarted))
	require.Equal(t, 1, s.Stats().Posts)
	require.Equal(t, 4, s.Stats().Lookups)
}

// TestDrill09ApprovalAnsweredTwice.
func TestDrill09ApprovalAnsweredTwice(t *testing.T) { t.Skip("waits for its issue: approvals/budgets") }

// TestDrill10BudgetExhaustedByReserve.
func TestDrill10BudgetExhaustedByReserve(t *testing.T) {
	t.Skip("waits for its issue: approvals/budgets")
}

// TestDrill11RollbackOfATurnThatWrote: a recipe that has failed calls hidden does not get a turn hidden that wrote; and
// where the prompt has become too long, so that the turn is hidden all the same, the model is told what it did.
func TestDrill11RollbackOfATurnThatWrote(t *testing.T) {
	s := newLedger(t, ledgertest.Options{Raw: true})
	sub := ledgerTask(t, s)
	sub.Recipe = guest(t, "careful")
	sub.Tools = append(sub.Tools, guest(t, "calc"))
	m := &fakeModel{replies: []any{together(appends("cash", 1), calls("1 / 0")), says("done")}}
	h := open(t, newLog(t), m, Events{})
	r, err := h.Run(t.Context(), sub)
	require.NoError(t, err)
	require.Zero(t, count(history(t, h, r.Task), event.TypeRollbackMarked))
	require.Contains(t, toJSON(t, m.asked[1]), "entry e1: 1 to cash")

	tooLong := &model.Error{Class: model.ClassContextLimit, Status: 413}
	m = &fakeModel{replies: []any{appends("cash", 2), tooLong, says("done")}}
	h = open(t, newLog(t), m, Events{})
	r, err = h.Run(t.Context(), ledgerTask(t, s))
	require.NoError(t, err)
	require.Equal(t, 1, count(history(t, h, r.Task), event.TypeRollbackMarked))
	last := m.asked[len(m.asked)-1].Messages
	require.Contains(t, last[len(last)-1].Content, "must not be made again")
	require.Contains(t, last[len(last)-1].Content, "entry e2: 2 to cash")
	requirePairs(t, m.asked)
	requireMade(t, s.Effects(), 1, 2)
}

// TestDrill12SubmittedTwice: the same task is submitted twice with one idempotency key, one after the other, by several at
// once, and after the death of the first. It is one task, and each entry is made once.
func TestDrill12SubmittedTwice(t *testing.T) {
	replies := []any{appends("cash", 1, 2), appends("bank", 3), says("done")}
	begin := func(t *testing.T) (*ledgertest.Server, Submission) {
		s := newLedger(t, ledgertest.Options{Raw: true})
		sub := ledgerTask(t, s)
		sub.Key = "invoice 4711"
		return s, sub
	}
	// one: there is one task, which has succeeded, and log and ledger agree.
	one := func(t *testing.T, log store.Log, s *ledgertest.Server) string {
		events := theHistory(t, open(t, log, nil, Events{}))
		require.Equal(t, 1, count(events, event.TypeTaskSucceeded))
		requireTrue(t, events, s.Effects(), true)
		requireMade(t, s.Effects(), 1, 2, 3)
		require.True(t, requireKeyed(t, log, "invoice 4711"))
		return events[0].Task
	}
	t.Run("one after the other", func(t *testing.T) {
		s, sub := begin(t)
		log, m := newLog(t), &fakeModel{replies: replies}
		first, err := open(t, log, m, Events{}).Run(t.Context(), sub)
		require.NoError(t, err)
		second, err := open(t, log, m, Events{}).Run(t.Context(), sub)
		require.NoError(t, err)
		require.Equal(t, first, second)
		require.Len(t, m.asked, len(replies))
		require.Equal(t, first.Task, one(t, log, s))
	})
	t.Run("at once", func(t *testing.T) {
		s, sub := begin(t)
		log, runners := newLog(t), newRunners()
		var ended atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				r, err := shared(t, log, runners, &fakeModel{replies: replies}).Run(t.Context(), sub)
				if errors.Is(err, errBusy) {
					return // somebody is at it
				}
				if assert.NoError(t, err) {
					assert.Equal(t, "done", r.Answer)
					ended.Add(1)
				}
			})
		}
		all.Wait()
		require.Positive(t, ended.Load())
		one(t, log, s)
	})
	t.Run("after the first has died", func(t *testing.T) {
		stride := 1
		if raced {
			stride = 3
		}
		for n := 1; ; n += stride { // 1, stored: between the commit and the answer
			for _, stored := range []bool{true, false} {
				s, sub := begin(t)
				log := newLog(t)
				_, err := open(t, &failingLog{Log: log, left: n, after: stored}, &fakeModel{replies: replies}, Events{}).Run(t.Context(), sub)
				if err == nil {
					require.Greater(t, n, 8)
					return
				}
				require.ErrorIs(t, err, errCrash)
				require.Equal(t, n > 1 || stored, requireKeyed(t, log, sub.Key))
				r, err := open(t, log, &fakeModel{replies: replies}, Events{}).Run(t.Context(), sub)
				require.NoError(t, err, "commit %d, stored %v", n, stored)
				require.Equal(t, r.Task, one(t, log, s))
			}
		}
	})
}

// requestCancel has the last task of a log cancelled, and returns when that is stored; cancelled gets how it ended.
func requestCancel(log store.Log, runners Runners, cancelled chan<- error) {
	stored := make(chan struct{})
	h, err := Open(Options{Log: log, Runners: runners, CacheDir: cacheDir(), Events: Events{Committed: func(e *Event) {
		if e.Payload.Type() == event.TypeCancelRequested {
			close(stored)
		}
	}}})
	if err != nil {
		cancelled <- err
		return
	}
	go func() {
		task, err := h.Find(context.Background(), "last")
		if err == nil {
			_, err = h.Cancel(context.Background(), task.ID, "no longer needed")
		}
		if cancelled <- err; err != nil {
			select {
			case <-stored:
			default:
				close(stored)
			}
		}
	}()
	<-stored
}
