package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axishost/axishost/store"
)

// errLost says that the process that has the store is gone, or is closing it. The call may have been done.
var errLost = errors.New("the process that has the store is gone")

// hungError says that the process that has the store does not answer, or not in a way that can be used.
type hungError struct {
	pid  int
	does string // in place of an answer; empty: nothing
}

func (e *hungError) Error() string {
	who, does := "another process", e.does
	if e.pid != 0 {
		who = fmt.Sprintf("process %d", e.pid)
	}
	if does == "" {
		does = "does not answer"
	}
	return fmt.Sprintf("%v: %s has it and %s", store.ErrInUse, who, does)
}

func (e *hungError) Unwrap() error { return store.ErrInUse }

// client is the store of another process.
type client struct {
	http     *http.Client
	patience time.Duration
	pid      atomic.Int64 // of the other process; 0 when it is not known
}

// dial finds the process that serves dir's socket. errLost: there is none.
func dial(ctx context.Context, dir string, patience time.Duration) (*client, error) {
	path := filepath.Join(dir, socketName)
	c := &client{patience: patience}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
			err = withShortPath(path, func(short string) error {
				conn, err = (&net.Dialer{}).DialContext(ctx, "unix", short)
				return err
			})
			if err == nil {
				c.pid.Store(int64(peer(conn)))
			}
			return conn, err
		},
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: 64 << 10,
	}}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, &hungError{})
	defer cancel()
	var h hello
	err := c.get(ctx, &h)
	if err == nil && h.Protocol != protocol {
		err = fmt.Errorf("%w: process %d has it (axishost %s) and speaks version %d of the protocol, this one speaks %d; use the same version, or wait until it ends",
			store.ErrInUse, h.PID, plain(h.Version), h.Protocol, protocol)
	}
	if err != nil {
		c.http.CloseIdleConnections()
		return nil, err
	}
	c.pid.Store(int64(h.PID))
	return c, nil
}

func (c *client) get(ctx context.Context, h *hello) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://store"+helloPath, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.lost(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(resp.Body, 4096)).Decode(h); err != nil {
		return c.lost(ctx, err)
	}
	if h.Protocol <= 0 || resp.StatusCode != http.StatusOK {
		return c.lost(ctx, errors.New("it is not axishost that answers"))
	}
	return nil
}

// plain gives the version that another program says it is, where that is fit to be shown.
func plain(version string) string {
	strange := func(r rune) bool { return r <= ' ' || r > '~' }
	if version == "" || len(version) > 80 || strings.ContainsFunc(version, strange) {
		return "of an unknown version"
	}
	return version
}

// lost gives a failed exchange its meaning: the caller's end of ctx, a process that does not answer, or one
// that is gone.
func (c *client) lost(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	var hung *hungError
	if errors.As(context.Cause(ctx), &hung) {
		return &hungError{pid: int(c.pid.Load())}
	}
	return ctx.Err()
}

// post sends a request and gives the response of it.
func (c *client) post(ctx context.Context, path string, req *request) (*http.Response, error) {
	enc, _ := encoding()
	body, err := enc.Marshal(req)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://store"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	return resp, nil
}

// call does one call within the patience.
func (c *client) call(ctx context.Context, req *request) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience, &hungError{})
	defer cancel()
	return c.callUnbounded(ctx, req)
}

// callLong is call for what may rightly take long, as long as the other process is alive.
func (c *client) callLong(ctx context.Context, req *request) (*answer, error) {
	ctx, stop := c.attended(ctx)
	defer stop()
	return c.callUnbounded(ctx, req)
}

// attended gives a ctx that ends when the other process does not answer any more: it is asked from time to time
// whether it is there.
func (c *client) attended(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var asking sync.WaitGroup
	asking.Go(func() {
		ticker := time.NewTicker(c.patience / 2)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			ask, done := context.WithTimeoutCause(ctx, c.patience, &hungError{})
			var hung *hungError
			if errors.As(c.get(ask, &hello{}), &hung) {
				cancel(hung)
			}
			done()
		}
	})
	return ctx, func() {
		cancel(nil)
		asking.Wait()
	}
}

