package host

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crossedLog calls something before its first commit, or its first deletion, is passed on.
type crossedLog struct {
	store.Log
	once                      sync.Once
	beforeCommit, beforeWatch func()
	beforeDelete              func()
}

func (l *crossedLog) cross(do func()) {
	if do != nil {
		l.once.Do(do)
	}
}

func (l *crossedLog) Commit(ctx context.Context, c store.Commit) error {
	l.cross(l.beforeCommit)
	return l.Log.Commit(ctx, c)
}

func (l *crossedLog) Watch(ctx context.Context, task string, after uint64) (uint64, error) {
	l.cross(l.beforeWatch)
	return l.Log.Watch(ctx, task, after)
}

func (l *crossedLog) Delete(ctx context.Context, task string, expected uint64) error {
	l.cross(l.beforeDelete)
	return l.Log.Delete(ctx, task, expected)
}

// halted leaves a task in log that waits to be resumed.
func halted(t *testing.T, log store.Log) string {
	r, err := shared(t, log, nil, &fakeModel{replies: []any{errors.New("no route")}}).Run(t.Context(), bare())
	require.ErrorAs(t, err, new(*StoppedError))
	return r.Task
}

// executing leaves a task in log whose worker died while a tool ran.
func executing(t *testing.T, log store.Log) string {
	crashed(t, log, withWitness(t), event.TypeToolSucceeded, notes("1"))
	tasks, err := shared(t, log, nil, nil).List(t.Context(), Query{})
	require.NoError(t, err)
	return tasks[len(tasks)-1].ID
}

// TestCancelCrossesAClaim: another process claims a task between the canceller's look at it and its request. It is
// cancelled all the same.
func TestCancelCrossesAClaim(t *testing.T) {
	log, runners := newLog(t), newRunners()
	id := halted(t, log)
	held := &fakeModel{replies: []any{says("four")}, block: make(chan struct{}), blocked: make(chan struct{})}
	resumed := make(chan error, 1)
	crossed := &crossedLog{Log: log, beforeCommit: func() {
		go func() {
			_, err := shared(t, log, runners, held).Resume(context.Background(), id)
			resumed <- err
		}()
		<-held.blocked
	}}
	r, err := shared(t, crossed, runners, nil).Cancel(t.Context(), id, "no longer needed")
	require.NoError(t, err)
	require.Equal(t, "cancelled", r.Phase)
	require.NoError(t, <-resumed)
	requireCancelled(t, shared(t, log, nil, nil), id)
}

// TestClaimsOfACancelledTaskCross: another process claims a cancelled task just as the canceller does.
func TestClaimsOfACancelledTaskCross(t *testing.T) {
	log := newLog(t)
	id := executing(t, log)
	claims := 0
	crossed := &askingLog{Log: log, at: event.TypeClaimed, ask: func(task string) {
		h := shared(t, log, nil, nil)
		state, err := h.fold(context.Background(), task)
		assert.NoError(t, err)
		claims++
		claim := store.Append{Task: task, Expected: state.Seq(), Fence: state.Fence() + 1}
		events, err := core.Decide(state, 1, core.Claimed{Worker: "another", Fence: claim.Fence})
		assert.NoError(t, err)
		record, err := event.Encode(events[0]) // the claim alone, and then it dies
		assert.NoError(t, err)
		claim.Records = [][]byte{record}
		assert.NoError(t, log.Commit(context.Background(), store.Commit{Appends: []store.Append{claim}}))
	}}
	r, err := shared(t, crossed, nil, nil).Cancel(t.Context(), id, "no longer needed")
	require.NoError(t, err)
	require.Equal(t, "cancelled", r.Phase)
	require.Equal(t, 1, claims)
	requireCancelled(t, shared(t, log, nil, nil), id)
}

// TestCancelOfADeletedTask: the task goes while the canceller waits for who runs it.
func TestCancelOfADeletedTask(t *testing.T) {
	log, runners := newLog(t), newRunners()
	id := executing(t, log)
	end, err := runners.Begin(t.Context(), id)
	require.NoError(t, err)
	defer end()
	crossed := &crossedLog{Log: log, beforeWatch: func() {
		assert.NoError(t, shared(t, log, nil, nil).Delete(context.Background(), id, true))
	}}
	_, err = shared(t, crossed, runners, nil).Cancel(t.Context(), id, "x")
	require.ErrorIs(t, err, ErrDeleted)
}

