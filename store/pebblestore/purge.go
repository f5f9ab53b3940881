package pebblestore

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A deletion hides what a task had; the bytes stay in tables until those are rewritten. That a task is gone for
// good must not hang on a process that lives long enough to see to it: a mark is written with the deletion, and
// whoever closes the log next does what is left.

// purges gives the deleted tasks whose bytes may still be there.
func (l *Log) purges() ([]string, error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: []byte{kindPurge}, UpperBound: []byte{kindPurge + 1}})
	if err != nil {
		return nil, err
	}
	var tasks []string
	for valid := it.First(); valid; valid = it.Next() {
		tasks = append(tasks, string(it.Key()[1:]))
	}
	return tasks, it.Close()
}

// compactAll rewrites everything. What had been deleted before is gone then.
func (l *Log) compactAll(ctx context.Context) error {
	tasks, err := l.purges()
	if err == nil {
		err = l.db.Compact(ctx, []byte{0}, []byte{0xff}, true)
	}
	if err != nil {
		return err
	}
	return l.purged(tasks)
}

// purge rewrites the tables that have something of deleted tasks, and no others. It says whether it did anything.
// What cannot be done, for damage, stays marked. It is for Close: nobody else uses the engine then.
func (l *Log) purge() bool {
	if l.readOnly != nil || l.fuse.isBlown() || !l.roomy() {
		return false
	}
	tasks, err := l.purges()
	if err != nil || len(tasks) == 0 {
		return false
	}
	ctx, cancel := l.whileCompacting(context.Background())
	defer cancel()
	for _, task := range tasks {
		if l.purgeTask(ctx, task) != nil {
			return false
		}
	}
	return l.purged(tasks) == nil
}

// purgeRoom is what has to be free on the disk for a purge, in bytes. It writes a few tables of 2 MB before it
// removes the old ones; a log must not fail for it as it is closed.
const purgeRoom = 64 << 20

// roomy says whether a purge finds room on the disk.
func (l *Log) roomy() bool {
	usage, err := l.disk()
	return errors.Is(err, vfs.ErrUnsupported) || err == nil && usage.AvailBytes > purgeRoom
}

func (l *Log) purgeTask(ctx context.Context, task string) error {
	if err := l.db.Compact(ctx, headKey(task), append(headKey(task), sep), false); err != nil {
		return err
	}
	for _, kind := range []byte{kindRecord, kindBlob} {
		first := append(append([]byte{kind}, task...), sep)
		if err := l.db.Compact(ctx, first, successor(first), false); err != nil {
			return err
		}
	}
	return nil
}

// purged takes the marks of tasks away. They need no sync: one that comes back costs a second look.
func (l *Log) purged(tasks []string) error {
	for _, task := range tasks {
		if err := l.db.Delete(purgeKey(task), pebble.NoSync); err != nil {
			return err
		}
		l.written.Store(true)
	}
	return nil
}
