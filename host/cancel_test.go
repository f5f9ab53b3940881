package host

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runnerSet is what control.Log is to a host: who runs what, over all hosts of a test.
type runnerSet struct {
	mu    sync.Mutex
	tasks map[string]int
}

var errBusy = errors.New("busy")

func newRunners() *runnerSet { return &runnerSet{tasks: map[string]int{}} }

func (s *runnerSet) Begin(_ context.Context, task string) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks[task] != 0 {
		return nil, errBusy
	}
	s.tasks[task] = 7
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tasks, task)
	}, nil
}

func (s *runnerSet) Running(context.Context) (map[string]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for task, pid := range s.tasks {
		out[task] = pid
	}
	return out, nil
}

// shared opens a host that shares its log with others.
func shared(t testing.TB, log store.Log, runners Runners, m Model) *Host {
	h, err := Open(Options{Log: log, Runners: runners, Model: m, CacheDir: cacheDir(), Version: "test"})
	require.NoError(t, err)
	return h
}

// holdRun runs a task whose model holds its reply until held.block is closed. done gets how the run ended.
func holdRun(t *testing.T, log store.Log, runners Runners) (held *fakeModel, done chan error) {
	held = &fakeModel{replies: []any{says("four")}, block: make(chan struct{}), blocked: make(chan struct{})}
	done = make(chan error, 1)
	h := shared(t, log, runners, held)
	go func() {
		_, err := h.Run(t.Context(), bare())
		done <- err
	}()
	<-held.blocked
	return held, done
}

// hookedLog calls back after its n-th commit.
type hookedLog struct {
	store.Log
	left int
	then func()
}

func (l *hookedLog) Commit(ctx context.Context, c store.Commit) error {
	err := l.Log.Commit(ctx, c)
	if l.left--; l.left == 0 {
		l.then()
	}
	return err
}

// requireCancelled checks how a cancelled task's log ends, and that nothing of it is open.
func requireCancelled(t *testing.T, h *Host, id string) {
	t.Helper()
	events := history(t, h, id)
	last := events[len(events)-1]
	require.Equal(t, event.TypeTaskCancelled, last.Payload.Type())
	require.Equal(t, "no longer needed", last.Payload.(*event.TaskCancelled).Reason)
	require.Equal(t, 1, count(events, event.TypeCancelRequested))
	require.Equal(t, count(events, event.TypeToolRequested),
		count(events, event.TypeObservationRecorded)+count(events, event.TypeStepCancelled)+count(events, event.TypeCancelAcknowledged), "a step is open")
	summary, err := h.Find(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "cancelled", summary.Phase)
}

// TestCancelAtEveryCommit: another process cancels a task after each of its commits, either as one that leaves the
// end to who runs the task, or as one that knows of nobody and takes it over. The task ends as cancelled, and the
// run with it.
func TestCancelAtEveryCommit(t *testing.T) {
	sub := submission(t)
	var commits int
	_, err := open(t, &countingLog{Log: newLog(t), commits: &commits}, &fakeModel{replies: demo()}, Events{}).Run(t.Context(), sub)
	require.NoError(t, err)
	stride := 1
	if raced {
		stride = 3
	}
	for n := 1; n < commits; n += stride {
		for _, known := range []bool{true, false} {
			log := newLog(t)
			var mine, others Runners
			if known {
				runners := newRunners()
				mine, others = runners, runners
			}
			canceller := shared(t, log, others, nil)
			cancelled := make(chan error, 1)
			hooked := &hookedLog{Log: log, left: n, then: func() {
				tasks, err := canceller.List(context.Background(), Query{})
				if err != nil || len(tasks) != 1 {
					cancelled <- errors.Join(err, errors.New("no task"))
					return
				}
				go func() {
					_, err := canceller.Cancel(context.Background(), tasks[0].ID, "no longer needed")
					cancelled <- err
				}()
			}}
			r, err := shared(t, hooked, mine, &fakeModel{replies: demo()}).Run(t.Context(), sub)
			cancelErr := <-cancelled
			if errors.Is(cancelErr, ErrEnded) || r.Phase == "succeeded" { // it crossed the end
				require.NoError(t, err)
				continue
			}
			require.NoError(t, cancelErr)
			require.NoError(t, err, "commit %d", n)
			require.Equal(t, "cancelled", r.Phase)
			requireCancelled(t, canceller, r.Task)
		}
	}
}

