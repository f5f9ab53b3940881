package host

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// booked leaves a task in log that made three entries, and succeeded. The ledger has s.
func booked(t testing.TB, log store.Log, s *ledgertest.Server, change ...func(*Submission)) string {
	sub := ledgerTask(t, s)
	for _, c := range change {
		c(&sub)
	}
	r, err := open(t, log, &fakeModel{replies: []any{appends("cash", 1, 2), appends("bank", 3), says("booked")}}, Events{}).Run(t.Context(), sub)
	require.NoError(t, err)
	require.Equal(t, "succeeded", r.Phase)
	return r.Task
}

// voids gives the entries that were made void, in the order in which they were.
func voids(s *ledgertest.Server) []string {
	var ids []string
	for _, e := range s.Effects() {
		if e.Kind == ledgertest.Void {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// requireUndone holds the log of a task that undoes against the ledger: what is undone is void, once, under the one id of
// its compensation; what is not is not; and the intent of each request was in the log before it was sent.
func requireUndone(t testing.TB, events []*Event, s *ledgertest.Server) {
	t.Helper()
	requireIntent(t, events)
	times := map[string]int{}
	for _, e := range s.Effects() {
		if e.Kind == ledgertest.Void {
			times[e.Key]++
		}
	}
	created := events[0].Payload.(*event.TaskCreated)
	last := map[int64]event.Payload{}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *event.CompensationStarted:
			require.Equal(t, core.CompensationID(created.Compensates.Task, p.Of), p.OperationID)
			last[e.Step] = p
		case *event.CompensationSucceeded, *event.CompensationFailed:
			last[e.Step] = p
		}
	}
	for i, op := range created.Compensates.Operations {
		id := core.CompensationID(created.Compensates.Task, op.OperationID)
		switch p := last[int64(i)+1].(type) {
		case *event.CompensationSucceeded:
			assert.Equal(t, 1, times[id], "step %d is told of as undone", op.Step)
		case *event.CompensationFailed:
			assert.True(t, p.Unknown || times[id] == 0, "step %d is told of as not undone", op.Step)
		case nil:
			assert.Zero(t, times[id], "step %d was undone, and the log does not know", op.Step)
		}
		delete(times, id)
	}
	assert.Empty(t, times, "something else was undone")
}

// TestCompensate: what a task did is undone by another one, what began last first, with what was pinned; the first one
// stays as it is, and may be gone by then.
func TestCompensate(t *testing.T) {
	s := newLedger(t, ledgertest.Options{Raw: true})
	log := newLog(t)
	task := booked(t, log, s)
	h := shared(t, log, newRunners(), nil)
	before := history(t, h, task)
	plan, err := h.Compensation(t.Context(), task, nil)
	require.NoError(t, err)
	require.Empty(t, voids(s), "it was only asked for")
	var planned *Compensation
	r, err := h.Compensate(t.Context(), task, CompensateOptions{Reason: "a mistake", Planned: func(c *Compensation) {
		planned = c
		require.Empty(t, voids(s))
	}})
	require.NoError(t, err)
	assert.Equal(t, plan, planned)
	assert.Equal(t, "succeeded", r.Phase)
	assert.Equal(t, "none", r.Verified)
	assert.Equal(t, "step 3 (append) is undone: entry e3: 3 to bank (void)\nstep 2 (append) is undone: entry e2: 2 to cash (void)\n"+
		"step 1 (append) is undone: entry e1: 1 to cash (void)", r.Answer)
	assert.Equal(t, []string{"e3", "e2", "e1"}, voids(s))
	events := history(t, h, r.Task)
	requireUndone(t, events, s)
	for i, call := range planned.Calls {
		assert.Equal(t, `appends `+string("321"[i])+` to account `, call.Impact[:len("appends 1 to account ")])
		assert.Equal(t, s.Effects()[3+i].Key, call.CompensationID)
	}
	assert.Empty(t, planned.Kept)

	created := events[0].Payload.(*event.TaskCreated)
	first := before[0].Payload.(*event.TaskCreated)
	assert.Equal(t, "undo task "+task+": step 3 (append), step 2 (append), step 1 (append)", created.Goal)
	assert.Equal(t, first.Tools, created.Tools)
	assert.Equal(t, first.Grants, created.Grants)
	assert.Empty(t, created.Model)
	assert.Equal(t, "a mistake", created.Compensates.Reason)
	assert.Equal(t, before, history(t, h, task), "a task that has ended accepts nothing")
	of, err := h.Undoes(t.Context(), r.Task)
	require.NoError(t, err)
	assert.Equal(t, task, of)
	of, err = h.Undoes(t.Context(), task)
	require.NoError(t, err)
	assert.Empty(t, of)

	require.NoError(t, h.Delete(t.Context(), task, false))
	again, err := h.Resume(t.Context(), r.Task)
	require.NoError(t, err)
	assert.Equal(t, r, again)
	report, err := h.Check(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, report.Damage)
	requireStats(t, h)
}

// TestCompensateSome: of the steps that are named, and no other. To undo twice is to undo once.
func TestCompensateSome(t *testing.T) {
	s := newLedger(t, ledgertest.Options{})
	log := newLog(t)
	task := booked(t, log, s)
	h := open(t, log, nil, Events{})
	for range 2 {
		r, err := h.Compensate(t.Context(), task, CompensateOptions{Steps: []int64{1, 3, 1}})
		require.NoError(t, err)
		require.Equal(t, "succeeded", r.Phase)
		requireUndone(t, history(t, h, r.Task), s)
	}
	r, err := h.Compensate(t.Context(), task, CompensateOptions{})
	require.NoError(t, err)
	require.Equal(t, "succeeded", r.Phase)
	assert.Equal(t, []string{"e3", "e1", "e2"}, voids(s))
}

// TestCompensateWhatCan: what a tool cannot undo stays, and is named; the plugins of such tools are not needed.
func TestCompensateWhatCan(t *testing.T) {
	s := newLedger(t, ledgertest.Options{Raw: true})
	sub := ledgerTask(t, s)
	sub.Tools = append(sub.Tools, guest(t, "witness"))
	h := open(t, newLog(t), &fakeModel{replies: []any{together(notes("a"), appends("cash", 1)), says("done")}}, Events{})
	task, err := h.Run(t.Context(), sub)
	require.NoError(t, err)
	var planned *Compensation
	r, err := h.Compensate(t.Context(), task.Task, CompensateOptions{Planned: func(c *Compensation) { planned = c }})
	require.NoError(t, err)
	require.Equal(t, "succeeded", r.Phase)
	assert.Equal(t, []string{"e1"}, voids(s))
	assert.Equal(t, []KeptCall{{1, "note", "tool note has no compensate"}}, planned.Kept)
	created := history(t, h, r.Task)[0].Payload.(*event.TaskCreated)
	require.Len(t, created.Tools, 1)
	assert.Equal(t, "ledger", created.Tools[0].Name)

	h = open(t, newLog(t), &fakeModel{replies: []any{notes("b"), says("done")}}, Events{})
	task, err = h.Run(t.Context(), withWitness(t))
	require.NoError(t, err)
	_, err = h.Compensate(t.Context(), task.Task, CompensateOptions{})
	require.EqualError(t, err, "task "+task.Task+": there is nothing that can be undone: step 1 (note): tool note has no compensate")
	require.ErrorAs(t, err, new(*UndoError))
}

// TestCompensateRefused: why nothing is undone is told before a task begins.
func TestCompensateRefused(t *testing.T) {
	s := newLedger(t, ledgertest.Options{})
	log := newLog(t)
	task := booked(t, log, s)
	h := shared(t, log, nil, &fakeModel{replies: []any{lists(), says("none")}})
	looked, err := h.Run(t.Context(), ledgerTask(t, s))
	require.NoError(t, err)
	undone, err := h.Compensate(t.Context(), task, CompensateOptions{Steps: []int64{2}})
	require.NoError(t, err)
	tasks, err := h.List(t.Context(), Query{})
	require.NoError(t, err)
	for want, refused := range map[string]struct {
		task  string
		steps []int64
	}{
		"there is nothing to undo: it is not known to have changed anything":                                       {looked.Task, nil},
		"step 1 (entries): tool entries changes nothing (read)":                                                    {looked.Task, []int64{1}},
		"step 4: the task has no such step":                                                                        {task, []int64{1, 4}},
		"it undoes what task " + task + " did, and cannot be undone itself; to undo that again, name task " + task: {undone.Task, nil},
		`task "01nosuchtask": there is no such task`:                                                               {"01nosuchtask", nil},
	} {
		_, err := h.Compensate(t.Context(), refused.task, CompensateOptions{Steps: refused.steps})
		require.ErrorContains(t, err, want)
		_, err = h.Compensation(t.Context(), refused.task, refused.steps)
		require.ErrorContains(t, err, want)
	}
	_, err = h.Compensate(t.Context(), halted(t, log), CompensateOptions{})
	require.ErrorIs(t, err, ErrUnfinished)
	after, err := h.List(t.Context(), Query{})
	require.NoError(t, err)
	require.Len(t, after, len(tasks)+1, "only the one that halted is new")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.Compensate(ctx, task, CompensateOptions{})
	require.ErrorIs(t, err, ErrInterrupted)
}

// TestCompensateTroubles: whatever becomes of the request to undo and its reply, the entry is void once where the service
// knows the id, and the log says what is known.
func TestCompensateTroubles(t *testing.T) {
	for name, tt := range map[string]struct {
		faults  []ledgertest.Fault
		phase   string
		voids   int
		starts  int
		unknown bool // the last that is told of step 2
	}{
		"the reply is lost":       {[]ledgertest.Fault{{Trouble: "lose_reply", Method: "DELETE"}}, "succeeded", 3, 4, false},
		"the request is lost":     {[]ledgertest.Fault{{Trouble: "lose_request", Method: "DELETE"}}, "succeeded", 3, 4, false},
		"5xx after the effect":    {[]ledgertest.Fault{{Trouble: "fail_after", Method: "DELETE", Status: 502}}, "succeeded", 3, 4, false},
		"5xx before the effect":   {[]ledgertest.Fault{{Trouble: "fail_before", Method: "DELETE"}}, "succeeded", 3, 4, false},
		"429":                     {[]ledgertest.Fault{{Trouble: "rate_limit", Method: "DELETE", RetryAfter: 1}}, "succeeded", 3, 4, false},
		"refused":                 {[]ledgertest.Fault{{Trouble: "fail_before", Method: "DELETE", Status: 403, Nth: 2}}, "partial", 2, 3, false},
		"never an answer":         {[]ledgertest.Fault{{Trouble: "lose_reply", Method: "DELETE", Nth: 2, Count: 3}}, "partial", 3, 5, true},
		"an answer, then refused": {[]ledgertest.Fault{{Trouble: "lose_reply", Method: "DELETE", Nth: 2}, {Trouble: "fail_before", Method: "DELETE", Nth: 3, Status: 404}}, "partial", 3, 4, true},
		"nothing is undone":       {[]ledgertest.Fault{{Trouble: "fail_before", Method: "DELETE", Status: 403, Count: 3}}, "failed", 0, 3, false},
	} {
		if raced && !*crashAll && tt.phase == "succeeded" && name != "the reply is lost" {
			continue // guests are slow there
		}
		t.Run(name, func(t *testing.T) {
			s := newLedger(t, ledgertest.Options{})
			log := newLog(t)
			task := booked(t, log, s, func(sub *Submission) { sub.Config.Limits.ToolRetries = 2 })
			require.NoError(t, s.SetFaults(tt.faults...))
			h := open(t, log, nil, Events{})
			r, err := h.Compensate(t.Context(), task, CompensateOptions{})
			require.NoError(t, err)
			assert.Equal(t, tt.phase, r.Phase)
			events := history(t, h, r.Task)
			requireUndone(t, events, s)
			assert.Len(t, voids(s), tt.voids)
			assert.Equal(t, tt.starts, count(events, event.TypeCompensationStarted))
			var last event.Payload
			for _, e := range events {
				if p, ok := e.Payload.(*event.CompensationFailed); ok && e.Step == 2 {
					last = p
				}
			}
			if failed, ok := last.(*event.CompensationFailed); ok && tt.phase != "succeeded" {
				assert.Equal(t, tt.unknown, failed.Unknown)
			}
			requireStats(t, h)
		})
	}
}

// TestCompensateOfAServiceWithoutIDs: there each attempt is an effect, though all have one id. This is what a tool that
// declares compensate must not be used with.
func TestCompensateOfAServiceWithoutIDs(t *testing.T) {
	s := newLedger(t, ledgertest.Options{Raw: true})
	log := newLog(t)
	task := booked(t, log, s)
	require.NoError(t, s.SetFaults(ledgertest.Fault{Trouble: "lose_reply", Method: "DELETE"}))
	r, err := open(t, log, nil, Events{}).Compensate(t.Context(), task, CompensateOptions{Steps: []int64{3}})
	require.NoError(t, err)
	require.Equal(t, "succeeded", r.Phase)
	assert.Equal(t, []string{"e3", "e3"}, voids(s))
	assert.Equal(t, 1, s.Duplicates(), "under one id")
}

// TestCompensateDenied: what the first task was not granted is not granted to undo it either.
func TestCompensateDenied(t *testing.T) {
	s := newLedger(t, ledgertest.Options{})
	log := newLog(t)
	task := booked(t, log, s)
	var lines []string
	h := open(t, &ungranted{log}, nil, Events{PluginLog: logInto(&lines)})
	r, err := h.Compensate(t.Context(), task, CompensateOptions{Steps: []int64{1}})
	require.NoError(t, err)
	assert.Equal(t, "failed", r.Phase)
	assert.Contains(t, r.Reason, "nothing is known to be undone: step 1 (append) is not undone: ")
	assert.Len(t, lines, 1)
	assert.Empty(t, voids(s))
}

// ungranted is a log whose tasks were granted nothing.
type ungranted struct{ store.Log }

func (l *ungranted) Read(ctx context.Context, task string, after uint64, limit int) ([]store.Record, error) {
	records, err := l.Log.Read(ctx, task, after, limit)
	for i := range records {
		e, bad := event.Decode(task, records[i].Seq, records[i].Data)
		if bad != nil {
			return nil, bad
		}
		if p, ok := e.Payload.(*event.TaskCreated); ok {
			p.Grants = nil
			if records[i].Data, bad = event.Encode(e); bad != nil {
				return nil, bad
			}
		}
	}
	return records, err
}

// TestCompensateOfEndedTasks: also what a task did that ended without success is undone, whether it was found or done.
func TestCompensateOfEndedTasks(t *testing.T) {
	for name, tt := range map[string]struct {
		faults  []ledgertest.Fault
		replies []any
		phase   string
		undone  []string
	}{
		"partial, after a lost reply": {[]ledgertest.Fault{{Trouble: "lose_reply", Method: "POST"}},
			[]any{appends("cash", 1), appends("bank", 2), says(" ")}, "partial", []string{"e2", "e1"}},
		"with one that was refused": {[]ledgertest.Fault{{Trouble: "fail_before", Method: "POST", Status: 403}},
			[]any{appends("cash", 1), appends("bank", 2), says("one")}, "succeeded", []string{"e1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLedger(t, ledgertest.Options{Faults: tt.faults})
			log := newLog(t)
			h := open(t, log, &fakeModel{replies: tt.replies}, Events{})
			r, err := h.Run(t.Context(), ledgerTask(t, s))
			require.NoError(t, err)
			require.Equal(t, tt.phase, r.Phase)
			r, err = h.Compensate(t.Context(), r.Task, CompensateOptions{})
			require.NoError(t, err)
			require.Equal(t, "succeeded", r.Phase)
			requireUndone(t, history(t, h, r.Task), s)
			assert.Equal(t, tt.undone, voids(s))
		})
	}
}

// TestCompensateOfACancelledTask: the entry of a write that was cut off is found when the task is cancelled, and undone
// after that.
func TestCompensateOfACancelledTask(t *testing.T) {
	log := &dyingLog{Log: newLog(t)}
	s := newLedger(t, ledgertest.Options{Raw: true, Faults: []ledgertest.Fault{{Trouble: "lose_reply", Method: "POST"}},
		OnEffect: func(e ledgertest.Effect) { log.dead.Store(e.Kind == ledgertest.Post) }})
	h, _, task := lostWorker(t, s, log, appends("cash", 1))
	_, err := h.Compensate(t.Context(), task, CompensateOptions{})
	require.ErrorIs(t, err, ErrUnfinished)
	r, err := h.Cancel(t.Context(), task, "no longer needed")
	require.NoError(t, err)
	require.Equal(t, "cancelled", r.Phase)
	r, err = h.Compensate(t.Context(), task, CompensateOptions{})
	require.NoError(t, err)
	require.Equal(t, "succeeded", r.Phase)
	requireUndone(t, history(t, h, r.Task), s)
	assert.Equal(t, []string{"e1"}, voids(s))
}

// TestCompensateOfWhatAPersonFound: of an entry that a person found there is no evidence of the tool's. It finds the entry
// by the operation.
func TestCompensateOfWhatAPersonFound(t *testing.T) {
	s := newLedger(t, ledgertest.Options{Faults: []ledgertest.Fault{
		{Trouble: ledgertest.LoseReply, Method: "POST"}, {Trouble: ledgertest.Inconclusive, Method: "GET", Count: 2},
	}})
	sub := ledgerTask(t, s)
	sub.Config.Limits.ReconcileTries = 2
	h := open(t, newLog(t), &fakeModel{replies: []any{appends("cash", 7), says("booked")}}, Events{})
	r, err := h.Run(t.Context(), sub)
	require.ErrorAs(t, err, new(*StoppedError))
	_, err = h.DecideOutcome(t.Context(), r.Task, Outcome{Found: true, Result: "by the bank statement"})
	require.NoError(t, err)
	r, err = h.Resume(t.Context(), r.Task)
	require.NoError(t, err)
	r, err = h.Compensate(t.Context(), r.Task, CompensateOptions{})
	require.NoError(t, err)
	require.Equal(t, "succeeded", r.Phase)
	requireUndone(t, history(t, h, r.Task), s)
	assert.Equal(t, []string{"e1"}, voids(s))
}

// theUndoing gives the one task in a log that undoes another; empty where there is none.
func theUndoing(t testing.TB, h *Host) string {
	tasks, err := h.List(t.Context(), Query{})
	require.NoError(t, err)
	undoing := ""
	for i := range tasks {
		of, err := h.Undoes(t.Context(), tasks[i].ID)
		require.NoError(t, err)
		if of != "" {
			require.Empty(t, undoing)
			undoing = tasks[i].ID
		}
	}
	return undoing
}

// TestCompensateWhoseWorkerDies at each boundary of a request that undoes: whoever goes on tries again under the same id,
// and each entry is void once.
func TestCompensateWhoseWorkerDies(t *testing.T) {
	for i, b := range []boundary{
		{name: "its intent is not stored", fatal: operation(true, event.OperationBegun)},
		{name: "its intent is stored, nothing is sent", fatal: operation(true, event.OperationBegun), after: true},
		{name: "before the effect", trouble: ledgertest.LoseRequest},
		{name: "after the effect, before the reply", trouble: ledgertest.LoseReply},
		{name: "after the reply, before it is stored", fatal: operation(true, event.OperationDone)},
		{name: "stored, and the tool is not told", fatal: operation(true, event.OperationDone), after: true},
		{name: "before CompensationSucceeded is stored", fatal: ofType(event.TypeCompensationSucceeded)},
		{name: "after CompensationSucceeded is stored", fatal: ofType(event.TypeCompensationSucceeded), after: true},
		{name: "before the end is stored", fatal: ofType(event.TypeTaskSucceeded)},
	} {
		if raced && !*crashAll && i%3 != 0 {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			log := &dyingLog{Log: newLog(t), fatal: b.fatal, after: b.after}
			s := newLedger(t, ledgertest.Options{
				OnRequest: func(method, _ string) { log.dyingAt(method == "DELETE" && b.trouble == ledgertest.LoseRequest) },
				OnEffect:  func(e ledgertest.Effect) { log.dyingAt(e.Kind == ledgertest.Void && b.trouble == ledgertest.LoseReply) },
			})
			task := booked(t, log.Log, s)
			if b.trouble != "" {
				require.NoError(t, s.SetFaults(ledgertest.Fault{Trouble: b.trouble, Method: "DELETE"}))
			}
			_, err := open(t, log, nil, Events{}).Compensate(t.Context(), task, CompensateOptions{})
			require.ErrorIs(t, err, errCrash)
			h := open(t, log.Log, nil, Events{})
			undoing := theUndoing(t, h)
			requireUndone(t, history(t, h, undoing), s)
			r, err := h.Resume(t.Context(), undoing)
			require.NoError(t, err)
			require.Equal(t, "succeeded", r.Phase)
			events := history(t, h, undoing)
			requireUndone(t, events, s)
			assert.Equal(t, []string{"e3", "e2", "e1"}, voids(s))
			assert.EqualValues(t, 1, requireStats(t, h).Recovery.Recovered)
		})
	}
}

