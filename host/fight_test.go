package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/control"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
)

const (
	fighters = 4
	fightFor = 14 // things that each does
)

// TestWorkersFight: workers with hosts of their own run, resume, interrupt, cancel and decide the same tasks at once, and
// take them from each other; the service that they write to loses requests and replies. Every answer of the log is one
// that a register with a fence could give at that time, nothing acknowledged is missing, and each entry was made once.
func TestWorkersFight(t *testing.T) {
	for name, logs := range map[string]func(t *testing.T) (logs []store.Log, half func()){
		"memory":  func(t *testing.T) ([]store.Log, func()) { return []store.Log{newLog(t)}, func() {} },
		"disk":    func(t *testing.T) ([]store.Log, func()) { return []store.Log{onDisk(t)}, func() {} },
		"control": controlled,
	} {
		t.Run(name, func(t *testing.T) {
			logs, half := logs(t)
			newFight(t, logs, ledgertest.Options{Seed: 7}, nil).fight(half)
		})
	}
	t.Run("one at a time, and a service without keys", func(t *testing.T) {
		newFight(t, []store.Log{newLog(t)}, ledgertest.Options{Seed: 7, Raw: true}, newRunners()).fight(func() {})
	})
}

// controlled gives each worker a log as a process of its own has it. Another process has the store, and ends at half.
func controlled(t *testing.T) (logs []store.Log, half func()) {
	dir := filepath.Join(t.TempDir(), "log")
	share := func() *control.Log {
		log, err := control.Open(t.Context(), control.Options{Dir: dir, Version: "test", Open: func() (store.Log, error) {
			return pebblestore.Open(dir, pebblestore.Options{})
		}})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, log.Close()) })
		return log
	}
	holder := share()
	for range fighters {
		logs = append(logs, share())
	}
	return logs, func() { assert.NoError(t, holder.Close()) }
}

// fight is what the workers share.
type fight struct {
	t       *testing.T
	logs    []store.Log // of the workers, in turn
	history *historian
	runners Runners
	service *ledgertest.Server
	sub     Submission

	mu   sync.Mutex
	done map[string]int // how often each thing was done, to its end
}

func newFight(t *testing.T, logs []store.Log, o ledgertest.Options, runners Runners) *fight {
	o.Faults = []ledgertest.Fault{
		{Trouble: ledgertest.LoseReply, Method: "POST", Probability: 0.2},
		{Trouble: ledgertest.LoseRequest, Method: "POST", Probability: 0.2},
		{Trouble: ledgertest.Inconclusive, Method: "GET", Probability: 0.5},
	}
	f := &fight{t: t, logs: logs, history: newHistorian(), runners: runners, service: newLedger(t, o), done: map[string]int{}}
	f.sub = ledgerTask(t, f.service)
	f.sub.Config.Limits.ReconcileTries, f.sub.Config.Limits.ToolRetries = 2, 20 // who gives up has made less entries
	// Who is interrupted keeps what its write needs to itself, and comes back only when somebody is free to.
	f.sub.Config.Limits.LeaseTime, f.sub.Config.Limits.ToolTimeout = 1000, 1000
	return f
}

// fight has the workers at it, each with chance of its own, and judges what became of it. half is called by one of them,
// halfway.
func (f *fight) fight(half func()) {
	var all sync.WaitGroup
	for n := range fighters {
		chance, w := rand.New(rand.NewPCG(7, uint64(n))), f.enlist(n)
		all.Go(func() {
			for did := range fightFor {
				if n == 0 && did == fightFor/2 {
					half()
				}
				f.something(w, chance)
			}
		})
	}
	all.Wait()
	f.settle()
	appends := f.history.requireSound(f.t, f.logs[0])
	f.t.Logf("%d tasks, %d appends, %d entries; %v", len(f.history.tasks), appends, len(ledgertest.Of(ledgertest.Post, f.service.Effects())), f.done)
}

// fighter is one worker: a host of its own, whose user interrupts it after so many events.
type fighter struct {
	*Host
	left   atomic.Int64
	cancel atomic.Pointer[context.CancelFunc]
}

// enlist opens the n-th worker's host, which keeps its plugin loaded.
func (f *fight) enlist(n int) *fighter {
	w := &fighter{}
	var err error
	w.Host, err = Open(Options{
		Log: f.history.of(n, f.logs[n%len(f.logs)]), Runners: f.runners, CacheDir: cacheDir(),
		Model: &fakeModel{replies: []any{appends("cash", 1, 2), appends("bank", 3), says("done")}},
		Events: Events{Committed: func(*Event) {
			if w.left.Add(-1) == 0 {
				(*w.cancel.Load())()
			}
		}},
	})
	require.NoError(f.t, err)
	l, err := w.load(f.t.Context(), given(nil, f.sub.Tools), nil, &f.sub.Config)
	require.NoError(f.t, err)
	f.t.Cleanup(l.close)
	return w
}

