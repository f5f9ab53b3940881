package pebblestore

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/axishost/axishost/store"
)

// Delete implements store.Log.
func (l *Log) Delete(ctx context.Context, task string, expected uint64) error {
	if err := l.enterWrite(ctx); err != nil {
		return err
	}
	defer l.calls.Done()
	f, err := l.boardTasks(ctx, []string{task})
	if err != nil {
		return err
	}
	defer l.land(f)
	before, err := l.engineHead(task)
	switch {
	case err != nil:
		return firstError(l.fuse.err(), err)
	case before.Last == 0:
		return fmt.Errorf("%w: task %q", store.ErrNotFound, task)
	case before.Last != expected:
		return fmt.Errorf("%w: task %q is at %d, the deletion expects %d", store.ErrConflict, task, before.Last, expected)
	}
	batch := l.db.NewBatch()
	defer batch.Close()
	if err := clearTask(batch, task); err != nil {
		return l.fail("preparing a deletion", err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.deletes = true // nobody looks before it is aloft
	l.takeOff(f, map[string]store.Head{task: before}, nil)
	l.written.Store(true)
	if err := batch.Commit(pebble.Sync); err != nil {
		return l.fail("deleting", err)
	}
	return l.fuse.err()
}

// clearTask adds the deletion of all that a task has to batch, and that its bytes are to go too.
func clearTask(batch *pebble.Batch, task string) error {
	if err := put(batch, purgeKey(task), 0, func([]byte) {}); err != nil {
		return err
	}
	if err := batch.Delete(headKey(task), nil); err != nil {
		return err
	}
	for _, kind := range []byte{kindRecord, kindBlob} {
		first := append(append([]byte{kind}, task...), sep)
		if err := batch.DeleteRange(first, successor(first), nil); err != nil {
			return err
		}
	}
	return nil
}

// whileCompacting gives a ctx that ends with the engine's compactions: it would wait for a turn that does not come.
func (l *Log) whileCompacting(ctx context.Context) (context.Context, context.CancelFunc) {
	within, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-l.fuse.compactions.stopped:
			cancel()
		case <-within.Done():
		}
	}()
	return within, cancel
}

// Compact implements store.Log. Damage that it meets ends it, and all compactions: *store.CorruptError.
func (l *Log) Compact(ctx context.Context) error {
	if err := l.enter(ctx); err != nil {
		return err
	}
	defer l.calls.Done()
	flush(l.db, l.fuse)
	if err := l.fuse.err(); err != nil {
		return err
	}
	within, cancel := l.whileCompacting(ctx)
	defer cancel()
	err := l.compactAll(within)
	if failed := l.fuse.err(); failed != nil {
		return failed
	}
	switch stopped := l.fuse.compactions.err(); {
	case stopped != nil:
		return l.readError("compacting", "", 0, stopped)
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return l.readError("compacting", "", 0, err)
	}
	return nil
}
