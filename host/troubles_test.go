package host

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

// Faults that users of comparable systems met, as far as they are about running, recovering and effects. The numbers
// are those of our list of such reports. What other tests show already:
//
//	 1  a write runs again after a crash      TestDeathAtEveryPost, TestDrill02ToolDoneReplyLost, TestCrashAtEveryWriteWithEffects
//	 2  orphaned calls in the next request    requirePairs in TestDeathAtEvery..., TestDrill03..., TestWriteInterruptedAnywhere; core.TestAnyWorld
//	 3  histories repaired one way only       core.TestAnyWorld (requirePaired), conv.TestAnyOperations
//	 4  a log that grows with the square      TestLogGrowsWithTheText
//	 5  full requests stored each step        TestLogGrowsWithTheText
//	 7  late writers, conflicts by time       storetest ("exactly one of many writers gets each number"), TestTwoCancellers, TestTakenOver
//	 8  changed types read as nothing         event.TestGolden, TestHistories, event.TestFieldsOfLaterVersions
//	19  completion kept, not yet delivered    TestDeathAtEveryPost ("stored, and the tool is not told"), TestDeathAtEveryProbe
//	20  nobody can go on                      core.TestAnyWorld (nothing is pending only where it halted or ended), TestToolFaultStopsAndResumes
//	21  compaction loops                      core scenario compaction_that_saves_nothing
//	25  Retry-After, besides below            TestWrite ("429", "429 with a date"), model.TestRetryAfter, core scenario tool_asks_to_wait_too_long
//	26  results in completion order           TestSameRequestForAnyOrder, core scenario tool_results_in_call_order
//	27  a killed run loses its history        cmd: TestTorture, TestTortureWrites, TestKillBetweenAnyTwoEvents
//	30  cut off arguments run                 core scenario truncated_call_is_not_run

// TestTrouble06And24CancelAnywhere: a task that writes is cancelled after each of its events in turn. Its end says why
// and what was under way, is written when nothing is under way any more, and tells the truth of each write.
func TestTrouble06And24CancelAnywhere(t *testing.T) {
	stride := 1
	if raced {
		stride = 5
	}
	replies := []any{together(lists(), appends("cash", 1), appends("bank", 2)), appends("cash", 3), says("done")}
	cancelled := 0
	for n := 1; ; n += stride {
		log, runners, s := newLog(t), newRunners(), newLedger(t, ledgertest.Options{Raw: true})
		ended := make(chan error, 1)
		var seen int
		var atEnd []ledgertest.Effect
		h, err := Open(Options{Log: log, Runners: runners, CacheDir: cacheDir(), Model: &fakeModel{replies: replies}, Events: Events{
			Committed: func(e *Event) {
				if seen++; seen == n {
					requestCancel(log, runners, ended)
				}
				if e.Payload.Type() == event.TypeTaskCancelled {
					atEnd = s.Effects()
				}
			},
		}})
		require.NoError(t, err)
		r, err := h.Run(t.Context(), ledgerTask(t, s))
		require.NoError(t, err)
		events := history(t, h, r.Task)
		require.NoError(t, s.Close()) // whatever is under way there has come to its end
		requireTrue(t, events, s.Effects(), true)
		if seen < n {
			require.Greater(t, cancelled, 25/stride)
			return
		}
		if err := <-ended; err != nil {
			require.ErrorIs(t, err, ErrEnded) // the last event is the end
			continue
		}
		cancelled++
		require.Equal(t, s.Effects(), atEnd, "after %d events: something happened after the end", n)
		requireEndTells(t, events)
	}
}

// requireEndTells: the end of a cancelled task says why, and which steps were under way when it was asked for.
func requireEndTells(t *testing.T, events []*Event) {
	under := map[int64]bool{}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *event.ToolStarted:
			under[e.Step] = true
		case *event.ToolSucceeded, *event.ToolFailed, *event.OperationFound, *event.OperationAbsent:
			delete(under, e.Step)
		case *event.CancelRequested:
			require.Len(t, p.InFlight, len(under))
			end, ok := events[len(events)-1].Payload.(*event.TaskCancelled)
			require.True(t, ok)
			require.Equal(t, "no longer needed", end.Reason)
			require.Len(t, end.InFlight, len(under))
			for _, f := range end.InFlight {
				require.True(t, under[f.Step])
				require.NotEmpty(t, f.End)
			}
			return
		}
	}
	require.Fail(t, "nobody asked for the end")
}

// TestTrouble16TwoRecoverers: two processes look which tasks are to be resumed, and both go on with the same one; the
// later one by a list that is no longer true. And the one that recovers dies as well, at each of its commits, with its
// store. A task without an id is none.
func TestTrouble16TwoRecoverers(t *testing.T) {
	s := newLedger(t, ledgertest.Options{Raw: true})
	log := &dyingLog{Log: newLog(t), fatal: operation(true, event.OperationDone)}
	replies := []any{appends("cash", 1), appends("cash", 2), says("done")}
	h, _, task := lostWorker(t, s, log, replies...)
	events := requireResumed(t, h, task, s)
	m := &fakeModel{}
	again, err := open(t, log.Log, m, Events{}).Resume(t.Context(), task) // as the stale list says
	require.NoError(t, err)
	require.Equal(t, "succeeded", again.Phase)
	require.Empty(t, m.asked)
	require.Len(t, history(t, h, task), len(events))
	requireMade(t, s.Effects(), 1, 2)
	_, err = h.Resume(t.Context(), "")
	require.ErrorIs(t, err, ErrNoTask)
}

