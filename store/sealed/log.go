package sealed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/axishost/axishost/store"
)

// Log is a store.Log that keeps everything in another one. Make one with Open. It has no state of its own
// that changes, so that several of them, in several processes, can be on one inner log.
type Log struct {
	inner store.Log
	mode  mode
	keys  *keys
}

var _ store.Log = (*Log)(nil)

// Commit implements store.Log. Encryption adds 37 bytes to each record, index entry and blob, and a plain
// store one byte to each blob: a commit is ErrInvalid, too, when it exceeds store.MaxCommitSize with those.
func (l *Log) Commit(ctx context.Context, c store.Commit) error {
	if err := c.Validate(); err != nil {
		return err
	}
	for _, a := range c.Appends {
		if a.Task == reserved {
			return fmt.Errorf("%w: task id %q is reserved", store.ErrInvalid, reserved)
		}
	}
	for _, b := range c.Blobs {
		if b.Task == reserved {
			return fmt.Errorf("%w: a blob's task id %q is reserved", store.ErrInvalid, reserved)
		}
	}
	if n := l.added(c); c.Size()+n > store.MaxCommitSize {
		return fmt.Errorf("%w: %d bytes, and %d more to store them, at most %d are allowed",
			store.ErrInvalid, c.Size(), n, store.MaxCommitSize)
	}
	if err := ctx.Err(); err != nil {
		return err // before the work
	}
	return l.inner.Commit(ctx, l.seal(c))
}

// added is by how many bytes the sealed form of c is larger.
func (l *Log) added(c store.Commit) int {
	switch l.mode {
	case modePlain:
		return len(c.Blobs)
	case modeEncrypted:
		n := len(c.Blobs)
		for _, a := range c.Appends {
			n += len(a.Records)
			if a.Index != nil {
				n++
			}
		}
		return n * overhead
	}
	return 0
}

// seal gives c as the inner log gets it.
func (l *Log) seal(c store.Commit) store.Commit {
	if l.mode == modeEncrypted {
		c.Appends = slices.Clone(c.Appends)
		for i := range c.Appends {
			l.sealAppend(&c.Appends[i])
		}
	}
	c.Blobs = slices.Clone(c.Blobs)
	for i := range c.Blobs {
		l.sealBlob(&c.Blobs[i])
	}
	return c
}

func (l *Log) sealAppend(a *store.Append) {
	data := l.keys.data(a.Task)
	records := make([][]byte, len(a.Records))
	for i, r := range a.Records {
		records[i] = l.keys.seal(data, place{kind: kindRecord, task: a.Task, seq: a.Expected + uint64(i) + 1}, r)
	}
	a.Records = records
	if a.Index != nil {
		a.Index = l.keys.seal(l.keys.index, place{kind: kindIndex, task: a.Task}, a.Index)
	}
}

func (l *Log) sealBlob(b *store.Blob) {
	if l.mode == modeEncrypted {
		b.Value = l.keys.seal(l.keys.data(b.Task), place{kind: kindBlob, task: b.Task, blob: b.Key}, b.Value)
	} else {
		b.Value = slices.Concat([]byte{formPlain}, b.Value)
	}
	b.Key = l.keys.address(b.Task, b.Key)
}

// Read implements store.Log.
func (l *Log) Read(ctx context.Context, task string, after uint64, limit int) ([]store.Record, error) {
	if err := l.hidden(ctx, task); err != nil {
		return nil, err
	}
	records, err := l.inner.Read(ctx, task, after, limit)
	if err != nil || l.mode != modeEncrypted {
		return records, err
	}
	data := l.keys.data(task)
	for i, r := range records {
		plain, err := l.keys.open(data, place{kind: kindRecord, task: task, seq: r.Seq}, r.Data)
		if err != nil {
			return nil, &store.CorruptError{Task: task, Seq: r.Seq, Detail: err.Error()}
		}
		records[i].Data = plain
	}
	return records, nil
}

// Blob implements store.Log.
func (l *Log) Blob(ctx context.Context, task, key string) ([]byte, error) {
	if err := l.hidden(ctx, task); err != nil {
		return nil, err
	}
	value, err := l.inner.Blob(ctx, task, l.keys.address(task, key))
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%w: task %q: blob %q", store.ErrNotFound, task, key) // not by its digest
	}
	if err != nil {
		return nil, err
	}
	switch {
	case l.mode == modeEncrypted:
		value, err = l.keys.open(l.keys.data(task), place{kind: kindBlob, task: task, blob: key}, value)
	case len(value) == 0:
		err = errors.New("it is empty")
	case value[0] != formPlain:
		err = fmt.Errorf("its form is %d", value[0])
	default:
		value = value[1:]
	}
	if err != nil {
		return nil, &store.CorruptError{Task: task, Detail: fmt.Sprintf("blob %q: %v", key, err)}
	}
	return value, nil
}

// Head implements store.Log.
func (l *Log) Head(ctx context.Context, task string) (store.Head, error) {
	if err := l.hidden(ctx, task); err != nil {
		return store.Head{}, err
	}
	h, err := l.inner.Head(ctx, task)
	if err == nil {
		err = l.openHead(&h)
	}
	if err != nil {
		return store.Head{}, err
	}
	return h, nil
}

// List implements store.Log.
func (l *Log) List(ctx context.Context, q store.Query) ([]store.Head, error) {
	wide := q
	if q.Last > 0 && q.Matches(reserved, "") {
		wide.Last++ // it is one of the last, perhaps
	}
	heads, err := l.inner.List(ctx, wide)
	if err != nil {
		return nil, err
	}
	heads = q.Select(slices.DeleteFunc(heads, func(h store.Head) bool { return h.Task == reserved }))
	for i := range heads {
		if err := l.openHead(&heads[i]); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// openHead decrypts h's index. An empty one was never set: there was nothing to encrypt.
func (l *Log) openHead(h *store.Head) error {
	if l.mode != modeEncrypted || len(h.Index) == 0 {
		return nil
	}
	index, err := l.keys.open(l.keys.index, place{kind: kindIndex, task: h.Task}, h.Index)
	if err != nil {
		return &store.CorruptError{Task: h.Task, Detail: "index entry: " + err.Error()}
	}
	h.Index = index
	return nil
}

// Watch implements store.Log.
func (l *Log) Watch(ctx context.Context, task string, after uint64) (uint64, error) {
	if err := l.hidden(ctx, task); err != nil {
		return 0, err
	}
	return l.inner.Watch(ctx, task, after)
}

// Delete implements store.Log.
func (l *Log) Delete(ctx context.Context, task string, expected uint64) error {
	if err := l.hidden(ctx, task); err != nil {
		return err
	}
	return l.inner.Delete(ctx, task, expected)
}

// Compact implements store.Log.
func (l *Log) Compact(ctx context.Context) error { return l.inner.Compact(ctx) }

// Close implements store.Log: it closes the inner log.
func (l *Log) Close() error { return l.inner.Close() }

// hidden refuses to show the reserved task.
func (l *Log) hidden(ctx context.Context, task string) error {
	if task != reserved {
		return nil
	}
	if _, err := l.inner.Head(ctx, task); err != nil {
		return err // closed, say; the task is there
	}
	return fmt.Errorf("%w: task %q", store.ErrNotFound, task)
}