// dyingAt lets the worker die where that is so.
func (l *dyingLog) dyingAt(here bool) {
	if here {
		l.dead.Store(true)
	}
}

// TestCompensateInterruptedAnywhere: the worker stops after each event in turn, and another one goes on: each entry is void
// once.
func TestCompensateInterruptedAnywhere(t *testing.T) {
	stride := 1
	if raced {
		stride = 5
	}
	for n := 1; ; n += stride {
		s := newLedger(t, ledgertest.Options{})
		log := newLog(t)
		task := booked(t, log, s)
		ctx, cancel := context.WithCancel(t.Context())
		var seen atomic.Int64
		h := open(t, log, nil, Events{Committed: func(*Event) {
			if seen.Add(1) == int64(n) {
				cancel()
			}
		}})
		r, err := h.Compensate(ctx, task, CompensateOptions{})
		whole := err == nil
		if !whole {
			require.ErrorIs(t, err, ErrInterrupted)
			h = open(t, log, nil, Events{})
			r, err = h.Resume(t.Context(), r.Task)
			require.NoError(t, err, "after event %d", n)
		}
		cancel()
		require.Equal(t, "succeeded", r.Phase)
		requireUndone(t, history(t, h, r.Task), s)
		require.Equal(t, []string{"e3", "e2", "e1"}, voids(s), "after event %d", n)
		if whole {
			require.Greater(t, n, 12)
			return
		}
	}
}

