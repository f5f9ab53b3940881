package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/axishost/axishost/store"
)

// Read implements store.Log.
func (l *Log) Read(ctx context.Context, task string, after uint64, limit int) ([]store.Record, error) {
	if err := l.enter(ctx); err != nil {
		return nil, err
	}
	defer l.calls.Done()
	for {
		records, deletion, err := l.readOnce(ctx, task, after, limit)
		if deletion == nil {
			if err := firstError(l.fuse.err(), err); err != nil {
				return nil, err
			}
			return records, nil
		}
		select { // the engine may not have the records any more, while they are not yet gone
		case <-deletion.landed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// readOnce is Read from one view. When the task is being deleted it gives the flight that does so, and nothing
// else.
func (l *Log) readOnce(
	ctx context.Context, task string, after uint64, limit int,
) (records []store.Record, deletion *flight, err error) {
	it, f, err := l.view(task, &pebble.IterOptions{LowerBound: headKey(task), UpperBound: append(headKey(task), sep)})
	if err != nil {
		return nil, nil, l.readError("reading", task, 0, err)
	}
	defer func() { err = l.closeView(it, task, err) }()
	if f != nil && f.deletes {
		return nil, f, nil
	}
	h, ok := f.priorHead(task)
	if !ok {
		h, err = l.viewHead(it, task)
	}
	if err != nil {
		return nil, nil, err
	}
	if h.Last == 0 {
		return nil, nil, fmt.Errorf("%w: task %q", store.ErrNotFound, task)
	}
	count := h.Last - min(after, h.Last)
	if limit > 0 {
		count = min(count, uint64(limit))
	}
	if count == 0 {
		return []store.Record{}, nil, nil
	}
	it.SetBounds(recordKey(task, after+1), recordKey(task, after+count+1))
	records, err = l.readRecords(ctx, it, task, after, count)
	return records, nil, err
}

// closeView closes it. It gives err, or when that is nil what closing ended with.
func (l *Log) closeView(it *pebble.Iterator, task string, err error) error {
	if cerr := it.Close(); cerr != nil && err == nil {
		return l.readError("reading", task, 0, cerr)
	}
	return err
}

// viewHead gives the task's head from a view of its key alone; one with Last 0 when there is none.
func (l *Log) viewHead(it *pebble.Iterator, task string) (store.Head, error) {
	if !it.First() {
		if err := it.Error(); err != nil {
			return store.Head{}, l.readError("reading", task, 0, err)
		}
		return store.Head{Task: task}, nil
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return store.Head{}, l.readError("reading", task, 0, err)
	}
	return decodeHead(task, it.Key(), value)
}

// readRecords gives the count records of task that follow after; they are there, or the log is corrupt.
func (l *Log) readRecords(
	ctx context.Context, it *pebble.Iterator, task string, after, count uint64,
) ([]store.Record, error) {
	// A corrupt head must not become an allocation of any size: the records say how many there are.
	records := make([]store.Record, 0, min(count, 1024))
	var memory arena
	key := recordKey(task, 0)
	valid := it.First()
	for seq := after + 1; seq <= after+count; seq++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		binary.BigEndian.PutUint64(key[len(key)-8:], seq)
		if !valid || !bytes.Equal(it.Key(), key) {
			if err := it.Error(); err != nil {
				return nil, l.readError("reading", task, seq, err)
			}
			return nil, &store.CorruptError{Task: task, Seq: seq, Detail: "it is missing"}
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, l.readError("reading", task, seq, err)
		}
		data, ok := unseal(key, value)
		if !ok {
			return nil, &store.CorruptError{Task: task, Seq: seq, Detail: "checksum mismatch"}
		}
		records = append(records, store.Record{Seq: seq, Data: memory.clone(data, after+count-seq+1)})
		valid = it.Next()
	}
	return records, nil
}

// Blob implements store.Log.
func (l *Log) Blob(ctx context.Context, task, key string) ([]byte, error) {
	if err := l.enter(ctx); err != nil {
		return nil, err
	}
	defer l.calls.Done()
	for {
		value, err := l.engineBlob(task, key)
		f := l.aloft(task)
		if f == nil || !f.deletes && !f.blobs[blobID{task, key}] {
			if err := firstError(l.fuse.err(), err); err != nil {
				return nil, err
			}
			return value, nil
		}
		select { // what was seen may not be synced yet
		case <-f.landed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// engineBlob gives a blob as the engine shows it.
func (l *Log) engineBlob(task, key string) ([]byte, error) {
	k := blobKey(task, key)
	value, closer, err := l.db.Get(k)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, fmt.Errorf("%w: task %q: blob %q", store.ErrNotFound, task, key)
	}
	if err != nil {
		return nil, l.readError("reading", task, 0, err)
	}
	defer closer.Close()
	payload, ok := unseal(k, value)
	if !ok {
		return nil, &store.CorruptError{Task: task, Detail: fmt.Sprintf("blob %q: checksum mismatch", key)}
	}
	return bytes.Clone(payload), nil
}

// Head implements store.Log.
func (l *Log) Head(ctx context.Context, task string) (store.Head, error) {
	if err := l.enter(ctx); err != nil {
		return store.Head{}, err
	}
	defer l.calls.Done()
	return l.head(task)
}

// head gives the synced head of a task, or ErrNotFound.
func (l *Log) head(task string) (store.Head, error) {
	h, err := l.engineHead(task)
	if prior, ok := l.aloft(task).priorHead(task); ok {
		h, err = prior, nil
	}
	if err := firstError(l.fuse.err(), err); err != nil {
		return store.Head{}, err
	}
	if h.Last == 0 {
		return store.Head{}, fmt.Errorf("%w: task %q", store.ErrNotFound, task)
	}
	h.Index = bytes.Clone(h.Index) // a prior head is shared with its flight
	return h, nil
}

// engineHead gives a task's head as the engine shows it; one with Last 0 when there is none.
func (l *Log) engineHead(task string) (store.Head, error) {
	key := headKey(task)
	value, closer, err := l.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return store.Head{Task: task}, nil
	}
	if err != nil {
		return store.Head{}, l.readError("reading", task, 0, err)
	}
	defer closer.Close()
	return decodeHead(task, key, value)
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