// something does one thing to one of the latest tasks.
func (f *fight) something(w *fighter, chance *rand.Rand) {
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	w.cancel.Store(&cancel)
	w.left.Store(int64(chance.IntN(60)))
	h := w.Host
	tasks, err := h.List(ctx, Query{})
	if !assert.NoError(f.t, err) {
		return
	}
	what := "run"
	if len(tasks) > 0 && chance.IntN(6) > 0 {
		what = []string{"resume", "resume", "resume", "decide", "decide", "cancel"}[chance.IntN(6)]
		id := tasks[len(tasks)-1-chance.IntN(min(len(tasks), 3))].ID // few, so that they meet
		switch what {
		case "resume":
			_, err = h.Resume(ctx, id)
		case "decide":
			for _, task := range tasks {
				if task.Phase == "awaiting_outcome" { // rather one that waits
					id = task.ID
				}
			}
			err = f.decide(ctx, h, id)
		case "cancel":
			_, err = h.Cancel(ctx, id, "x")
		}
	} else {
		_, err = h.Run(ctx, f.sub)
	}
	f.note(what, err)
}

// decide is a person who looks at the service for every step that waits for one.
func (f *fight) decide(ctx context.Context, h *Host, id string) error {
	state, err := h.fold(ctx, id)
	if err != nil {
		return err
	}
	for _, step := range state.Awaited() {
		o := Outcome{Step: step, Found: f.entries(f.operations(h, id)[step]) > 0, Result: "by the service's own book"}
		if _, err := h.DecideOutcome(ctx, id, o); err != nil {
			return err
		}
		f.note("decided", nil)
	}
	return nil
}

// operations are the operation ids of a task's steps.
func (f *fight) operations(h *Host, id string) map[int64]string {
	out := map[int64]string{}
	for _, e := range history(f.t, h, id) {
		if p, ok := e.Payload.(*event.ToolRequested); ok {
			out[e.Step] = p.OperationID
		}
	}
	return out
}

// entries counts what an operation did to the service.
func (f *fight) entries(operation string) (n int) {
	for _, e := range ledgertest.Of(ledgertest.Post, f.service.Effects()) {
		if e.Key == operation {
			n++
		}
	}
	return n
}

// note counts what was done, and refuses an error that nothing explains.
func (f *fight) note(what string, err error) {
	for _, known := range []error{ErrInterrupted, ErrTakenOver, ErrEnded, ErrNotAwaited, errBusy, context.Canceled} {
		if errors.Is(err, known) {
			what, err = what+": "+known.Error(), nil
		}
	}
	if stopped := new(StoppedError); errors.As(err, &stopped) {
		what, err = what+": stopped", nil
	}
	assert.NoError(f.t, err, what)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done[what]++
}

// settle brings every task to its end, now that the service works, and holds what each log says against the service.
func (f *fight) settle() {
	t := f.t
	require.NoError(t, f.service.SetFaults())
	h := f.enlist(0).Host
	tasks, err := h.List(t.Context(), Query{})
	require.NoError(t, err)
	for _, task := range tasks {
		for r := (&Result{}); r == nil || !(&Summary{Phase: r.Phase}).Ended(); {
			require.NoError(t, f.decide(t.Context(), h, task.ID))
			if r, err = h.Resume(t.Context(), task.ID); err != nil {
				require.ErrorAs(t, err, new(*StoppedError))
			}
		}
		f.settled(h, task.ID)
	}
	require.Empty(t, ledgertest.Duplicates(f.service.Effects()))
}

// settled: what a log says was done was done once, and a task that succeeded did all, but for what came so late that its
// lease had run out and the service refused it.
func (f *fight) settled(h *Host, id string) {
	t, operations, entries := f.t, f.operations(h, id), 0
	events := history(t, h, id)
	requireIntent(t, events)
	for _, e := range events {
		switch e.Payload.Type() {
		case event.TypeToolSucceeded, event.TypeOperationFound:
			entries++
			require.Equal(t, 1, f.entries(operations[e.Step]), "task %s, step %d", id, e.Step)
		case event.TypeToolFailed:
			if p := e.Payload.(*event.ToolFailed); p.Class == string(abi.ClassConflict) {
				require.Contains(t, p.Reason, "later lease")
				require.Zero(t, f.entries(operations[e.Step]))
				entries++
			}
		case event.TypeTaskSucceeded:
			require.Equal(t, 3, entries, "task %s", id)
			require.EqualValues(t, len(events), e.Seq, "task %s: something follows its end", id)
		}
	}
}