// TestCompensateCancelled: the request that undoes is cut off when it has had its effect. The end says that nobody knows
// of that one, nothing else begins, and to undo the task again is harmless.
func TestCompensateCancelled(t *testing.T) {
	log, runners := newLog(t), newRunners()
	ended := make(chan error, 1)
	var once atomic.Bool
	s := newLedger(t, ledgertest.Options{OnEffect: func(e ledgertest.Effect) {
		if e.Kind == ledgertest.Void && once.CompareAndSwap(false, true) {
			requestCancel(log, runners, ended)
		}
	}})
	task := booked(t, log, s)
	require.NoError(t, s.SetFaults(ledgertest.Fault{Trouble: ledgertest.DelayAfter, Method: "DELETE", Delay: 60_000}))
	h := shared(t, log, runners, nil)
	r, err := h.Compensate(t.Context(), task, CompensateOptions{})
	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.Equal(t, "cancelled", r.Phase)
	events := history(t, h, r.Task)
	requireUndone(t, events, s)
	end := events[len(events)-1].Payload.(*event.TaskCancelled)
	require.Len(t, end.InFlight, 1)
	assert.Equal(t, event.EndUnknown, end.InFlight[0].End)
	assert.Equal(t, 1, count(events, event.TypeCompensationStarted))
	r, err = h.Compensate(t.Context(), task, CompensateOptions{})
	require.NoError(t, err)
	require.Equal(t, "succeeded", r.Phase)
	assert.Equal(t, []string{"e3", "e2", "e1"}, voids(s))
}

