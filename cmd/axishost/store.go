package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/control"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/axishost/axishost/store/sealed"
)

// sharedStore is the event log as commands use it: this process's own, or another's that serves it.
type sharedStore struct {
	log     store.Log
	control *control.Log
	key     *sealed.Key // nil: the store is plain
}

// storeOptions say how a command opens the store.
type storeOptions struct {
	// mustExist: a store that is not there yet is not made, and none is opened. Reading from nowhere should
	// leave nothing behind.
	mustExist bool
	// patience bounds the wait for another process; 0 is the user's own, or the default.
	patience time.Duration
}

// openStore opens the event log; nil when there is none and it must exist.
func (a *app) openStore(ctx context.Context, o storeOptions) (*sharedStore, error) {
	dir, err := a.storePath()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); o.mustExist && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	key, err := keyFile()
	if err != nil {
		return nil, err
	}
	var waiting func()
	if o.patience == 0 {
		if o.patience, err = patience(); err != nil {
			return nil, err
		}
		if a.told != quiet {
			waiting = func() { fmt.Fprintln(a.err, "waiting for the process that has the store in "+dir) }
		}
	}
	shared, err := control.Open(ctx, control.Options{
		Dir: dir, Version: version(), Patience: o.patience,
		Open: func() (store.Log, error) {
			log, err := pebblestore.Open(dir, pebblestore.Options{})
			if err != nil {
				return nil, err
			}
			return log, nil
		},
		Waiting: waiting,
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, host.ErrInterrupted
	case err != nil:
		return nil, &codeError{exitStore, elsewhere(err)}
	}
	log, err := sealed.Open(ctx, shared, sealed.Options{Key: key})
	if err != nil && ctx.Err() != nil {
		_ = shared.Close()
		return nil, host.ErrInterrupted
	}
	if err != nil {
		_ = shared.Close()
		return nil, fmt.Errorf("opening the log in %q: %w", dir, err)
	}
	s := &sharedStore{log, shared, key}
	if a.through != nil {
		s.log = a.through(log)
	}
	return s, nil
}

// elsewhere adds to the error of a store that cannot be opened how another one is named.
func elsewhere(err error) error {
	if strings.Contains(err.Error(), "name another") {
		return fmt.Errorf("%w (--store or AXISHOST_STORE)", err)
	}
	return err
}

// keyFile reads the key that the store is encrypted with; nil without one.
func keyFile() (*sealed.Key, error) {
	path := os.Getenv("AXISHOST_KEY_FILE")
	if path == "" {
		return nil, nil
	}
	key, err := sealed.ReadKeyFile(path)
	if err != nil {
		return nil, usage(fmt.Errorf("AXISHOST_KEY_FILE: %w", err))
	}
	return key, nil
}

// keyID is the id of the key that the store is encrypted with; empty for a plain one.
func (s *sharedStore) keyID() string {
	if s.key == nil {
		return ""
	}
	return s.key.ID()
}

// patience is how long to wait for another process that has the store.
func patience() (time.Duration, error) {
	text := os.Getenv("AXISHOST_STORE_WAIT")
	if text == "" {
		return control.DefaultPatience, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait <= 0 {
		return 0, usage(fmt.Errorf("AXISHOST_STORE_WAIT=%q is no duration above zero, such as 5s", text))
	}
	return wait, nil
}

// close lets go of the store. Everything that was committed is on disk by then; an error tells that the store
// has failed since, or is gone.
func (s *sharedStore) close() error {
	if err := s.log.Close(); err != nil {
		return &codeError{exitStore, fmt.Errorf("closing the store: %w", err)}
	}
	return nil
}

// host makes a host on the store.
func (s *sharedStore) host(opts host.Options) (*host.Host, error) {
	opts.Log, opts.Runners, opts.Version = s.log, s.control, version()
	return host.Open(opts)
}

// withStore opens the store for as long as do runs; do gets nil when there is none and it must exist.
func (a *app) withStore(ctx context.Context, o storeOptions, do func(s *sharedStore) error) error {
	s, err := a.openStore(ctx, o)
	if err != nil {
		return err
	}
	if s == nil {
		return do(nil)
	}
	err = do(s)
	if closing := s.close(); err == nil {
		err = closing
	}
	return err
}

// reading gives a host that runs nothing to do, but for the plugins of a task that is cancelled in the middle of a write;
// a nil one when there is no store yet.
func (a *app) reading(ctx context.Context, o storeOptions, do func(h *host.Host) error) error {
	o.mustExist = true
	return a.withStore(ctx, o, func(s *sharedStore) error {
		if s == nil {
			return do(nil)
		}
		h, err := s.host(host.Options{CacheDir: cachePath()})
		if err != nil {
			return err
		}
		return do(h)
	})
}

// withTask finds the task that name stands for, and gives it to do.
func (a *app) withTask(ctx context.Context, name string, do func(h *host.Host, task host.Summary) error) error {
	return a.reading(ctx, storeOptions{}, func(h *host.Host) error {
		if h == nil {
			return a.emptyStore(name)
		}
		task, err := a.findTask(ctx, h, name)
		if err != nil {
			return err
		}
		return do(h, task)
	})
}

// findTask finds the task that name stands for, or says how to see which there are.
func (a *app) findTask(ctx context.Context, h *host.Host, name string) (host.Summary, error) {
	task, err := h.Find(ctx, name)
	switch {
	case errors.Is(err, host.ErrNoTask) && strings.EqualFold(name, "last"):
		return task, a.emptyStore(name)
	case errors.Is(err, host.ErrNoTask):
		return task, fmt.Errorf("%w; see which there are with axishost tasks list", err)
	}
	return task, err
}

// emptyStore is the error of a command that needs a task where there is none.
func (a *app) emptyStore(name string) error {
	dir, err := a.storePath()
	if err != nil {
		return err
	}
	return usage(fmt.Errorf("task %q: there are no tasks yet in %s", name, dir))
}
