package pebblestore

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/axishost/axishost/store"
)

// Commit implements store.Log.
func (l *Log) Commit(ctx context.Context, c store.Commit) error {
	if err := l.enterWrite(ctx); err != nil {
		return err
	}
	defer l.calls.Done()
	if err := c.Validate(); err != nil {
		return err
	}
	f, err := l.board(ctx, c)
	if err != nil {
		return err
	}
	defer l.land(f)
	heads, prior, err := l.check(c)
	if err != nil {
		return firstError(l.fuse.err(), err) // a failed commit is still to be seen in the engine
	}
	batch, err := l.fill(c, heads)
	if err != nil {
		return l.fail("preparing a commit", err)
	}
	defer batch.Close()
	if err := ctx.Err(); err != nil {
		return err
	}
	l.takeOff(f, prior, c.Blobs)
	l.written.Store(true)
	if err := batch.Commit(pebble.Sync); err != nil {
		return l.fail("committing", err)
	}
	// A write that failed blew the fuse before Commit returned: the engine waits for the sync.
	if err := l.fuse.err(); err != nil {
		return err
	}
	f.synced = heads
	return nil
}

// check gives the head that each append of c leads to, and the heads before. The tasks must be held.
func (l *Log) check(c store.Commit) ([]store.Head, map[string]store.Head, error) {
	heads := make([]store.Head, len(c.Appends))
	prior := make(map[string]store.Head, len(c.Appends))
	for i, a := range c.Appends {
		before, err := l.engineHead(a.Task)
		if err != nil {
			return nil, nil, err
		}
		if heads[i], err = a.Next(before); err != nil {
			return nil, nil, err
		}
		prior[a.Task] = before
	}
	return heads, prior, nil
}

// fill makes the batch of c, whose appends lead to heads.
func (l *Log) fill(c store.Commit, heads []store.Head) (*pebble.Batch, error) {
	batch := l.db.NewBatchWithSize(batchSize(c, heads))
	err := func() error {
		for i, a := range c.Appends {
			h := heads[i]
			err := put(batch, headKey(a.Task), headLen+len(h.Label)+len(h.Index), func(payload []byte) { encodeHead(payload, h) })
			if err != nil {
				return err
			}
			for j, r := range a.Records {
				key := recordKey(a.Task, a.Expected+uint64(j)+1)
				if err := put(batch, key, len(r), func(payload []byte) { copy(payload, r) }); err != nil {
					return err
				}
			}
		}
		for _, b := range c.Blobs {
			key := blobKey(b.Task, b.Key)
			if err := put(batch, key, len(b.Value), func(payload []byte) { copy(payload, b.Value) }); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		_ = batch.Close()
		return nil, err
	}
	return batch, nil
}

// put adds a sealed value, whose payload of n bytes write fills in, to batch.
func put(batch *pebble.Batch, key []byte, n int, write func(payload []byte)) error {
	op := batch.SetDeferred(len(key), sumLen+n)
	copy(op.Key, key)
	write(op.Value[sumLen:])
	seal(op.Key, op.Value)
	return op.Finish()
}

// batchSize gives at least the bytes that c takes as a batch, so that filling it moves nothing.
func batchSize(c store.Commit, heads []store.Head) int {
	const each = 1 + 2*5 + sumLen // the entry's kind, two lengths, the checksum
	n := 12                       // the batch's header
	for i, a := range c.Appends {
		n += each + len(headKey("")) + len(a.Task) + headLen + len(heads[i].Label) + len(heads[i].Index)
		for _, r := range a.Records {
			n += each + len(recordKey("", 0)) + len(a.Task) + len(r)
		}
	}
	for _, b := range c.Blobs {
		n += each + len(blobKey("", "")) + len(b.Task) + len(b.Key) + len(b.Value)
	}
	return n
}
