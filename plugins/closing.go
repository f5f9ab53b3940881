package plugins

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrClosed is what calls end with that Close ends, and those made after it.
var ErrClosed = errors.New("closed")

// closing lets what runs in guests end before what it runs on is taken away.
//
// Invariant: once end has returned, nothing runs, and nothing will.
type closing struct {
	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
	stops   map[*context.CancelCauseFunc]struct{} // of what is running
}

// enter begins something that runs guest code. The context ends with ErrClosed when end is called. The caller calls
// leave when it is done; the error is ErrClosed.
func (c *closing) enter(ctx context.Context) (inner context.Context, leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, nil, ErrClosed
	}
	inner, stop := context.WithCancelCause(ctx)
	if c.stops == nil {
		c.stops = map[*context.CancelCauseFunc]struct{}{}
	}
	c.stops[&stop] = struct{}{}
	c.running.Add(1)
	return inner, func() { c.leave(&stop) }, nil
}

func (c *closing) leave(stop *context.CancelCauseFunc) {
	c.mu.Lock()
	delete(c.stops, stop)
	c.mu.Unlock()
	(*stop)(nil)
	c.running.Done()
}

// end stops all that runs, waits until it has left, and lets nothing enter any more. False means that it was called
// before.
func (c *closing) end() bool {
	c.mu.Lock()
	first := !c.ended
	c.ended = true
	for stop := range c.stops {
		(*stop)(ErrClosed)
	}
	c.mu.Unlock()
	c.running.Wait()
	return first
}

// closedError names the plugin that was closed.
func (p *Plugin) closedError() error { return fmt.Errorf("plugin %q: %w", p.manifest.Name, ErrClosed) }
