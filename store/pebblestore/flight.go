package pebblestore

import (
	"bytes"
	"context"
	"slices"

	"github.com/axishost/axishost/store"
)

// flight is a commit under way. It holds its tasks: a task is in at most one flight, so what a flight checks
// stays true until it lands, and commits of different tasks go into one fsync.
//
// The engine shows a batch once it is applied, before it is synced. A reader therefore takes its view of the
// engine first and looks for a flight after: whatever the view holds of a task is then either synced, or
// belongs to the flight that it finds, which knows what was there before.
type flight struct {
	tasks []string
	// aloft: the batch may be visible in the engine, but not synced. Guarded by Log.mu, like what follows.
	aloft bool
	prior map[string]store.Head // of each task appended to, before this commit
	blobs map[blobID]bool       // that it puts

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
			close(w.changed)
			delete(l.watches, task)
		}
	}
	close(f.landed)
}

// durable turns a head that was seen in the engine into the one that is synced; one with Last 0 when there is
// none yet.
func (l *Log) durable(h store.Head) store.Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durableLocked(h)
}

// durableOnly is durable for all heads of one view, at one instant: a commit shows in all of its tasks or in
// none. It returns those that are left, in the memory of heads.
func (l *Log) durableOnly(heads []store.Head) []store.Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := heads[:0]
	for _, h := range heads {
		if h = l.durableLocked(h); h.Last > 0 {
			h.Index = bytes.Clone(h.Index)
			left = append(left, h)
		}
	}
	return left
}

// durableLocked needs Log.mu. A flight can be younger than the view that h is from: then h is the older of
// the two, synced, and stays.
func (l *Log) durableLocked(h store.Head) store.Head {
	if f := l.flights[h.Task]; f != nil && f.aloft {
		if prior, ok := f.prior[h.Task]; ok && prior.Last < h.Last {
			return prior
		}
	}
	return h
}

// putting gives the flight that is putting a blob, or nil.
func (l *Log) putting(task, key string) *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.flights[task]; f != nil && f.aloft && f.blobs[blobID{task, key}] {
		return f
	}
	return nil
}