// TestTrouble16DeathInRecovery is its second part.
func TestTrouble16DeathInRecovery(t *testing.T) {
	stride := 1
	if raced {
		stride = 4
	}
	replies := []any{together(appends("cash", 1), appends("bank", 2)), says("done")}
	var modules sync.Map
	onDisk := func(fs vfs.FS) store.Log {
		log, err := pebblestore.Open("dir", pebblestore.Options{FS: fs})
		require.NoError(t, err)
		return &thinLog{log, &modules}
	}
	for n := 1; ; n += stride {
		s, fs := newLedger(t, ledgertest.Options{Raw: true}), vfs.NewMem()
		log := onDisk(fs)
		first := &dyingLog{Log: log, fatal: operation(true, event.OperationDone)}
		_, _, task := lostWorker(t, s, first, replies...)
		_, err := open(t, &failingLog{Log: log, left: n, after: n%2 == 0}, &fakeModel{replies: replies}, Events{}).Resume(t.Context(), task)
		require.NoError(t, log.Close())
		log = onDisk(fs)
		h := open(t, log, &fakeModel{replies: replies}, Events{})
		requireResumed(t, h, task, s)
		requireMade(t, s.Effects(), 1, 2)
		require.NoError(t, log.Close())
		if err == nil { // it needed less commits
			require.Greater(t, n, 5)
			return
		}
		require.ErrorIs(t, err, errCrash)
	}
}

// TestTrouble17PinnedPlugins: a task says by digest what it was begun with, and is resumed with nothing else. (The same
// request twice is TestDrill12SubmittedTwice.)
func TestTrouble17PinnedPlugins(t *testing.T) {
	log := newLog(t)
	h := open(t, log, &fakeModel{replies: demo()[:1]}, Events{})
	r, err := h.Run(t.Context(), submission(t))
	require.ErrorAs(t, err, new(*StoppedError)) // there is no second reply
	created := history(t, h, r.Task)[0].Payload.(*event.TaskCreated)
	require.Equal(t, guest(t, "boxed").Digest, created.Recipe.Digest)
	require.Equal(t, guest(t, "calc").Digest, created.Tools[0].Digest)

	other := &swappedBlobs{log, guest(t, "careful").File()}
	_, err = open(t, other, &fakeModel{}, Events{}).Resume(t.Context(), r.Task)
	require.ErrorContains(t, err, "its digest is")
}

// swappedBlobs gives other modules than were pinned.
type swappedBlobs struct {
	store.Log
	module []byte
}

func (l *swappedBlobs) Blob(context.Context, string, string) ([]byte, error) { return l.module, nil }

// TestTrouble18AttemptsAreCounted: a call that fails again and again is given up after as many attempts as are
// configured, though its worker dies after each of them; and so is a write that never arrives.
func TestTrouble18AttemptsAreCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		trouble ledgertest.Trouble
		gone    event.Type
	}{
		"rate limited": {ledgertest.RateLimit, event.TypeRetryScheduled},
		"never there":  {ledgertest.FailBefore, event.TypeOperationAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLedger(t, ledgertest.Options{Raw: true, Faults: []ledgertest.Fault{{Trouble: tt.trouble, Method: "POST", Count: 50}}})
			sub := ledgerTask(t, s)
			sub.Config.Limits.ToolRetries = 3
			replies := []any{appends("cash", 1), says("given up")}
			gone := ofType(tt.gone)
			log := &dyingLog{Log: newLog(t), fatal: gone, after: true}
			_, err := open(t, log, &fakeModel{replies: replies}, Events{}).Run(t.Context(), sub)
			h := open(t, log.Log, nil, Events{})
			task := theHistory(t, h)[0].Task
			for deaths := 1; err != nil; deaths++ {
				require.ErrorIs(t, err, errCrash)
				require.Less(t, deaths, 20, "it does not come to an end")
				next := &dyingLog{Log: log.Log, fatal: gone, after: true}
				_, err = open(t, next, &fakeModel{replies: replies}, Events{}).Resume(t.Context(), task)
			}
			require.Equal(t, 4, count(history(t, h, task), event.TypeToolStarted))
			require.Equal(t, 4, s.Stats().Posts)
			require.Empty(t, ledgertest.Of(ledgertest.Post, s.Effects()))
		})
	}
}