// TestCancelWhoseRunnerStops: who runs the task stops before it has heard that it is to end it. The canceller does
// not wait for nobody.
func TestCancelWhoseRunnerStops(t *testing.T) {
	log, runners := newLog(t), newRunners()
	id := executing(t, log)
	end, err := runners.Begin(t.Context(), id)
	require.NoError(t, err)
	begun := time.Now()
	r, err := shared(t, &crossedLog{Log: log, beforeWatch: end}, runners, nil).Cancel(t.Context(), id, "no longer needed")
	require.NoError(t, err)
	require.Equal(t, "cancelled", r.Phase)
	require.Less(t, time.Since(begun), cancelGrace/2)
	requireCancelled(t, shared(t, log, nil, nil), id)
}

// TestTwoCancellers: both see the task end, and the log has one request.
func TestTwoCancellers(t *testing.T) {
	for range 4 {
		log := newLog(t)
		id := executing(t, log)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				r, err := shared(t, log, newRunners(), nil).Cancel(context.Background(), id, "no longer needed")
				if !errors.Is(err, ErrEnded) && assert.NoError(t, err) {
					assert.Equal(t, "cancelled", r.Phase)
				}
			})
		}
		both.Wait()
		requireCancelled(t, shared(t, log, nil, nil), id)
	}
}

// TestDeleteCrossesARequest: the task gets another event between the look at it and its deletion.
func TestDeleteCrossesARequest(t *testing.T) {
	log := newLog(t)
	id := halted(t, log)
	other := shared(t, log, nil, nil)
	h := shared(t, &crossedLog{Log: log, beforeDelete: func() {
		_, err := other.Cancel(context.Background(), id, "x")
		assert.NoError(t, err)
	}}, nil, nil)
	require.NoError(t, h.Delete(t.Context(), id, true))
	_, err := other.Find(t.Context(), id)
	require.ErrorIs(t, err, ErrNoTask)

	id = halted(t, log)
	h = shared(t, &crossedLog{Log: log, beforeDelete: func() {
		assert.NoError(t, other.Delete(context.Background(), id, true))
	}}, nil, nil)
	require.ErrorIs(t, h.Delete(t.Context(), id, true), ErrNoTask)
}

// endingLog ends ctx with its n-th call, before or after that is done.
type endingLog struct {
	store.Log
	left  int
	end   context.CancelFunc
	after bool // a commit is done, and its acknowledgement lost
}

func (l *endingLog) step() {
	if l.left--; l.left == 0 {
		l.end()
	}
}

func (l *endingLog) Read(ctx context.Context, task string, after uint64, limit int) ([]store.Record, error) {
	l.step()
	return l.Log.Read(ctx, task, after, limit)
}

func (l *endingLog) Commit(ctx context.Context, c store.Commit) error {
	if l.after {
		_ = l.Log.Commit(ctx, c)
	}
	if l.step(); ctx.Err() != nil {
		return ctx.Err()
	}
	return l.Log.Commit(ctx, c)
}

// TestInterruptedAnywhere: whichever call of the log the caller's end of ctx meets, it is one interruption, and a
// task that is in the log is named, to be resumed.
func TestInterruptedAnywhere(t *testing.T) {
	for _, after := range []bool{false, true} {
		log := newLog(t)
		ctx, cancel := context.WithCancel(t.Context())
		m := &fakeModel{replies: []any{says("four")}}
		r, err := shared(t, &endingLog{Log: log, left: 1, end: cancel, after: after}, nil, m).Run(ctx, bare())
		require.ErrorIs(t, err, ErrInterrupted)
		tasks, err := shared(t, log, nil, nil).List(t.Context(), Query{})
		require.NoError(t, err)
		if !after {
			require.Nil(t, r)
			require.Empty(t, tasks)
			continue
		}
		require.Equal(t, &Result{Task: tasks[0].ID, Phase: "planning"}, r)
	}
	for n := 1; n <= 2; n++ { // the fold, and the claim
		log := newLog(t)
		id := halted(t, log)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := shared(t, &endingLog{Log: log, left: n, end: cancel}, nil, &fakeModel{}).Resume(ctx, id)
		require.ErrorIs(t, err, ErrInterrupted, "call %d", n)
		ctx, cancel = context.WithCancel(t.Context())
		_, err = shared(t, &endingLog{Log: log, left: n, end: cancel}, nil, nil).Cancel(ctx, id, "x")
		require.ErrorIs(t, err, ErrInterrupted, "call %d", n)
		r, err := shared(t, log, nil, &fakeModel{replies: []any{says("four")}}).Resume(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, "four", r.Answer)
	}
}