func (c *client) callUnbounded(ctx context.Context, req *request) (*answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	resp, err := c.post(ctx, callPath, req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	return c.answer(ctx, resp)
}

func (c *client) answer(ctx context.Context, resp *http.Response) (*answer, error) {
	// An answer says how long it is: what does not is none, and may never end.
	if resp.ContentLength < 0 || resp.ContentLength > maxAnswer {
		return nil, c.garbled()
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	_, dec := encoding()
	a := &answer{}
	if resp.StatusCode != http.StatusOK || dec.Unmarshal(body, a) != nil {
		return nil, c.garbled()
	}
	if a.Failure == nil {
		return a, nil
	}
	err = a.Failure.err()
	if errors.Is(err, store.ErrClosed) {
		err = fmt.Errorf("%w: %w", errLost, err)
	}
	return nil, err
}

func (c *client) garbled() error {
	return &hungError{int(c.pid.Load()), "answers with what cannot be understood"}
}

// Commit implements store.Log. Once it is sent, ctx is not looked at.
func (c *client) Commit(ctx context.Context, commit store.Commit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := commit.Validate(); err != nil {
		return err // what could not be sent either
	}
	_, err := c.call(context.WithoutCancel(ctx), &request{Method: methodCommit, Commit: commit})
	return err
}

func (c *client) Read(ctx context.Context, task string, after uint64, limit int) ([]store.Record, error) {
	a, err := c.call(ctx, &request{Method: methodRead, Task: task, Seq: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	if a.Records == nil {
		a.Records = []store.Record{}
	}
	return a.Records, nil
}

func (c *client) Blob(ctx context.Context, task, key string) ([]byte, error) {
	a, err := c.call(ctx, &request{Method: methodBlob, Task: task, Key: key})
	if err != nil {
		return nil, err
	}
	return a.Blob, nil
}

func (c *client) Head(ctx context.Context, task string) (store.Head, error) {
	a, err := c.call(ctx, &request{Method: methodHead, Task: task})
	if err != nil {
		return store.Head{}, err
	}
	if len(a.Heads) != 1 {
		return store.Head{}, c.garbled()
	}
	return a.Heads[0], nil
}

func (c *client) List(ctx context.Context, q store.Query) ([]store.Head, error) {
	a, err := c.call(ctx, &request{Method: methodList, Query: q})
	if err != nil {
		return nil, err
	}
	return a.Heads, nil
}

func (c *client) Watch(ctx context.Context, task string, after uint64) (uint64, error) {
	a, err := c.callLong(ctx, &request{Method: methodWatch, Task: task, Seq: after})
	if err != nil {
		return 0, err
	}
	return a.Last, nil
}

func (c *client) Delete(ctx context.Context, task string, expected uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := c.call(context.WithoutCancel(ctx), &request{Method: methodDelete, Task: task, Seq: expected})
	return err
}

func (c *client) Compact(ctx context.Context) error {
	_, err := c.callLong(ctx, &request{Method: methodCompact})
	return err
}

func (c *client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

func (c *client) running(ctx context.Context) (map[string]int, error) {
	a, err := c.call(ctx, &request{Method: methodRunning})
	if err != nil {
		return nil, err
	}
	return a.Running, nil
}

// hold registers a task with the other process for as long as ctx lasts.
func (c *client) hold(ctx context.Context, task string, pid int, registered func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(c.patience, func() { cancel(&hungError{}) })
	defer patience.Stop()
	resp, err := c.post(ctx, holdPath, &request{Task: task, PID: pid})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.ContentLength >= 0 || resp.StatusCode != http.StatusOK { // an answer at once: it was refused
		_, err := c.answer(ctx, resp)
		return err
	}
	patience.Stop()
	registered()
	_, err = io.Copy(io.Discard, resp.Body) // ends with the other process, or ctx
	return c.lost(ctx, err)
}

func (c *client) process() int { return int(c.pid.Load()) }
