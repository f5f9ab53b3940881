package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
)

// ErrEnded says that a task has ended: there is nothing to cancel.
var ErrEnded = core.ErrEnded

// ErrUnfinished says that a task has not ended, so that deleting it needs to be meant.
var ErrUnfinished = errors.New("the task has not ended")

// cancelGrace is how long a process that runs a task has to stop its tools and to end the task, once it was
// asked to. A tool is stopped within moments; who takes longer hangs, and the task is ended without it: what
// it still appends is refused.
const cancelGrace = 10 * time.Second

// Cancel ends a task before its goal, for a reason. Where a process runs it, that one stops what is under way
// and ends the task; a task that nobody runs is ended here, once its plugins have told what its writes did. It returns
// once the task has ended. ErrEnded when it had ended before; *StoppedError where a person has to find out first what
// a write did.
func (h *Host) Cancel(ctx context.Context, id, reason string) (*Result, error) {
	state, err := h.fold(ctx, id)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	r := newRun(h, id, state.Created().Model, state, nil)
	r.onlooker = true
	in := core.CancelRequested{Reason: reason, Actor: event.Actor{Kind: event.ActorUser}}
	if err := r.feed(ctx, in); err != nil || state.Outcome() != nil {
		return result(id, state), interrupted(ctx, err)
	}
	if err := h.awaitRunner(ctx, r); err != nil {
		return nil, interrupted(ctx, err)
	}
	if state.Outcome() == nil {
		err = h.claimToEnd(ctx, r)
	}
	if err == nil && state.Outcome() == nil {
		return h.Resume(ctx, id) // its worker died in the middle of a write: nothing begins but the search for that
	}
	return result(id, state), interrupted(ctx, err)
}

// claimToEnd claims a cancelled task where that ends it, again where another process came first and has not ended it. One
// of which a write has to be found out first is not claimed: whoever finds out claims it.
func (h *Host) claimToEnd(ctx context.Context, r *run) error {
	for {
		claim := core.Claimed{Worker: h.worker, Fence: r.state.Fence() + 1}
		events, err := core.Decide(r.state, h.now().UnixMicro(), claim)
		if err != nil || !core.PhaseAfter(r.state, events).Ended() {
			return err
		}
		err = r.feed(ctx, claim)
		if err == nil || r.state.Fence() < claim.Fence || r.state.Outcome() != nil {
			return err
		}
	}
}

// runnerLook is how often it is looked whether the process that runs a task is there still.
const runnerLook = 100 * time.Millisecond

// awaitRunner gives the process that runs a task the time to end it. One that stops, or dies, before it has heard
// that it is to do so is not waited for. One that is finding out what a write did takes as long as that takes.
func (h *Host) awaitRunner(ctx context.Context, r *run) error {
	for began := time.Now(); r.state.Outcome() == nil; {
		running, err := h.running(ctx)
		hangs := time.Since(began) > cancelGrace && !r.state.Seeking()
		if err != nil || running[r.id] == 0 || hangs || ctx.Err() != nil {
			return err
		}
		if err := h.awaitNews(ctx, r); err != nil {
			return r.storeError(err)
		}
		if err := r.catchUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

// awaitNews waits for what another process appends to a task, and not for long.
func (h *Host) awaitNews(ctx context.Context, r *run) error {
	look, stop := context.WithTimeout(ctx, runnerLook)
	defer stop()
	_, err := h.opts.Log.Watch(look, r.id, r.state.Seq())
	if look.Err() != nil {
		return nil
	}
	return err
}

// Delete takes a task away for good, with everything that it did. ErrUnfinished when it has not ended, unless
// unfinished says to take it all the same. A task that is being run is not deleted. Its key is free then.
func (h *Host) Delete(ctx context.Context, id string, unfinished bool) error {
	end, err := h.beginRun(ctx, id) // so that nobody begins to run it now
	if err != nil {
		return interrupted(ctx, err)
	}
	defer end()
	key := ""
	if created, err := h.created(ctx, id); err == nil { // else it is damaged, and is deleted all the same
		key = created.Key
	}
	for {
		head, err := h.opts.Log.Head(ctx, id)
		if err == nil && !core.Phase(head.Label).Ended() && !unfinished {
			return fmt.Errorf("task %s: %w", id, ErrUnfinished)
		}
		if err == nil {
			err = h.opts.Log.Delete(ctx, id, head.Last)
		}
		switch {
		case err == nil:
			h.freeKey(ctx, key, id) // second: a crash in between leaves a key of a task that is gone, and not a task twice
			return nil
		case errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("task %q: %w", id, ErrNoTask)
		case !errors.Is(err, store.ErrConflict): // else it was asked to end in between
			return interrupted(ctx, err)
		}
	}
}

// Compact gives the space of deleted tasks back to the system.
func (h *Host) Compact(ctx context.Context) error {
	return interrupted(ctx, h.opts.Log.Compact(ctx))
}
