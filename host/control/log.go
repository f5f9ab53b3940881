package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/axishost/axishost/store"
)

// DefaultPatience is how long a process that has the store may take to answer, or to let go of it: far longer
// than a slow disk or a busy machine makes anybody wait, and not so long that a person gives up first.
const DefaultPatience = 20 * time.Second

// Options of Open.
type Options struct {
	// Dir is the store's directory.
	Dir string
	// Open opens the store itself: store.ErrInUse when another process has it.
	Open func() (store.Log, error)
	// Version is this program's, for the errors of others.
	Version string
	// Patience is DefaultPatience when 0.
	Patience time.Duration
	// Waiting, where it is set, is called once when another process keeps this one waiting.
	Waiting func()
}

// backend is the store as this process has it for now: its own, or another's.
type backend interface {
	store.Log
	running(ctx context.Context) (map[string]int, error)
	hold(ctx context.Context, task string, pid int, registered func()) error
	process() int // that has the store; 0 when it is not known
}

var (
	_ backend   = (*server)(nil)
	_ backend   = (*client)(nil)
	_ store.Log = (*Log)(nil)
)

// Log is a store that several processes share. Make one with Open.
type Log struct {
	opts Options
	ctx  context.Context // ends with Close
	end  context.CancelFunc

	attaching chan struct{} // holds one token: who has it may set current
	closing   sync.Once
	closeErr  error
	calls     sync.WaitGroup // under way

	mu      sync.Mutex
	current backend // nil while it is looked for
	closed  bool
}