// TestCancelOfATaskThatNobodyRuns ends it at once, without its plugins.
func TestCancelOfATaskThatNobodyRuns(t *testing.T) {
	log := newLog(t)
	h := shared(t, log, newRunners(), &fakeModel{replies: []any{errors.New("no route")}})
	r, err := h.Run(t.Context(), bare())
	var stopped *StoppedError
	require.ErrorAs(t, err, &stopped)
	ended, err := h.Cancel(t.Context(), r.Task, "no longer needed")
	require.NoError(t, err)
	require.Equal(t, &Result{Task: r.Task, Phase: "cancelled", Reason: "no longer needed"}, ended)
	requireCancelled(t, h, r.Task)
	_, err = h.Cancel(t.Context(), r.Task, "again")
	require.ErrorIs(t, err, ErrEnded)
	again, err := h.Resume(t.Context(), r.Task)
	require.NoError(t, err)
	require.Equal(t, ended, again)
	_, err = h.Cancel(t.Context(), "nonesuch", "x")
	require.ErrorIs(t, err, ErrNoTask)
}

// TestTakenOver: a run whose task another process has claimed stops, and writes nothing more.
func TestTakenOver(t *testing.T) {
	log := newLog(t)
	_, done := holdRun(t, log, nil)
	second := shared(t, log, nil, &fakeModel{replies: []any{says("four")}})
	tasks, err := second.List(t.Context(), Query{})
	require.NoError(t, err)
	r, err := second.Resume(t.Context(), tasks[0].ID)
	require.NoError(t, err)
	require.Equal(t, "four", r.Answer)
	if err := <-done; err != nil { // else it heard of the end first
		require.ErrorIs(t, err, ErrTakenOver)
	}
	require.Equal(t, 1, count(history(t, second, r.Task), event.TypeTaskSucceeded))
}

// TestBusy: a task that is being run is neither resumed nor deleted by another process.
func TestBusy(t *testing.T) {
	log, runners := newLog(t), newRunners()
	held, done := holdRun(t, log, runners)
	other := shared(t, log, runners, held)
	tasks, err := other.List(t.Context(), Query{})
	require.NoError(t, err)
	require.Equal(t, 7, tasks[0].Process)
	before := len(history(t, other, tasks[0].ID))
	_, err = other.Resume(t.Context(), tasks[0].ID)
	require.ErrorIs(t, err, errBusy)
	require.ErrorIs(t, other.Delete(t.Context(), tasks[0].ID, true), errBusy)
	require.Len(t, history(t, other, tasks[0].ID), before, "something was written")
	close(held.block)
	require.NoError(t, <-done)
}

// TestDelete takes a task away; one that has not ended only where that is said, and one that is run with it.
func TestDelete(t *testing.T) {
	log := newLog(t)
	h := shared(t, log, newRunners(), &fakeModel{replies: []any{errors.New("no route")}})
	r, err := h.Run(t.Context(), bare())
	require.Error(t, err)
	require.ErrorIs(t, h.Delete(t.Context(), r.Task, false), ErrUnfinished)
	require.NoError(t, h.Delete(t.Context(), r.Task, true))
	require.ErrorIs(t, h.Delete(t.Context(), r.Task, true), ErrNoTask)
	_, err = h.Find(t.Context(), r.Task)
	require.ErrorIs(t, err, ErrNoTask)
	require.NoError(t, h.Compact(t.Context()))
}

// TestDeletedWhileRunning: who has not heard that a task is being run deletes it. The run says so and ends.
func TestDeletedWhileRunning(t *testing.T) {
	log := newLog(t)
	_, done := holdRun(t, log, nil)
	other := shared(t, log, nil, nil)
	tasks, err := other.List(t.Context(), Query{})
	require.NoError(t, err)
	followed := make(chan error, 1)
	seen := make(chan struct{}, 16)
	go func() {
		followed <- other.Follow(context.Background(), tasks[0].ID, 0, func(*Event) error {
			seen <- struct{}{}
			return nil
		})
	}()
	<-seen
	require.NoError(t, other.Delete(t.Context(), tasks[0].ID, true))
	require.ErrorIs(t, <-done, ErrDeleted)
	if err := <-followed; !errors.Is(err, ErrNoTask) { // it had not read all when the task went
		require.ErrorIs(t, err, ErrDeleted)
	}
}

// TestFollow gives each event once, in order, and ends with the task.
func TestFollow(t *testing.T) {
	log := newLog(t)
	held, done := holdRun(t, log, nil)
	other := shared(t, log, nil, nil)
	tasks, err := other.List(t.Context(), Query{})
	require.NoError(t, err)
	var followed []*Event
	end := make(chan error, 1)
	go func() {
		end <- other.Follow(context.Background(), tasks[0].ID, 0, func(e *Event) error {
			followed = append(followed, e)
			return nil
		})
	}()
	close(held.block)
	require.NoError(t, <-done)
	require.NoError(t, <-end)
	require.Equal(t, toJSON(t, history(t, other, tasks[0].ID)), toJSON(t, followed))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, other.Follow(ctx, tasks[0].ID, 0, func(*Event) error { return nil }), ErrInterrupted)
	assert.NoError(t, other.Follow(t.Context(), tasks[0].ID, 1<<40, func(*Event) error { return nil }))
}
