package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/require"
)

// crowd counts the writes that are under way at the ledger, by account, as the ledger itself sees it.
type crowd struct {
	mu   sync.Mutex
	open map[string]int // by key: none is there twice
	most int
}

// TestTasksTakeTurns: tasks that write to one account do so one after the other, whatever happens to their requests, and
// who waits is told for whom.
func TestTasksTakeTurns(t *testing.T) {
	c := &crowd{open: map[string]int{}}
	s := newLedger(t, ledgertest.Options{Raw: true, Seed: 4, OnRequest: c.arrives, OnEffect: c.happened, Faults: []ledgertest.Fault{
		{Trouble: ledgertest.DelayBefore, Method: "POST", Probability: 0.5, Delay: 5},
		{Trouble: ledgertest.LoseReply, Method: "POST", Probability: 0.3},
		{Trouble: ledgertest.FailAfter, Method: "POST", Probability: 0.3},
	}})
	log, runners := newLog(t), newRunners()
	var all sync.WaitGroup
	var mu sync.Mutex
	held := map[string]bool{}
	for i := range 6 {
		h, err := Open(Options{Log: log, Runners: runners, CacheDir: cacheDir(), Model: &fakeModel{replies: []any{
			appends("cash", 10*i+1, 10*i+2), appends("cash", 10*i+3), says("done"),
		}}, Events: Events{Held: func(h Holder) {
			mu.Lock()
			defer mu.Unlock()
			held[h.Resource+" "+fmt.Sprint(h.Task != "")] = true
		}}})
		require.NoError(t, err)
		sub := ledgerTask(t, s)
		all.Go(func() {
			r, err := h.Run(t.Context(), sub)
			if err != nil || r.Phase != "succeeded" {
				t.Errorf("%v %v", r, err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, c.most)
	require.Len(t, ledgertest.Of(ledgertest.Post, s.Effects()), 18)
	require.Empty(t, ledgertest.Duplicates(s.Effects()))
	require.Equal(t, map[string]bool{"account:cash true": true}, held)
}

func (c *crowd) arrives(method, key string) {
	if method != "POST" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[key]++
	c.most = max(c.most, len(c.open))
}

func (c *crowd) happened(e ledgertest.Effect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, e.Key)
}

// leasing leaves a task whose worker died in the middle of a write, so that it has the account. The host is another one.
func leasing(t *testing.T, s *ledgertest.Server, log *dyingLog, sub Submission) (h *Host, task string) {
	log.fatal = operation(true, event.OperationDone)
	replies := []any{appends("cash", 1), says("done")}
	_, err := open(t, log, &fakeModel{replies: replies}, Events{}).Run(t.Context(), sub)
	require.ErrorIs(t, err, errCrash)
	h = open(t, log.Log, &fakeModel{replies: replies}, Events{})
	return h, theHistory(t, h)[0].Task
}

// waiting runs a task that wants to write to the same account, and gives when it has to wait.
func waiting(t *testing.T, log store.Log, runners Runners, sub Submission) (held chan string, ended chan *Result) {
	held, ended = make(chan string, 9), make(chan *Result, 1)
	h, err := Open(Options{Log: log, Runners: runners, CacheDir: cacheDir(), Model: &fakeModel{replies: []any{appends("cash", 2), says("done")}},
		Events: Events{Held: func(h Holder) { held <- h.Task }}})
	require.NoError(t, err)
	go func() {
		r, err := h.Run(context.Background(), sub)
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	return held, ended
}

// TestLeaseOutlivesItsWorker: what a dead worker's write may have done is not written over; who wants to waits for whoever
// finds that out.
func TestLeaseOutlivesItsWorker(t *testing.T) {
	for name, settle := range map[string]func(h *Host, task string) error{
		"resumed":   func(h *Host, task string) error { _, err := h.Resume(t.Context(), task); return err },
		"cancelled": func(h *Host, task string) error { _, err := h.Cancel(t.Context(), task, "enough"); return err },
	} {
		log, s := &dyingLog{Log: newLog(t)}, newLedger(t, ledgertest.Options{Raw: true})
		h, first := leasing(t, s, log, ledgerTask(t, s))
		held, ended := waiting(t, log.Log, nil, ledgerTask(t, s))
		require.Equal(t, first, <-held, name)
		require.Empty(t, ended)
		require.NoError(t, settle(h, first), name)
		require.Equal(t, "succeeded", (<-ended).Phase)
		requireMade(t, s.Effects(), 1, 2)
		require.Less(t, s.Effects()[0].Lease, s.Effects()[1].Lease)
	}
}

// TestLeaseOfADeletedTask: nobody has what a task had that is not there any more.
func TestLeaseOfADeletedTask(t *testing.T) {
	log, s := &dyingLog{Log: newLog(t)}, newLedger(t, ledgertest.Options{Raw: true})
	h, first := leasing(t, s, log, ledgerTask(t, s))
	require.NoError(t, h.Delete(t.Context(), first, true))
	held, ended := waiting(t, log.Log, nil, ledgerTask(t, s))
	require.Equal(t, "succeeded", (<-ended).Phase)
	require.Empty(t, held)
}

// TestLeasesOfANewStore: the service remembers the fences of a store that is gone, and takes what the next one sends.
func TestLeasesOfANewStore(t *testing.T) {
	s := newLedger(t, ledgertest.Options{Raw: true})
	for i := range 2 {
		h := open(t, newLog(t), &fakeModel{replies: []any{appends("cash", 10*i+1), appends("cash", 10*i+2), says("done")}}, Events{})
		r, err := h.Run(t.Context(), ledgerTask(t, s))
		require.NoError(t, err)
		require.Equal(t, "succeeded", r.Phase)
	}
	requireMade(t, s.Effects(), 1, 2, 11, 12)
}

// TestUndoingTakesTurns: what undoes a write waits for whoever may be writing to the same resource.
func TestUndoingTakesTurns(t *testing.T) {
	log, s := newLog(t), newLedger(t, ledgertest.Options{Raw: true})
	r, err := open(t, log, &fakeModel{replies: []any{appends("cash", 9), says("done")}}, Events{}).Run(t.Context(), ledgerTask(t, s))
	require.NoError(t, err)
	dying := &dyingLog{Log: log, fatal: operation(true, event.OperationDone)}
	replies := []any{appends("cash", 1), says("done")}
	_, err = open(t, dying, &fakeModel{replies: replies}, Events{}).Run(t.Context(), ledgerTask(t, s))
	require.ErrorIs(t, err, errCrash)

	held, ended := make(chan string, 9), make(chan error, 1)
	undoer, err := Open(Options{Log: log, CacheDir: cacheDir(), Events: Events{Held: func(h Holder) { held <- h.Task }}})
	require.NoError(t, err)
	go func() {
		_, err := undoer.Compensate(context.Background(), r.Task, CompensateOptions{})
		ended <- err
	}()
	dead := <-held
	require.NotEqual(t, r.Task, dead)
	require.Zero(t, s.Stats().Voids)
	_, err = open(t, log, &fakeModel{replies: replies}, Events{}).Resume(t.Context(), dead)
	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.Equal(t, 1, s.Stats().Voids)
}

// TestLeaseRunsOut: a lease that nobody gives back lasts as long as the limit says, and who had it gives back nothing that
// is somebody else's by then. A request under the earlier lease that is still under way is refused by the ledger.
func TestLeaseRunsOut(t *testing.T) {
	arrived, first := make(chan struct{}), make(chan struct{})
	var once sync.Once
	log := &dyingLog{Log: newLog(t)}
	s := newLedger(t, ledgertest.Options{Raw: true, OnRequest: func(string, string) {
		mine := false
		once.Do(func() { mine = true })
		if mine {
			log.dead.Store(true)
			close(arrived)
			<-first
		}
	}})
	sub := ledgerTask(t, s)
	sub.Config.Limits.LeaseTime, sub.Config.Limits.ToolTimeout = 1000, 1000
	ctx, kill := context.WithCancel(t.Context())
	dying := make(chan error, 1)
	replies := []any{appends("cash", 1), says("done")}
	go func() {
		_, err := open(t, log, &fakeModel{replies: replies}, Events{}).Run(ctx, sub)
		dying <- err
	}()
	<-arrived
	kill()
	require.Error(t, <-dying)
	held, ended := waiting(t, log.Log, nil, ledgerTask(t, s))
	task := <-held
	require.Equal(t, "succeeded", (<-ended).Phase, "it waited until then")
	close(first)
	h := open(t, log.Log, &fakeModel{replies: replies}, Events{})
	r, err := h.Resume(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, "succeeded", r.Phase)
	requireMade(t, s.Effects(), 1, 2)
	events := history(t, h, task)
	reasons := []string{}
	for _, e := range events {
		if p, ok := e.Payload.(*event.LeaseReleased); ok {
			reasons = append(reasons, p.Reason)
		}
	}
	require.Equal(t, []string{"expired", "done"}, reasons)
}

// TestCancelOfATaskThatWaits: a task that waits for another one's account is cancelled at once.
func TestCancelOfATaskThatWaits(t *testing.T) {
	log, s, runners := &dyingLog{Log: newLog(t)}, newLedger(t, ledgertest.Options{Raw: true}), newRunners()
	h, first := leasing(t, s, log, ledgerTask(t, s))
	held, ended := waiting(t, log.Log, runners, ledgerTask(t, s))
	<-held
	tasks, err := h.List(t.Context(), Query{})
	require.NoError(t, err)
	i := slices.IndexFunc(tasks, func(s Summary) bool { return s.ID != first })
	_, err = shared(t, log.Log, runners, nil).Cancel(t.Context(), tasks[i].ID, "enough")
	require.NoError(t, err)
	require.Equal(t, "cancelled", (<-ended).Phase)
	requireMade(t, s.Effects(), 1)
}

// TestWhatLeasesKeep: the log of a resource says nothing of the resource, also when the task is gone; and where it is damaged,
// doctor tells, and the resource is not lost.
func TestWhatLeasesKeep(t *testing.T) {
	log, s := newLog(t), newLedger(t, ledgertest.Options{Raw: true})
	replies := []any{appends("cash", 1), says("done")}
	h := open(t, log, &fakeModel{replies: replies}, Events{})
	r, err := h.Run(t.Context(), ledgerTask(t, s))
	require.NoError(t, err)
	require.NoError(t, h.Delete(t.Context(), r.Task, false))
	id := leaseID("account:cash")
	records, err := log.Read(t.Context(), id, 0, 0)
	require.NoError(t, err)
	require.Len(t, records, 2)
	for _, record := range records {
		require.NotContains(t, string(record.Data), "cash")
	}
	head := mustHead(t, log, id)
	require.NoError(t, log.Commit(t.Context(), store.Commit{Appends: []store.Append{sideAppend(head, 0, []byte{0xff})}}))
	report, err := h.Check(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, report.Damage, 1)
	r, err = h.Run(t.Context(), ledgerTask(t, s))
	require.NoError(t, err)
	require.Equal(t, "succeeded", r.Phase)
	require.Less(t, s.Effects()[0].Lease, s.Effects()[1].Lease)
}

// TestVersionConflict: two tasks see an account at one version and write on that condition: one of them is told that the
// account has changed, looks again, and writes what it now knows to be right.
func TestVersionConflict(t *testing.T) {
	s := newLedger(t, ledgertest.Options{Raw: true})
	log := newLog(t)
	var looked sync.WaitGroup
	looked.Add(2)
	var all sync.WaitGroup
	conflicts := make(chan int, 2)
	for i := range 2 {
		m := &versioned{looked: &looked, amount: i + 1}
		h, err := Open(Options{Log: log, Runners: newRunners(), CacheDir: cacheDir(), Model: m})
		require.NoError(t, err)
		sub := ledgerTask(t, s)
		all.Go(func() {
			if r, err := h.Run(t.Context(), sub); err != nil || r.Phase != "succeeded" {
				t.Errorf("%v %v", r, err)
			}
			conflicts <- m.conflicts
		})
	}
	all.Wait()
	require.Equal(t, 1, <-conflicts+<-conflicts)
	requireMade(t, s.Effects(), 1, 2)
}

// versioned is a model that looks at an account and then writes to it if it is still as it saw it.
type versioned struct {
	looked    *sync.WaitGroup
	amount    int
	conflicts int
	first     sync.Once
}

func (m *versioned) Complete(_ context.Context, req model.Request, _ func(model.Progress)) (*model.Reply, error) {
	last := req.Messages[len(req.Messages)-1]
	reply := says("done")
	switch _, version, seen := strings.Cut(last.Content, "(version "); {
	case last.Role != "tool":
		reply = callsTool("balance", `{"account":"cash"}`)
	case strings.Contains(last.Content, "not appended"):
		m.conflicts++
		reply = callsTool("balance", `{"account":"cash"}`)
	case seen:
		m.first.Do(func() { m.looked.Done(); m.looked.Wait() }) // both see the same
		reply = callsTool("append", fmt.Sprintf(`{"account":"cash","amount":%d,"if_version":%s}`, m.amount, strings.TrimSuffix(version, ")")))
	}
	return &reply, nil
}
