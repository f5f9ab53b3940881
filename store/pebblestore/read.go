package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/axishost/axishost/store"
)

// Read implements store.Log.
func (l *Log) Read(ctx context.Context, task string, after uint64, limit int) ([]store.Record, error) {
	if err := l.enter(ctx); err != nil {
		return nil, err
	}
	defer l.calls.Done()
	h, err := l.head(task)
	if err != nil {
		return nil, err
	}
	// The records up to h.Last are synced and do not change any more: a view that is taken now has them.
	count := h.Last - min(after, h.Last)
	if limit > 0 {
		count = min(count, uint64(limit))
	}
	if count == 0 {
		return []store.Record{}, nil
	}
	it, err := l.db.NewIter(&pebble.IterOptions{
		LowerBound: recordKey(task, after+1),
		UpperBound: recordKey(task, after+count+1),
	})
	if err != nil {
		return nil, l.fail("reading", err)
	}
	records, err := l.readRecords(ctx, it, task, after, count)
	if cerr := it.Close(); cerr != nil && err == nil {
		err = l.fail("reading", cerr)
	}
	if err != nil {
		return nil, err
	}
	return records, l.fuse.err()
}

// readRecords gives the count records of task that follow after; they are there, or the log is corrupt.
func (l *Log) readRecords(
	ctx context.Context, it *pebble.Iterator, task string, after, count uint64,
) ([]store.Record, error) {
	// A corrupt head must not become an allocation of any size: the records say how many there are.
	records := make([]store.Record, 0, min(count, 1024))
	key := recordKey(task, 0)
	valid := it.First()
	for seq := after + 1; seq <= after+count; seq++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		binary.BigEndian.PutUint64(key[len(key)-8:], seq)
		if !valid || !bytes.Equal(it.Key(), key) {
			if err := it.Error(); err != nil {
				return nil, l.fail("reading", err)
			}
			return nil, &store.CorruptError{Task: task, Seq: seq, Detail: "it is missing"}
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, l.fail("reading", err)
		}
		data, ok := unseal(key, value)
		if !ok {
			return nil, &store.CorruptError{Task: task, Seq: seq, Detail: "checksum mismatch"}
		}
		records = append(records, store.Record{Seq: seq, Data: bytes.Clone(data)})
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
		f := l.putting(task, key)
		if f == nil {
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
		return nil, l.fail("reading", err)
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
	if err == nil {
		h = l.durable(h)
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
		return store.Head{}, l.fail("reading", err)
	}
	defer closer.Close()
	return decodeHead(task, key, value)
}

// List implements store.Log.
func (l *Log) List(ctx context.Context, q store.Query) ([]store.Head, error) {
	if err := l.enter(ctx); err != nil {
		return nil, err
	}
	defer l.calls.Done()
	lower, upper := bounds(&q)
	if bytes.Compare(lower, upper) >= 0 {
		return nil, nil
	}
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, l.fail("listing", err)
	}
	heads, err := l.listHeads(ctx, it)
	if cerr := it.Close(); cerr != nil && err == nil {
		err = l.fail("listing", cerr)
	}
	if err != nil {
		return nil, err
	}
	heads = slices.DeleteFunc(l.durableOnly(heads), func(h store.Head) bool { return !q.Matches(h.Task, h.Label) })
	return q.Select(heads), l.fuse.err()
}

// bounds gives the keys between which the heads are that q can select.
func bounds(q *store.Query) (lower, upper []byte) {
	lower, upper = headKey(q.Prefix), successor(headKey(q.Prefix))
	if from := headKey(q.From); bytes.Compare(from, lower) > 0 {
		lower = from
	}
	if before := headKey(q.Before); q.Before != "" && bytes.Compare(before, upper) < 0 {
		upper = before
	}
	return lower, upper
}

// listHeads gives the heads that it runs over.
func (l *Log) listHeads(ctx context.Context, it *pebble.Iterator) ([]store.Head, error) {
	var heads []store.Head
	for valid := it.First(); valid; valid = it.Next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, l.fail("listing", err)
		}
		h, err := decodeHead(string(it.Key()[1:]), it.Key(), value)
		if err != nil {
			return nil, err
		}
		heads = append(heads, h)
	}
	return heads, nil
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
