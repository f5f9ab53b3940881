package memstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/axishost/axishost/store"
)

// Log is an event log in memory. Make one with New.
type Log struct {
	closing chan struct{} // closed by Close

	mu     sync.Mutex
	closed bool
	tasks  map[string]*task
}

// task is what the log holds of one task id. One without records exists for the contract only as the
// owner of blobs, or for those who watch for its first record.
type task struct {
	head    store.Head
	records [][]byte // records[i] has sequence number i+1
	blobs   map[string][]byte
	changed chan struct{} // closed, and replaced, by each append; nil while nobody watches
}

var _ store.Log = (*Log)(nil)

// New gives an empty log.
func New() *Log {
	return &Log{closing: make(chan struct{}), tasks: make(map[string]*task)}
}

// Commit implements store.Log.
func (l *Log) Commit(ctx context.Context, c store.Commit) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.mu.Unlock()
	if err := c.Validate(); err != nil {
		return err
	}
	heads := make([]store.Head, len(c.Appends))
	for i, a := range c.Appends {
		var before store.Head
		if t := l.tasks[a.Task]; t != nil {
			before = t.head
		}
		next, err := a.Next(before)
		if err != nil {
			return err
		}
		next.Index = bytes.Clone(next.Index)
		heads[i] = next
	}
	for i, a := range c.Appends {
		l.task(a.Task).append(heads[i], a.Records)
	}
	for _, b := range c.Blobs {
		l.task(b.Task).put(b)
	}
	return nil
}

// Read implements store.Log.
func (l *Log) Read(ctx context.Context, id string, after uint64, limit int) ([]store.Record, error) {
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	t := l.tasks[id]
	if t == nil || t.head.Last == 0 {
		return nil, fmt.Errorf("%w: task %q", store.ErrNotFound, id)
	}
	after = min(after, t.head.Last)
	found := t.records[after:]
	if limit > 0 && limit < len(found) {
		found = found[:limit]
	}
	records := make([]store.Record, len(found))
	for i, data := range found {
		records[i] = store.Record{Seq: after + uint64(i) + 1, Data: bytes.Clone(data)}
	}
	return records, nil
}

// Blob implements store.Log.
func (l *Log) Blob(ctx context.Context, id, key string) ([]byte, error) {
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if t := l.tasks[id]; t != nil {
		if value, ok := t.blobs[key]; ok {
			return bytes.Clone(value), nil
		}
	}
	return nil, fmt.Errorf("%w: task %q: blob %q", store.ErrNotFound, id, key)
}

// Head implements store.Log.
func (l *Log) Head(ctx context.Context, id string) (store.Head, error) {
	if err := l.lock(ctx); err != nil {
		return store.Head{}, err
	}
	defer l.mu.Unlock()
	t := l.tasks[id]
	if t == nil || t.head.Last == 0 {
		return store.Head{}, fmt.Errorf("%w: task %q", store.ErrNotFound, id)
	}
	return t.ownHead(), nil
}

// List implements store.Log.
func (l *Log) List(ctx context.Context, q store.Query) ([]store.Head, error) {
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	var heads []store.Head
	for id, t := range l.tasks {
		if t.head.Last > 0 && q.Matches(id, t.head.Label) {
			heads = append(heads, t.ownHead())
		}
	}
	slices.SortFunc(heads, func(a, b store.Head) int { return cmp.Compare(a.Task, b.Task) })
	return q.Select(heads), nil
}

// Delete implements store.Log.
func (l *Log) Delete(ctx context.Context, id string, expected uint64) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.mu.Unlock()
	t := l.tasks[id]
	switch {
	case t == nil || t.head.Last == 0:
		return fmt.Errorf("%w: task %q", store.ErrNotFound, id)
	case t.head.Last != expected:
		return fmt.Errorf("%w: task %q is at %d, the deletion expects %d", store.ErrConflict, id, t.head.Last, expected)
	}
	delete(l.tasks, id)
	t.wake()
	return nil
}

// Compact implements store.Log: there is nothing to give back.
func (l *Log) Compact(ctx context.Context) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	l.mu.Unlock()
	return nil
}

// Watch implements store.Log.
func (l *Log) Watch(ctx context.Context, id string, after uint64) (uint64, error) {
	for {
		last, changed, err := l.look(ctx, id)
		if err != nil {
			return 0, err
		}
		switch {
		case last > after:
			return last, nil
		case last == 0 && after > 0:
			return 0, fmt.Errorf("%w: task %q", store.ErrNotFound, id)
		}
		select {
		case <-changed:
		case <-l.closing:
			return 0, store.ErrClosed
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// look gives a task's last sequence number and the channel that its next append closes.
func (l *Log) look(ctx context.Context, id string) (uint64, <-chan struct{}, error) {
	if err := l.lock(ctx); err != nil {
		return 0, nil, err
	}
	defer l.mu.Unlock()
	t := l.task(id)
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.head.Last, t.changed, nil
}

// Close implements store.Log. It returns nil.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.closing)
	}
	return nil
}

// lock takes the lock, or says why the call is refused.
func (l *Log) lock(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		l.mu.Unlock()
		return err
	}
	return nil
}

// task gives the entry of a task, a new one when there is none.
func (l *Log) task(id string) *task {
	t := l.tasks[id]
	if t == nil {
		t = &task{}
		l.tasks[id] = t
	}
	return t
}

func (t *task) append(head store.Head, records [][]byte) {
	t.head = head
	for _, r := range records {
		t.records = append(t.records, bytes.Clone(r))
	}
	t.wake()
}

// wake tells those who watch that something has changed.
func (t *task) wake() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

func (t *task) put(b store.Blob) {
	if t.blobs == nil {
		t.blobs = make(map[string][]byte)
	}
	t.blobs[b.Key] = bytes.Clone(b.Value)
}

// ownHead is the head with memory of its own.
func (t *task) ownHead() store.Head {
	h := t.head
	h.Index = bytes.Clone(h.Index)
	return h
}