// TestTrouble22SameFailure: a call that fails in the same way again and again is made no more often than is configured, however
// the model words it, and what it then says is no success. A provider that is down in between is not the call's failure, and
// a call that works in the end is none.
func TestTrouble22SameFailure(t *testing.T) {
	spelled := []string{`{"account":"cash","amount":1}`, `{"amount":1, "account":"cash"}`, ` {"account" : "cas\u0068", "amount" : 1}`}
	calls := func(n int) (replies []any) {
		for i := range n {
			reply := callsTool("append", spelled[i%len(spelled)])
			reply.Message.Content = strings.Repeat("Now it will work. ", i)
			replies = append(replies, reply, &model.Error{Class: model.ClassTransient, Status: 503, Endpoint: "x"})
		}
		return replies
	}
	for name, tt := range map[string]struct {
		refused int
		replies []any
		phase   string
		posts   int
	}{
		"for ever":      {50, append(calls(4), says("All is booked.")), "partial", 4},
		"until it does": {3, append(calls(4), says("All is booked.")), "succeeded", 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLedger(t, ledgertest.Options{Raw: true, Faults: []ledgertest.Fault{
				{Trouble: ledgertest.FailBefore, Method: "POST", Status: 422, Count: tt.refused},
			}})
			sub := ledgerTask(t, s)
			sub.Config.Limits.SameArguments, sub.Config.Limits.RetryBase = nil, 1
			m := &fakeModel{replies: tt.replies}
			h := open(t, newLog(t), m, Events{})
			r, err := h.Run(t.Context(), sub)
			require.NoError(t, err)
			require.Equal(t, tt.phase, r.Phase)
			require.Equal(t, tt.posts, s.Stats().Posts)
			if tt.phase == "partial" {
				require.Equal(t, "repeated_failure", r.Reason)
				require.Len(t, m.asked, 9, "four calls, four times the provider was down, and the last turn")
			}
		})
	}
}

// TestTrouble25OneRetryLayer: every request is an attempt of the log's, none is made below it; and a service that asks
// to be left alone for sixteen days is told of to the model, not waited for.
func TestTrouble25OneRetryLayer(t *testing.T) {
	s := newLedger(t, ledgertest.Options{Raw: true, Faults: []ledgertest.Fault{
		{Trouble: ledgertest.RateLimit, Method: "POST", Count: 2}, {Trouble: ledgertest.FailBefore, Method: "POST", Status: 503},
		{Trouble: ledgertest.LoseRequest, Method: "POST"},
	}})
	sub := ledgerTask(t, s)
	sub.Config.Limits.ToolRetries = 10
	h := open(t, newLog(t), &fakeModel{replies: []any{appends("cash", 1), says("done")}}, Events{})
	r, err := h.Run(t.Context(), sub)
	require.NoError(t, err)
	require.Equal(t, 5, count(history(t, h, r.Task), event.TypeToolStarted))
	require.Equal(t, 5, s.Stats().Posts)
	requireMade(t, s.Effects(), 1)

	days := int((16 * 24 * time.Hour).Seconds())
	require.NoError(t, s.SetFaults(ledgertest.Fault{Trouble: ledgertest.RateLimit, Method: "POST", RetryAfter: days}))
	m := &fakeModel{replies: []any{appends("cash", 2), says("not now")}}
	r, err = open(t, newLog(t), m, Events{}).Run(t.Context(), ledgerTask(t, s))
	require.NoError(t, err)
	require.Equal(t, "not now", r.Answer)
	require.Contains(t, toJSON(t, m.asked[1]), "takes no more entries for now")
	requireMade(t, s.Effects(), 1)
}

// TestTrouble28HooksRunOnce: whichever commit a worker dies after, the recipe is asked once for each thing that is
// decided, steps have numbers of their own, and reading a task asks nobody.
func TestTrouble28HooksRunOnce(t *testing.T) {
	sub, log := submission(t), newLog(t)
	r, err := open(t, log, &fakeModel{replies: demo()}, Events{}).Run(t.Context(), sub)
	require.NoError(t, err)
	h := open(t, &swappedBlobs{Log: log}, nil, Events{}) // without plugins to be asked
	want := history(t, h, r.Task)
	state, err := h.fold(t.Context(), r.Task)
	require.NoError(t, err)
	require.Equal(t, "391", state.Outcome().Answer)
	stride := 1
	if raced {
		stride = 3
	}
	for n := 1; ; n += stride {
		log := newLog(t)
		_, err := open(t, &failingLog{Log: log, left: n, after: true}, &fakeModel{replies: demo()}, Events{}).Run(t.Context(), sub)
		if err == nil {
			require.Greater(t, n, 6)
			return
		}
		h := open(t, log, &fakeModel{replies: demo()}, Events{})
		_, err = h.Resume(t.Context(), theHistory(t, h)[0].Task)
		require.NoError(t, err)
		events := theHistory(t, h)
		require.Equal(t, count(want, event.TypeRecipeConsulted), count(events, event.TypeRecipeConsulted), "after commit %d", n)
		steps := map[int64]bool{}
		for _, e := range events {
			if e.Payload.Type() == event.TypeToolRequested {
				require.False(t, steps[e.Step])
				steps[e.Step] = true
			}
		}
	}
}