// TestCompensateCancelledAfterItsWorkerDied: whoever cancels ends it at once: what may have happened is told, and not
// looked for.
func TestCompensateCancelledAfterItsWorkerDied(t *testing.T) {
	log := &dyingLog{Log: newLog(t), fatal: operation(true, event.OperationDone)}
	s := newLedger(t, ledgertest.Options{})
	task := booked(t, log.Log, s)
	_, err := open(t, log, nil, Events{}).Compensate(t.Context(), task, CompensateOptions{})
	require.ErrorIs(t, err, errCrash)
	h := shared(t, log.Log, newRunners(), nil)
	undoing := theUndoing(t, h)
	r, err := h.Cancel(t.Context(), undoing, "no longer needed")
	require.NoError(t, err)
	require.Equal(t, "cancelled", r.Phase)
	events := history(t, h, undoing)
	requireUndone(t, events, s)
	assert.Equal(t, event.EndUnknown, events[len(events)-1].Payload.(*event.TaskCancelled).InFlight[0].End)
	_, err = h.DecideOutcome(t.Context(), undoing, Outcome{Step: 1})
	require.ErrorIs(t, err, ErrNotAwaited)
}

// TestUndoConfig: what was configured as the recipe's is the plugin's own, where it has tools as well.
func TestUndoConfig(t *testing.T) {
	both, recipe, tools := event.Plugin{Name: "both", Digest: "b"}, event.Plugin{Name: "r", Digest: "r"}, event.Plugin{Name: "t", Digest: "t"}
	own := map[string]any{"k": "v"}
	config := Config{Recipe: own, Tools: map[string]map[string]any{"t": {}}}
	got := undoConfig(&event.TaskCreated{Recipe: &both, Tools: []event.Plugin{both, tools}}, &config)
	assert.Equal(t, map[string]map[string]any{"t": {}, "both": own}, got.Tools)
	assert.Nil(t, got.Recipe)
	got = undoConfig(&event.TaskCreated{Recipe: &recipe, Tools: []event.Plugin{tools}}, &config)
	assert.Equal(t, config.Tools, got.Tools)
	assert.Nil(t, got.Recipe)
	got = undoConfig(&event.TaskCreated{Recipe: &both, Tools: []event.Plugin{both}}, &Config{Recipe: own})
	assert.Equal(t, map[string]map[string]any{"both": own}, got.Tools)
	assert.Equal(t, own, config.Recipe, "the first task's stays")
}

// TestUndoneWords: many are told of by the first.
func TestUndoneWords(t *testing.T) {
	var operations []event.CompensatedOperation
	for i := range int64(10) {
		operations = append(operations, event.CompensatedOperation{Step: 10 - i, Tool: "a"})
	}
	assert.Equal(t, "undo task t: step 10 (a), step 9 (a), step 8 (a), step 7 (a), step 6 (a), step 5 (a), step 4 (a), step 3 (a), and 2 more", undoGoal("t", operations))
	err := &UndoError{"t", reasons([]core.Kept{{Step: 1, Tool: "a", Reason: "x"}, {Step: 2, Reason: "y"}})}
	assert.EqualError(t, err, "task t: step 1 (a): x; step 2: y")
}
