package plugins

import (
	"context"
	"errors"
)

// pool keeps instances that stand at their image, ready for a hook call. An instance that answered is put
// back to its image at once. One that failed, grew, or cannot be restored is closed.
//
// Invariant: an instance is idle only while it equals its snapshot; those idle and in use together never
// exceed cap(slots).
type pool struct {
	create     func(context.Context) (*instance, error)
	restorable bool
	slots      chan struct{}  // one token for each live instance
	idle       chan *instance // has room for all of them
}

func newPool(create func(context.Context) (*instance, error), size int, restorable bool) *pool {
	return &pool{
		create: create, restorable: restorable,
		slots: make(chan struct{}, size), idle: make(chan *instance, size),
	}
}

// errWait says that ctx ended before an instance was free.
var errWait = errors.New("no instance is free")

// get gives an instance at its image; the caller hands it to put or to discard. The error is errWait, or
// create's as it is.
func (p *pool) get(ctx context.Context) (*instance, error) {
	select {
	case i := <-p.idle:
		return i, nil
	default:
	}
	select {
	case i := <-p.idle:
		return i, nil
	case <-ctx.Done():
		return nil, errWait
	case p.slots <- struct{}{}:
	}
	i, err := p.create(ctx)
	if err != nil {
		<-p.slots
		return nil, err
	}
	if p.restorable {
		i.snapshot()
	}
	return i, nil
}

// put takes back an instance that answered.
func (p *pool) put(i *instance) {
	if !p.restorable || !i.restore() {
		p.discard(i)
		return
	}
	p.idle <- i
}

// discard closes an instance that must not be used again.
func (p *pool) discard(i *instance) {
	i.close()
	<-p.slots
}

// close closes all instances. None may be in use.
func (p *pool) close() {
	for {
		select {
		case i := <-p.idle:
			p.discard(i)
		default:
			return
		}
	}
}
