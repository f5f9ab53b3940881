package pebblestore

import (
	"context"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/axishost/axishost/store"
)

// flight is a commit or a deletion under way. It holds its tasks: a task is in at most one flight, so what a
// flight checks stays true until it lands, and changes of different tasks go into one fsync.
//
// The engine shows a batch once it is applied, before it is synced. What is synced of a task that is in a
// flight aloft is what the flight says was there before it; of every other task, what the engine shows.
type flight struct {
	tasks []string
	// aloft: the batch may be visible in the engine, but not synced. Guarded by Log.mu, like what follows.
	aloft   bool
	prior   map[string]store.Head // of each task appended to or deleted, before this; Last 0: there was none
	blobs   map[blobID]bool       // that it puts
	deletes bool                  // its task
	synced  []store.Head          // of the tasks appended to, once they are durable

	landed chan struct{} // closed when it is over, however it ended
}

type blobID struct{ task, key string }

// tasksOf gives the tasks that c touches, each once, in order of id. The order keeps two commits from
// waiting for each other.
func tasksOf(c store.Commit) []string {
	tasks := make([]string, 0, len(c.Appends)+len(c.Blobs))
	for _, a := range c.Appends {
		tasks = append(tasks, a.Task)
	}
	for _, b := range c.Blobs {
		tasks = append(tasks, b.Task)
	}
	slices.Sort(tasks)
	return slices.Compact(tasks)
}

// board waits until it holds every task of c. It holds none when ctx ends first.
func (l *Log) board(ctx context.Context, c store.Commit) (*flight, error) {
	return l.boardTasks(ctx, tasksOf(c))
}

// boardTasks waits until it holds tasks, which are in order of id.
func (l *Log) boardTasks(ctx context.Context, tasks []string) (*flight, error) {
	f := &flight{tasks: tasks, landed: make(chan struct{})}
	for i, task := range f.tasks {
		for {
			other := l.seize(task, f)
			if other == nil {
				break
			}
			select {
			case <-other.landed:
			case <-ctx.Done():
				f.tasks = f.tasks[:i]
				l.land(f)
				return nil, ctx.Err()
			}
		}
	}
	return f, nil
}

// seize makes f the task's flight. When there is one already it gives that.
func (l *Log) seize(task string, f *flight) *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other := l.flights[task]; other != nil {
		return other
	}
	l.flights[task] = f
	return nil
}

// takeOff says what f is about to change. It comes before the engine hears of it.
func (l *Log) takeOff(f *flight, prior map[string]store.Head, blobs []store.Blob) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.aloft, f.prior, f.blobs = true, prior, make(map[blobID]bool, len(blobs))
	for _, b := range blobs {
		f.blobs[blobID{b.Task, b.Key}] = true
	}
}

// land ends f: its commit is synced, or refused, or the fuse is blown. It wakes who watches its tasks.
func (l *Log) land(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, task := range f.tasks {
		delete(l.flights, task)
		if w := l.watches[task]; w != nil && f.aloft {
			w.last = f.lastOf(task)
			close(w.changed)
			delete(l.watches, task)
		}
	}
	close(f.landed)
}

// lastOf gives the last sequence number of a task to which f appended, once that is durable; else 0.
func (f *flight) lastOf(task string) uint64 {
	for i := range f.synced {
		if f.synced[i].Task == task {
			return f.synced[i].Last
		}
	}
	return 0
}

// aloft gives the flight that is changing a task, or nil. Whoever looks after having read the engine knows: if
// there is none, what was read is synced.
func (l *Log) aloft(task string) *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.aloftLocked(task)
}

// aloftLocked needs Log.mu.
func (l *Log) aloftLocked(task string) *flight {
	if f := l.flights[task]; f != nil && f.aloft {
		return f
	}
	return nil
}

// priorHead gives the head that a task had before f; false when f, which may be nil, does not change it.
func (f *flight) priorHead(task string) (store.Head, bool) {
	if f == nil {
		return store.Head{}, false
	}
	h, ok := f.prior[task]
	return h, ok
}

// view gives the engine as it is at one instant, between the keys of opts, and the flight of the task that is
// aloft at the same instant. No flight takes off in between, since that takes Log.mu; to make an iterator
// touches no disk.
func (l *Log) view(task string, opts *pebble.IterOptions) (*pebble.Iterator, *flight, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	it, err := l.db.NewIter(opts)
	return it, l.aloftLocked(task), err
}

// listView is view for all tasks that match accepts: it gives the heads before all flights aloft, in order of
// id. A commit so shows in all of its tasks or in none.
func (l *Log) listView(match func(task string) bool, opts *pebble.IterOptions) (*pebble.Iterator, []store.Head, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var prior []store.Head
	for task := range l.flights {
		if h, ok := l.aloftLocked(task).priorHead(task); ok && match(task) {
			h.Task = task
			prior = append(prior, h)
		}
	}
	slices.SortFunc(prior, func(a, b store.Head) int { return strings.Compare(a.Task, b.Task) })
	it, err := l.db.NewIter(opts)
	return it, prior, err
}
