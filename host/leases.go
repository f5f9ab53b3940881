package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
	"github.com/fxamacker/cbor/v2"
)

// leaseLog begins the ids of the side logs of resources; the digest of the resource's name ends them. Each resource that a
// step ever had to itself has one, which says who has it now. It is taken by appending to it in the commit that starts the
// step: of two tasks that see it free at once one starts, and the other looks again. The number of the record that takes
// it is the fence of the lease: these logs are never deleted, so fences rise for ever.
const leaseLog = sideLog + "lease-"

func leaseID(resource string) string {
	sum := sha256.Sum256([]byte(resource))
	return leaseLog + hex.EncodeToString(sum[:])
}

// leaseRecord says who has a resource: a step of Task, or nobody where that is empty.
type leaseRecord struct {
	_ struct{} `cbor:",toarray"`
	// Form is leaseForm; another one was written by a newer version.
	Form           int
	Resource, Task string
	Step           int64
	Expires        int64 // microseconds since the Unix epoch
}

const leaseForm = 1

func decodeLease(head *store.Head) (r leaseRecord, err error) {
	err = sideDecoding.Unmarshal(head.Index, &r)
	switch {
	case err != nil:
		return r, &store.CorruptError{Task: head.Task, Seq: head.Last, Detail: "it is not the record of a lease: " + oneLine(err)}
	case r.Form != leaseForm:
		return r, fmt.Errorf("%w: the record of lease %s has form %d, and this axishost knows %d", store.ErrVersion, head.Task, r.Form, leaseForm)
	}
	return r, nil
}

// lease is a resource with its log.
type lease struct {
	leaseRecord

	head store.Head
}

// acquire waits until a step is due and nobody else has its resources.
func (r *run) acquire(ctx context.Context, e core.AcquireLeases) (core.Input, error) {
	if r.wait(ctx, core.SetTimer{At: e.Due}) == nil {
		return nil, nil
	}
	told := ""
	for {
		free, taken, err := r.look(ctx, e.Resources)
		switch {
		case ctx.Err() != nil:
			return nil, nil
		case err != nil:
			return nil, err
		case taken == nil:
			return core.LeasesFree{Step: e.Step, Attempt: e.Attempt, Leases: free}, nil
		}
		if heard := r.h.opts.Events.Held; heard != nil && told != taken.Task {
			told = taken.Task
			running, err := r.h.running(ctx)
			if err != nil {
				return nil, err
			}
			heard(taken.Resource, taken.Task, running[taken.Task])
		}
		if err := r.awaitChange(ctx, taken); err != nil {
			return nil, err
		}
	}
}

// look tells whether nobody else has resources, or the first that somebody has.
func (r *run) look(ctx context.Context, resources []string) (free []core.Lease, taken *lease, err error) {
	for _, name := range resources {
		l, err := r.h.leaseOf(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if l.Task != "" && l.Expires > r.h.now().UnixMicro() {
			return nil, l, nil
		}
		free = append(free, core.Lease{Resource: name, Fence: l.head.Last + 1})
	}
	return free, nil, nil
}

// leaseOf reads who has a resource. A task that was deleted has nothing any more.
func (h *Host) leaseOf(ctx context.Context, resource string) (*lease, error) {
	head, err := h.sideHead(ctx, leaseID(resource))
	if err != nil || head.Last == 0 {
		return &lease{head: head}, err
	}
	record, err := decodeLease(&head)
	if err != nil {
		return nil, err
	}
	if record.Task != "" {
		if _, err := h.opts.Log.Head(ctx, record.Task); errors.Is(err, store.ErrNotFound) {
			record.Task = ""
		}
	}
	return &lease{record, head}, nil
}

// awaitChange waits until the log of a resource has grown, or its lease has run out.
func (r *run) awaitChange(ctx context.Context, l *lease) error {
	until, stop := context.WithTimeout(ctx, time.UnixMicro(l.Expires).Sub(r.h.now()))
	defer stop()
	_, err := r.h.opts.Log.Watch(until, l.head.Task, l.head.Last)
	if until.Err() != nil {
		return nil
	}
	return err
}

// leaseAppends are what events of a task that take and give back leases append to the logs of the resources. Those of
// lapsed are not given back.
func leaseAppends(task string, events []*event.Event, lapsed map[core.Lease]bool) ([]store.Append, error) {
	var appends []store.Append
	for _, e := range events {
		to := leaseRecord{Form: leaseForm}
		var last uint64
		switch p := e.Payload.(type) {
		case *event.LeaseAcquired:
			to.Resource, to.Task, to.Step, to.Expires, last = p.Resource, task, e.Step, p.Expires, p.Fence-1
		case *event.LeaseReleased:
			if lapsed[core.Lease{Resource: p.Resource, Fence: p.Fence}] {
				continue
			}
			to.Resource, last = p.Resource, p.Fence
		default:
			continue
		}
		record, err := cbor.Marshal(to)
		if err != nil {
			return nil, err
		}
		appends = append(appends, sideAppend(store.Head{Task: leaseID(to.Resource), Last: last}, 0, record))
	}
	return appends, nil
}

// takesLeases tells whether events take a lease.
func takesLeases(events []*event.Event) bool {
	return slices.ContainsFunc(events, func(e *event.Event) bool { return e.Payload.Type() == event.TypeLeaseAcquired })
}

// lapse notes which of the leases that events give back are somebody else's by now, and tells whether any is.
func (r *run) lapse(ctx context.Context, events []*event.Event) (any bool, err error) {
	for _, e := range events {
		p, ok := e.Payload.(*event.LeaseReleased)
		if !ok {
			continue
		}
		l, err := r.h.leaseOf(ctx, p.Resource)
		if err != nil {
			return false, err
		}
		if l.head.Last != p.Fence {
			if r.lapsed == nil {
				r.lapsed = map[core.Lease]bool{}
			}
			r.lapsed[core.Lease{Resource: p.Resource, Fence: p.Fence}], any = true, true
		}
	}
	return any, nil
}
