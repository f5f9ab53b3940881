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
// and ends the task; a task that nobody runs is ended here. It returns once the task has ended. ErrEnded when
// it had ended before.
func (h *Host) Cancel(ctx context.Context, id, reason string) (*Result, error) {
	state, err := h.fold(ctx, id)
	if err != nil {
		return nil, err
	}
	r := newRun(h, id, state.Created().Model, state, nil)
	in := core.CancelRequested{Reason: reason, Actor: event.Actor{Kind: event.ActorUser}}
	if err := r.feed(ctx, in); err != nil || state.Outcome() != nil {
		return result(id, state), interrupted(ctx, err)
	}
	if err := h.awaitRunner(ctx, r); err != nil {
		return nil, interrupted(ctx, err)
	}
	if state.Outcome() == nil {
		err = r.feed(ctx, core.Claimed{Worker: h.worker, Fence: state.Fence() + 1})
	}
	if err == nil && state.Outcome() == nil {
		err = fmt.Errorf("task %s is cancelled and has not ended: this is a bug in axishost", id)
	}
	return result(id, state), interrupted(ctx, err)
}

// awaitRunner gives the process that runs a task the time to end it.
func (h *Host) awaitRunner(ctx context.Context, r *run) error {
	running, err := h.running(ctx)
	if err != nil || running[r.id] == 0 {
		return err
	}
	patient, stop := context.WithTimeout(ctx, cancelGrace)
	defer stop()
	for r.state.Outcome() == nil {
		_, err := h.opts.Log.Watch(patient, r.id, r.state.Seq())
		if patient.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = r.catchUp(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Delete takes a task away for good, with everything that it did. ErrUnfinished when it has not ended, unless
// unfinished says to take it all the same. A task that is being run is not deleted.
func (h *Host) Delete(ctx context.Context, id string, unfinished bool) error {
	end, err := h.beginRun(ctx, id) // so that nobody begins to run it now
	if err != nil {
		return interrupted(ctx, err)
	}
	defer end()
	head, err := h.opts.Log.Head(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("task %q: %w", id, ErrNoTask)
	case err != nil:
		return interrupted(ctx, err)
	case !core.Phase(head.Label).Ended() && !unfinished:
		return fmt.Errorf("task %s: %w", id, ErrUnfinished)
	}
	return interrupted(ctx, h.opts.Log.Delete(ctx, id, head.Last))
}

// Compact gives the space of deleted tasks back to the system.
func (h *Host) Compact(ctx context.Context) error {
	return interrupted(ctx, h.opts.Log.Compact(ctx))
}