// watchlessLog fails with its first Watch, as one that fails for good.
type watchlessLog struct{ store.Log }

func (watchlessLog) Watch(context.Context, string, uint64) (uint64, error) {
	return 0, store.ErrFailed
}

// TestWatchFails: a log that fails ends the run, and a failed log is no interruption.
func TestWatchFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waits := modelFunc(func(ctx context.Context, _ model.Request) (*model.Reply, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	r, err := shared(t, watchlessLog{newLog(t)}, nil, waits).Run(ctx, bare())
	require.ErrorIs(t, err, store.ErrFailed)
	require.NotEmpty(t, r.Task)
	cancel()
	require.ErrorIs(t, interrupted(ctx, store.ErrFailed), store.ErrFailed, "what a person has to see to")
	require.ErrorIs(t, interrupted(ctx, ctx.Err()), ErrInterrupted)
}

// TestFollowOfADeletedTask: whenever it goes, one that was there was deleted.
func TestFollowOfADeletedTask(t *testing.T) {
	log := newLog(t)
	id := halted(t, log)
	h := shared(t, log, nil, nil)
	gone := &crossedLog{Log: log, beforeWatch: func() {
		_, err := h.Resume(context.Background(), id) // more to be read, and then gone
		assert.ErrorAs(t, err, new(*StoppedError))
		assert.NoError(t, h.Delete(context.Background(), id, true))
	}}
	seen := 0
	err := shared(t, gone, nil, nil).Follow(t.Context(), id, 0, func(e *Event) error {
		seen++
		return nil
	})
	require.ErrorIs(t, err, ErrDeleted)
	require.NotZero(t, seen)
	require.ErrorIs(t, h.Follow(t.Context(), id, 0, func(*Event) error { return nil }), ErrNoTask)
	id = halted(t, log)
	each := func(e *Event) error {
		if e.Payload.Type() == event.TypeModelFailed {
			return errors.New("enough")
		}
		return nil
	}
	require.EqualError(t, h.Follow(t.Context(), id, 0, each), "enough")
}

// askingLog has a task cancelled as the first event of a type is about to be stored.
type askingLog struct {
	store.Log
	at   event.Type
	once sync.Once
	ask  func(task string)
}

func (l *askingLog) Commit(ctx context.Context, c store.Commit) error {
	a := c.Appends[0]
	for i, data := range a.Records {
		if e, err := event.Decode(a.Task, a.Expected+uint64(i)+1, data); err == nil && e.Payload.Type() == l.at {
			l.once.Do(func() { l.ask(a.Task) })
		}
	}
	return l.Log.Commit(ctx, c)
}

// TestCancelCrossesAnOperation: the request to cancel comes as the intent of a write is to be stored. The intent is then
// not stored, though the log has grown, and nothing is written.
func TestCancelCrossesAnOperation(t *testing.T) {
	s := newLedger(t, ledgertest.Options{Raw: true})
	log := newLog(t)
	crossed := &askingLog{Log: log, at: event.TypeHostOperation, ask: func(task string) {
		h := shared(t, log, nil, nil)
		state, err := h.fold(context.Background(), task)
		assert.NoError(t, err)
		assert.NoError(t, newRun(h, task, "fake", state, nil).feed(context.Background(), core.CancelRequested{Reason: "no longer needed"}))
	}}
	h := shared(t, crossed, nil, &fakeModel{replies: []any{appends("cash", 7), says("done")}})
	r, err := h.Run(t.Context(), ledgerTask(t, s))
	require.NoError(t, err)
	require.Equal(t, "cancelled", r.Phase)
	require.Zero(t, s.Stats().Posts)
	require.Zero(t, count(history(t, h, r.Task), event.TypeHostOperation))
}
