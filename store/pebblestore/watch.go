package pebblestore

import (
	"context"
	"errors"

	"github.com/axishost/axishost/store"
)

// watch is what those who wait for a task's next commit share.
type watch struct {
	changed chan struct{} // closed by the commit
	last    uint64        // that the commit led to, set before; 0 when it has to be looked up
	waiting int           // guarded by Log.mu
}

// Watch implements store.Log.
func (l *Log) Watch(ctx context.Context, task string, after uint64) (uint64, error) {
	if err := l.enter(ctx); err != nil {
		return 0, err
	}
	defer l.calls.Done()
	for {
		last, err := l.awaitOnce(ctx, task, after)
		if err != nil || last > after {
			return last, err
		}
	}
}

// awaitOnce gives the task's last sequence number when that is above after. Else it waits for one commit and gives
// what that led to; 0 where that is not known.
func (l *Log) awaitOnce(ctx context.Context, task string, after uint64) (uint64, error) {
	w := l.join(task) // before the look, so that no commit falls between
	defer l.leave(task, w)
	switch h, err := l.head(task); {
	case err == nil && h.Last > after:
		return h.Last, nil
	case err != nil && (after > 0 || !errors.Is(err, store.ErrNotFound)):
		return 0, err // what was seen and is not there was deleted
	}
	select {
	case <-w.changed:
		return w.last, nil
	case <-l.fuse.blown:
		return 0, l.fuse.err()
	case <-l.closing:
		return 0, store.ErrClosed
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (l *Log) join(task string) *watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.watches[task]
	if w == nil {
		w = &watch{changed: make(chan struct{})}
		l.watches[task] = w
	}
	w.waiting++
	return w
}

func (l *Log) leave(task string, w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.waiting--
	if w.waiting == 0 && l.watches[task] == w {
		delete(l.watches, task)
	}
}
