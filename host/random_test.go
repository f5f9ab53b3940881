package host

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var (
	randomSeed  = flag.Uint64("random.seed", 1, "the first seed of TestManyHosts")
	randomSeeds = flag.Uint64("random.seeds", 3, "how many seeds TestManyHosts tries")
)

// TestManyHosts: several hosts on one log run, resume, cancel, delete and follow tasks as chance has it, with and
// without knowing of each other. Whatever crosses what, each log is one history, and nothing hangs or leaks.
func TestManyHosts(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	subs := []Submission{bare(), bare(), withWitness(t)}
	for seed := *randomSeed; seed < *randomSeed+*randomSeeds; seed++ {
		m := &many{t: t, log: newLog(t), subs: subs, done: map[string]int{}}
		if seed%2 == 0 {
			m.runners = newRunners()
		}
		var all sync.WaitGroup
		for g := range uint64(6) {
			chance := rand.New(rand.NewPCG(seed, g))
			all.Go(func() {
				for range 20 {
					m.step(chance)
				}
			})
		}
		all.Wait()
		m.settle(seed)
		t.Logf("seed %d: %v", seed, m.done)
	}
	goleak.VerifyNone(t, leaks)
}

// many is what several hosts share.
type many struct {
	t       *testing.T
	log     store.Log
	runners Runners
	subs    []Submission

	mu   sync.Mutex
	done map[string]int // how often each thing was done, to its end
}

// step does one thing with a host of its own, whose user may interrupt it after any event.
func (m *many) step(chance *rand.Rand) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	left := chance.IntN(40)
	events := Events{Committed: func(*Event) {
		if left--; left == 0 {
			cancel()
		}
	}}
	h, err := Open(Options{Log: m.log, Runners: m.runners, Model: chanceModel(chance.Uint64()), CacheDir: cacheDir(), Events: events})
	if !assert.NoError(m.t, err) {
		return
	}
	tasks, err := h.List(ctx, Query{})
	if !assert.NoError(m.t, err) {
		return
	}
	what, id := "run", ""
	if len(tasks) > 0 && chance.IntN(4) > 0 {
		id = tasks[len(tasks)-1-chance.IntN(min(len(tasks), 3))].ID // few, so that they meet
		what = []string{"resume", "resume", "cancel", "cancel", "delete", "follow"}[chance.IntN(6)]
	}
	switch what {
	case "run":
		_, err = h.Run(ctx, m.subs[chance.IntN(len(m.subs))])
	case "resume":
		_, err = h.Resume(ctx, id)
	case "cancel":
		_, err = h.Cancel(ctx, id, "x")
	case "delete":
		err = h.Delete(ctx, id, chance.IntN(2) == 0)
	case "follow":
		err = m.follow(ctx, h, id)
	}
	m.note(what, err)
}

// follow follows a task for a while: nobody may ever end it.
func (m *many) follow(ctx context.Context, h *Host, id string) error {
	ctx, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	last := uint64(0)
	return h.Follow(ctx, id, 0, func(e *Event) error {
		assert.Equal(m.t, last+1, e.Seq)
		last = e.Seq
		return nil
	})
}

// note counts what was done, and refuses an error that nothing explains.
func (m *many) note(what string, err error) {
	for _, known := range []error{ErrInterrupted, ErrTakenOver, ErrDeleted, ErrNoTask, ErrEnded, ErrUnfinished, errBusy} {
		if errors.Is(err, known) {
			what += ": " + known.Error()
			err = nil
		}
	}
	var stopped *StoppedError
	if errors.As(err, &stopped) {
		what += ": stopped"
		err = nil
	}
	assert.NoError(m.t, err, what)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done[what]++
}

// settle cancels what has not ended, and judges every log.
func (m *many) settle(seed uint64) {
	h := shared(m.t, m.log, m.runners, nil)
	running, err := h.running(m.t.Context())
	require.NoError(m.t, err)
	require.Empty(m.t, running, "seed %d", seed)
	tasks, err := h.List(m.t.Context(), Query{})
	require.NoError(m.t, err)
	for _, task := range tasks {
		if !task.Ended() {
			_, err := h.Cancel(m.t.Context(), task.ID, "over")
			require.NoError(m.t, err, "seed %d", seed)
		}
		events := history(m.t, h, task.ID)
		ends := 0
		for _, e := range events {
			switch e.Payload.Type() {
			case event.TypeTaskSucceeded, event.TypeTaskPartial, event.TypeTaskFailed, event.TypeTaskCancelled:
				ends++
				require.Equal(m.t, len(events), int(e.Seq), "seed %d: something follows the end", seed)
			}
		}
		require.Equal(m.t, 1, ends, "seed %d", seed)
		require.Equal(m.t, count(events, event.TypeToolRequested), closed(events), "seed %d: a step is open", seed)
	}
	report, err := h.Check(m.t.Context(), nil)
	require.NoError(m.t, err)
	require.Empty(m.t, report.Damage, "seed %d", seed)
	require.Equal(m.t, len(tasks), report.Tasks)
	requireStats(m.t, h)
}

// closed counts the steps that are closed: read by the model, or cancelled.
func closed(events []*Event) int {
	steps := map[int64]bool{}
	for _, e := range events {
		switch e.Payload.Type() {
		case event.TypeObservationRecorded, event.TypeStepCancelled, event.TypeCancelAcknowledged:
			steps[e.Step] = true
		}
	}
	return len(steps)
}

// chanceModel answers as chance has it: with calls, an answer, or an error that can pass or cannot.
func chanceModel(seed uint64) Model {
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(seed, 7))
	return modelFunc(func(ctx context.Context, _ model.Request) (*model.Reply, error) {
		mu.Lock()
		n := chance.IntN(8)
		mu.Unlock()
		switch n {
		case 0:
			return nil, &model.Error{Class: model.ClassAuth, Status: 401}
		case 1:
			return nil, &model.Error{Class: model.ClassRateLimited, Status: 429, RetryAfter: time.Millisecond}
		case 2, 3:
			r := says("done")
			return &r, nil
		case 4:
			select { // one that takes long
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
		r := scenes()[1].replies[0].(model.Reply)
		return &r, nil
	})
}
