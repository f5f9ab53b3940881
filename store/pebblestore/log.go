package pebblestore

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/axishost/axishost/store"
)

// Log is an event log in a directory. Open makes one; Close it to let go of the directory.
type Log struct {
	db   *pebble.DB
	lock io.Closer // on the directory
	fuse *fuse
	seal func() // makes damage to the directory at rest be found
	disk func() (vfs.DiskUsage, error)

	readOnly *store.CorruptError // why nothing is written; nil when it is

	written   atomic.Bool    // something was committed
	closing   chan struct{}  // closed by the first Close
	calls     sync.WaitGroup // that use db
	closeOnce sync.Once
	closeErr  error

	mu      sync.Mutex         // held for moments, never while waiting or while the engine works
	flights map[string]*flight // by task
	watches map[string]*watch  // by task
}

var _ store.Log = (*Log)(nil)

// enter begins a call, which ends with calls.Done, or says why it is refused.
func (l *Log) enter(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fuse.err(); err != nil {
		return err
	}
	select {
	case <-l.closing:
		return store.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.calls.Add(1)
	return nil
}

// enterWrite is enter for a call that changes the log.
func (l *Log) enterWrite(ctx context.Context) error {
	err := l.enter(ctx)
	if err == nil && l.readOnly != nil {
		l.calls.Done()
		return l.readOnly
	}
	return err
}

// Close implements store.Log. It returns ErrFailed when the log failed, or fails now; nothing that was
// committed is lost by that.
func (l *Log) Close() error {
	l.closeOnce.Do(func() {
		l.mu.Lock()
		close(l.closing)
		l.mu.Unlock()
		l.calls.Wait()
		// The engine checks each block of a table, but takes damage at the end of its write-ahead log for a
		// write that a crash tore. So a log at rest has everything in tables.
		if l.written.Load() {
			flush(l.db, l.fuse)
		}
		if l.purge() {
			flush(l.db, l.fuse)
		}
		if err := closeEngine(l.db, l.lock); err != nil {
			l.fuse.blow(fmt.Errorf("closing: %w", err))
		}
		if l.closeErr = l.fuse.err(); l.closeErr == nil {
			l.seal()
		}
	})
	return l.closeErr
}

// flush moves what was committed from the write-ahead log into tables, and begins a new one.
func flush(db *pebble.DB, fuse *fuse) {
	if fuse.isBlown() {
		return
	}
	flushed, err := db.AsyncFlush()
	if err != nil {
		fuse.blow(fmt.Errorf("flushing: %w", err))
		return
	}
	select {
	case <-flushed:
	case <-fuse.blown: // the engine may try for ever
	}
}
