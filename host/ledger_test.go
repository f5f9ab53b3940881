package host

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
)

// newLedger starts the outside service.
func newLedger(t testing.TB, o ledgertest.Options) *ledgertest.Server {
	s, err := ledgertest.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// ledgerTask gives a task that may write to a ledger.
func ledgerTask(t testing.TB, s *ledgertest.Server) Submission {
	sub := bare()
	sub.Tools = []*plugins.Inspection{guest(t, "ledger")}
	sub.Config.Tools = map[string]map[string]any{"ledger": {"url": s.URL()}}
	u, err := url.Parse(s.URL())
	require.NoError(t, err)
	sub.Grants = []Grant{{Plugin: "ledger", Capability: GrantHTTP, Limit: u.Host}}
	sub.Config.Limits.RetryMax = 2_000
	return sub
}

// appends is a reply that appends to an account.
func appends(account string, amounts ...int) any {
	reply := callsTool("append", "{}")
	reply.Message.ToolCalls = nil
	for i, amount := range amounts {
		call := callsTool("append", fmt.Sprintf(`{"account":%q,"amount":%d}`, account, amount)).Message.ToolCalls[0]
		call.ID = fmt.Sprintf("c%d_%d", amount, i)
		reply.Message.ToolCalls = append(reply.Message.ToolCalls, call)
	}
	return reply
}

// requireOnce: each of n entries was made exactly once.
func requireOnce(t testing.TB, s *ledgertest.Server, n int) {
	t.Helper()
	effects := ledgertest.Of(ledgertest.Post, s.Effects())
	assert.Len(t, effects, n)
	assert.Empty(t, ledgertest.Duplicates(effects))
}

// TestWrite: whatever becomes of a request and its reply, the entry is made once, the model is told of it, and the log
// says how that came to be known. A service that ignores idempotency keys shows each blind repetition.
func TestWrite(t *testing.T) {
	for name, tt := range map[string]struct {
		faults []ledgertest.Fault
		has    map[event.Type]int
		starts int
	}{
		"nothing goes wrong": {nil, map[event.Type]int{event.TypeToolUnknown: 0}, 1},
		"the reply is lost": {[]ledgertest.Fault{{Trouble: "lose_reply", Method: "POST"}},
			map[event.Type]int{event.TypeToolUnknown: 1, event.TypeOperationFound: 1}, 1},
		"the request is lost": {[]ledgertest.Fault{{Trouble: "lose_request", Method: "POST"}},
			map[event.Type]int{event.TypeToolUnknown: 1, event.TypeOperationAbsent: 1}, 2},
		"5xx after the effect": {[]ledgertest.Fault{{Trouble: "fail_after", Method: "POST", Status: 502}},
			map[event.Type]int{event.TypeToolUnknown: 1, event.TypeOperationFound: 1}, 1},
		"5xx before the effect": {[]ledgertest.Fault{{Trouble: "fail_before", Method: "POST", Status: 503}},
			map[event.Type]int{event.TypeToolUnknown: 1, event.TypeOperationAbsent: 1}, 2},
		"429": {[]ledgertest.Fault{{Trouble: "rate_limit", Method: "POST", RetryAfter: 1}},
			map[event.Type]int{event.TypeToolUnknown: 0, event.TypeToolFailed: 1, event.TypeRetryScheduled: 1}, 2},
		"429 with a date": {[]ledgertest.Fault{{Trouble: "rate_limit", Method: "POST", RetryAfter: 1, Date: true}},
			map[event.Type]int{event.TypeToolFailed: 1, event.TypeRetryScheduled: 1}, 2},
		"the reply and a probe are lost": {[]ledgertest.Fault{{Trouble: "lose_reply", Method: "POST"}, {Trouble: "lose_reply", Method: "GET"}},
			map[event.Type]int{event.TypeReconcileInconclusive: 1, event.TypeOperationFound: 1}, 1},
		"a probe that cannot tell": {[]ledgertest.Fault{{Trouble: "lose_reply", Method: "POST"}, {Trouble: "inconclusive", Method: "GET"}},
			map[event.Type]int{event.TypeReconcileInconclusive: 1, event.TypeOperationFound: 1}, 1},
		"the second attempt is lost as well": {[]ledgertest.Fault{{Trouble: "lose_request", Method: "POST"}, {Trouble: "lose_reply", Method: "POST"}},
			map[event.Type]int{event.TypeToolUnknown: 2, event.TypeOperationAbsent: 1, event.TypeOperationFound: 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLedger(t, ledgertest.Options{Raw: true, Faults: tt.faults})
			h := open(t, newLog(t), &fakeModel{replies: []any{appends("cash", 7), says("done")}}, Events{})
			r, err := h.Run(t.Context(), ledgerTask(t, s))
			require.NoError(t, err)
			assert.Equal(t, "succeeded", r.Phase)
			requireOnce(t, s, 1)
			events := history(t, h, r.Task)
			for kind, n := range tt.has {
				assert.Equal(t, n, count(events, kind), kind)
			}
			assert.Equal(t, tt.starts, count(events, event.TypeToolStarted))
			requireIntent(t, events)
			assert.Contains(t, observed(events), "entry e1: 7 to cash")
		})
	}
}

// requireIntent: each operation that may change something was in the log before it was done.
func requireIntent(t testing.TB, events []*Event) {
	t.Helper()
	begun := map[[3]int64]bool{}
	for _, e := range events {
		op, ok := e.Payload.(*event.HostOperation)
		if !ok {
			continue
		}
		key := [3]int64{e.Step, e.Attempt, op.Number}
		switch {
		case op.State == event.OperationBegun:
			begun[key] = true
		case op.Write:
			assert.True(t, begun[key], "operation %v", key)
		}
		assert.NotContains(t, op.Target, "key=", "a target has no query")
	}
}

// observed is what the model was told of its calls.
func observed(events []*Event) string {
	text := ""
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *event.ToolSucceeded:
			text += p.Result + "\n"
		case *event.OperationFound:
			text += p.Result + "\n"
		}
	}
	return text
}