// Open opens the store, or finds the process that has it. The error is one line that says what to do.
func Open(ctx context.Context, opts Options) (*Log, error) {
	if opts.Patience == 0 {
		opts.Patience = DefaultPatience
	}
	l := &Log{opts: opts, attaching: make(chan struct{}, 1)}
	l.ctx, l.end = context.WithCancel(context.Background())
	if _, err := l.attached(ctx); err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

// enter begins a call, which ends with calls.Done, or says why it is refused.
func (l *Log) enter(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.calls.Add(1)
	return nil
}

// attached gives the store, and looks for it where it is not there.
func (l *Log) attached(ctx context.Context) (backend, error) {
	select {
	case l.attaching <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.attaching }()
	l.mu.Lock()
	current := l.current
	l.mu.Unlock()
	if current != nil {
		return current, nil
	}
	found, err := l.attach(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = found
	return found, nil
}

// attach finds the process that has the store, or takes the store. While one is beginning or ending there is
// neither: then it tries again, until the patience is over.
func (l *Log) attach(ctx context.Context) (backend, error) {
	if l.opts.Waiting != nil {
		defer time.AfterFunc(min(warnAfter, l.opts.Patience/2), l.opts.Waiting).Stop()
	}
	w := l.newWait()
	for {
		found, err := l.tryAttach(ctx)
		if err == nil || !errors.Is(err, errLost) {
			return found, err
		}
		if w.over() {
			return nil, l.advise(fmt.Errorf("%w, which does not serve it to others", store.ErrInUse))
		}
		if err := w.rest(ctx); err != nil {
			return nil, err
		}
	}
}

// warnAfter is how long it waits in silence.
const warnAfter = 2 * time.Second

// tryAttach tries once; errLost: there is a process that has the store and does not serve it, or not yet.
func (l *Log) tryAttach(ctx context.Context) (backend, error) {
	c, err := dial(ctx, l.opts.Dir, l.opts.Patience)
	if err == nil {
		return c, nil
	}
	if !errors.Is(err, errLost) {
		return nil, l.advise(err)
	}
	own, err := l.opts.Open()
	switch {
	case errors.Is(err, store.ErrInUse):
		return nil, errLost
	case err != nil:
		return nil, err
	}
	return serve(l.opts.Dir, own, l.opts.Version), nil
}

// advise says of which store an error is, and what to do.
func (l *Log) advise(err error) error {
	var hung *hungError
	if !errors.Is(err, store.ErrInUse) {
		return err
	}
	end := "end the axishost that has it"
	if errors.As(err, &hung) && hung.pid != 0 {
		end = fmt.Sprintf("end it (kill -9 %d)", hung.pid)
	}
	return fmt.Errorf("opening the log in %q: %w; %s, or name another directory", l.opts.Dir, err, end)
}

// detach lets go of a store whose process is gone.
func (l *Log) detach(gone backend) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == gone {
		l.current = nil
		_ = gone.Close()
	}
}

// do calls a method of the store, again when the process that had it went. again tells that: what was asked
// for may then have been done already.
func (l *Log) do(ctx context.Context, call func(b backend, again bool) error) error {
	if err := l.enter(ctx); err != nil {
		return err
	}
	defer l.calls.Done()
	var w *wait
	for again := false; ; again = true {
		b, err := l.attached(ctx)
		if err != nil {
			return err
		}
		begun := time.Now()
		err = call(b, again)
		if !errors.Is(err, errLost) {
			return l.advise(err)
		}
		l.detach(b)
		switch {
		case w == nil || time.Since(begun) > l.opts.Patience: // the first loss, or a call that lasted
			w = l.newWait()
		case w.over():
			return l.advise(&hungError{b.process(), "breaks off every answer"})
		default:
			err = w.rest(ctx)
		}
		if err != nil && !errors.Is(err, errLost) {
			return err
		}
	}
}

// Commit implements store.Log.
func (l *Log) Commit(ctx context.Context, c store.Commit) error {
	return l.do(ctx, func(b backend, again bool) error {
		if again {
			if done, err := isDone(ctx, b, &c); done || err != nil {
				return err
			}
		}
		return b.Commit(ctx, c)
	})
}

// isDone tells whether a commit is in the log. One append that is there shows it for all. Only blobs that are
// put again do no harm.
func isDone(ctx context.Context, b backend, c *store.Commit) (bool, error) {
	if len(c.Appends) == 0 {
		return false, nil
	}
	a := &c.Appends[0]
	got, err := b.Read(ctx, a.Task, a.Expected, len(a.Records))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	same := slices.EqualFunc(got, a.Records, func(r store.Record, data []byte) bool { return bytes.Equal(r.Data, data) })
	return same && err == nil, err
}

// Read implements store.Log.
func (l *Log) Read(ctx context.Context, task string, after uint64, limit int) (out []store.Record, err error) {
	err = l.do(ctx, func(b backend, _ bool) (err error) {
		out, err = b.Read(ctx, task, after, limit)
		return err
	})
	return out, err
}

// Blob implements store.Log.
func (l *Log) Blob(ctx context.Context, task, key string) (out []byte, err error) {
	err = l.do(ctx, func(b backend, _ bool) (err error) {
		out, err = b.Blob(ctx, task, key)
		return err
	})
	return out, err
}

// Head implements store.Log.
func (l *Log) Head(ctx context.Context, task string) (out store.Head, err error) {
	err = l.do(ctx, func(b backend, _ bool) (err error) {
		out, err = b.Head(ctx, task)
		return err
	})
	return out, err
}

// List implements store.Log.
func (l *Log) List(ctx context.Context, q store.Query) (out []store.Head, err error) {
	err = l.do(ctx, func(b backend, _ bool) (err error) {
		out, err = b.List(ctx, q)
		return err
	})
	return out, err
}

// Watch implements store.Log.
func (l *Log) Watch(ctx context.Context, task string, after uint64) (out uint64, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(l.ctx, stop)()
	err = l.do(ctx, func(b backend, _ bool) (err error) {
		out, err = b.Watch(ctx, task, after)
		return err
	})
	if l.ctx.Err() != nil && err != nil {
		err = store.ErrClosed
	}
	return out, err
}

// Delete implements store.Log.
func (l *Log) Delete(ctx context.Context, task string, expected uint64) error {
	return l.do(ctx, func(b backend, again bool) error {
		err := b.Delete(ctx, task, expected)
		if again && errors.Is(err, store.ErrNotFound) {
			return nil // the first try did it
		}
		return err
	})
}

// Compact implements store.Log.
func (l *Log) Compact(ctx context.Context) error {
	return l.do(ctx, func(b backend, _ bool) error { return b.Compact(ctx) })
}

// Close implements store.Log. The store is free then, or another process's.
func (l *Log) Close() error {
	l.closing.Do(func() {
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		l.end() // watches and holds
		l.calls.Wait()
		if l.current != nil {
			l.closeErr = l.current.Close()
		}
	})
	return l.closeErr
}

// Own gives the store itself where this process has it; nil where another has it.
func (l *Log) Own() store.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, own := l.current.(*server); own {
		return s.Log
	}
	return nil
}

// Running gives the tasks that are being run, each with its process.
func (l *Log) Running(ctx context.Context) (out map[string]int, err error) {
	err = l.do(ctx, func(b backend, _ bool) (err error) {
		out, err = b.running(ctx)
		return err
	})
	return out, err
}

// Begin says that this process runs a task, until end is called. *BusyError: one does already.
func (l *Log) Begin(ctx context.Context, task string) (end func(), err error) {
	holding, stop := context.WithCancel(l.ctx)
	first := make(chan error, 1)
	var once sync.Once
	told := func(err error) { once.Do(func() { first <- err }) }
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		told(l.keep(holding, task, func() { told(nil) }))
	}()
	end = func() {
		stop()
		<-ended
	}
	select {
	case err = <-first:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// keep holds a task over all changes of the process that has the store.
func (l *Log) keep(ctx context.Context, task string, registered func()) error {
	return l.do(ctx, func(b backend, again bool) error {
		return b.hold(ctx, task, os.Getpid(), registered)
	})
}
