package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
)

// ErrTakenOver says that another process has claimed a task while this one was running it. The task goes on
// there.
var ErrTakenOver = errors.New("another process has taken the task over")

// ErrDeleted says that a task was deleted while it was being run.
var ErrDeleted = errors.New("the task was deleted")

// news is what the log has of a task: its last sequence number, or why that cannot be known any more.
type news struct {
	last uint64
	err  error
}

// follow tells the loop of each commit to its task but its own, until ctx ends: another process may append to the task
// too, to cancel it.
func (r *run) follow(ctx context.Context, after uint64) {
	for {
		last, err := r.h.opts.Log.Watch(ctx, r.id, after)
		if err == nil && last <= r.own.Load() {
			after = last
			continue
		}
		select {
		case r.news <- news{last, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
		after = last
	}
}

// hear takes in what others have appended.
func (r *run) hear(ctx context.Context, n news) error {
	if n.err != nil {
		return r.storeError(n.err)
	}
	if n.last <= r.state.Seq() {
		return nil
	}
	return r.catchUp(ctx)
}

// catchUp applies the events of the log that the state does not have yet.
func (r *run) catchUp(ctx context.Context) error {
	var events []*event.Event
	err := r.h.Read(ctx, r.id, r.state.Seq(), func(e *Event) error {
		events = append(events, e)
		return nil
	})
	if err != nil {
		return r.storeError(err)
	}
	if err := r.evolve(events); err != nil {
		return err
	}
	if !r.onlooker && r.state.Fence() != r.fence && r.state.Outcome() == nil {
		return fmt.Errorf("task %s: %w", r.id, ErrTakenOver)
	}
	return nil
}

// storeError gives an error of the log the meaning that it has for a run.
func (r *run) storeError(err error) error {
	switch {
	case errors.Is(err, store.ErrFenced):
		return fmt.Errorf("task %s: %w", r.id, ErrTakenOver)
	case errors.Is(err, ErrNoTask), errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("task %s: %w", r.id, ErrDeleted)
	}
	return fmt.Errorf("task %s: %w", r.id, err)
}

// Follow is Read that waits for further events, until the task has ended, is deleted, or ctx ends.
func (h *Host) Follow(ctx context.Context, id string, after uint64, each func(*Event) error) error {
	for seen := false; ; seen = true {
		err := h.Read(ctx, id, after, func(e *Event) error {
			after = e.Seq
			return each(e)
		})
		if seen && errors.Is(err, ErrNoTask) {
			return fmt.Errorf("task %s: %w", id, ErrDeleted)
		}
		if err != nil {
			return interrupted(ctx, err)
		}
		head, err := h.opts.Log.Head(ctx, id)
		if err == nil && core.Phase(head.Label).Ended() && head.Last <= after {
			return nil
		}
		if err == nil {
			_, err = h.opts.Log.Watch(ctx, id, after)
		}
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("task %s: %w", id, ErrDeleted)
		}
		if err != nil {
			return interrupted(ctx, err)
		}
	}
}