// TestWriteNobodyCanTell: a task whose write may have happened halts, says what a person has to find out, and goes on
// when that is decided.
func TestWriteNobodyCanTell(t *testing.T) {
	for _, found := range []bool{true, false} {
		s := newLedger(t, ledgertest.Options{Raw: true, Faults: []ledgertest.Fault{
			{Trouble: "lose_request", Method: "POST"}, {Trouble: "inconclusive", Method: "GET", Count: 9},
		}})
		if found {
			require.NoError(t, s.SetFaults(ledgertest.Fault{Trouble: "lose_reply", Method: "POST"}, ledgertest.Fault{Trouble: "inconclusive", Method: "GET", Count: 9}))
		}
		sub := ledgerTask(t, s)
		sub.Config.Limits.ReconcileTries = 2
		h := open(t, newLog(t), &fakeModel{replies: []any{appends("cash", 7), says("done")}}, Events{})
		r, err := h.Run(t.Context(), sub)
		var stopped *StoppedError
		require.ErrorAs(t, err, &stopped)
		assert.Equal(t, int64(1), stopped.Step)
		assert.Equal(t, "awaiting_outcome", r.Phase)
		_, err = h.Resume(t.Context(), r.Task)
		require.ErrorAs(t, err, &stopped, "nothing has changed")

		for _, other := range []Outcome{{Step: 2}, {Attempt: 2}} { // what is said of an attempt decides no other
			_, err = h.DecideOutcome(t.Context(), r.Task, other)
			require.ErrorIs(t, err, ErrNotAwaited)
		}
		_, err = h.DecideOutcome(t.Context(), r.Task, Outcome{Found: found, Result: "entry e1: 7 to cash", Evidence: json.RawMessage(`{"ticket":4}`)})
		require.NoError(t, err)
		_, err = h.DecideOutcome(t.Context(), r.Task, Outcome{Found: found})
		require.ErrorIs(t, err, ErrNotAwaited, "it is decided once")
		r, err = h.Resume(t.Context(), r.Task)
		require.NoError(t, err)
		assert.Equal(t, "succeeded", r.Phase)
		requireOnce(t, s, 1)
		counted := requireStats(t, h)
		assert.Zero(t, counted.Recovery.Lost, "it had halted")
		assert.EqualValues(t, 1, counted.Effects.Unknown)
		assert.EqualValues(t, 1, counted.Effects.ByPerson)
		assert.Equal(t, found, counted.Effects.Found == 1)
	}
}

// TestWriteDenied: without the grant nothing is sent, the tool fails for want of permission, and whoever watches is told
// what would allow it.
func TestWriteDenied(t *testing.T) {
	s := newLedger(t, ledgertest.Options{})
	sub := ledgerTask(t, s)
	host := sub.Grants[0].Limit
	sub.Grants = nil
	var lines []string
	h := open(t, newLog(t), &fakeModel{replies: []any{appends("cash", 7), says("no")}}, Events{PluginLog: logInto(&lines)})
	r, err := h.Run(t.Context(), sub)
	require.NoError(t, err)
	requireOnce(t, s, 0)
	events := history(t, h, r.Task)
	assert.Equal(t, 1, count(events, event.TypeToolFailed))
	assert.Zero(t, count(events, event.TypeToolUnknown))
	assert.Len(t, lines, 1)
	assert.Contains(t, lines[0], "--allow http="+host)
}

// TestWriteInterruptedAnywhere: the worker stops after each event in turn, and another one goes on: the entries are made
// once each.
func TestWriteInterruptedAnywhere(t *testing.T) {
	replies := []any{appends("cash", 1, 2), appends("bank", 3), says("done")}
	for n := 1; ; n++ {
		s := newLedger(t, ledgertest.Options{Raw: true})
		log := newLog(t)
		id, whole := interruptedAt(t, log, ledgerTask(t, s), n, replies)
		if !whole {
			m := &fakeModel{replies: replies}
			h := open(t, log, m, Events{})
			r, err := h.Resume(t.Context(), id)
			require.NoError(t, err, "after event %d", n)
			assert.Equal(t, "succeeded", r.Phase)
			requirePairs(t, m.asked)
			counted := requireStats(t, h)
			assert.EqualValues(t, count(history(t, h, id), event.TypeClaimed)-1, counted.Recovery.Lost, "after event %d", n)
			assert.Equal(t, counted.Recovery.Lost, counted.Recovery.Recovered)
			assert.GreaterOrEqual(t, counted.Effects.Writes, int64(3))
		}
		requireOnce(t, s, 3)
		if whole {
			require.Greater(t, n, 30)
			return
		}
	}
}

// interruptedAt runs a task until its n-th event, and tells its id and whether it was over before.
func interruptedAt(t testing.TB, log store.Log, sub Submission, n int, replies []any) (id string, whole bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen atomic.Int64
	h := open(t, log, &fakeModel{replies: replies}, Events{Committed: func(*Event) {
		if seen.Add(1) == int64(n) {
			cancel()
		}
	}})
	r, err := h.Run(ctx, sub)
	if err == nil {
		return r.Task, true
	}
	require.ErrorIs(t, err, ErrInterrupted)
	require.NotNil(t, r)
	return r.Task, false
}

func logInto(lines *[]string) func(string, abi.LogLevel, string) {
	return func(_ string, _ abi.LogLevel, text string) { *lines = append(*lines, text) }
}
