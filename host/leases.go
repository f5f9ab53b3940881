package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
	"github.com/fxamacker/cbor/v2"
)

// leaseLog begins the ids of the side logs of resources; the digest of the resource's name ends them. Each resource that a
// step ever had to itself has one, which says who has it now. It is taken by appending to it in the commit that starts the
// step: of two tasks that see it free at once one starts, and the other looks again.
const leaseLog = sideLog + "lease-"

func leaseID(resource string) string {
	sum := sha256.Sum256([]byte(resource))
	return leaseLog + hex.EncodeToString(sum[:])
}

// leaseRecord says who has a resource: a step of Task, or nobody where that is empty. The name of the resource is not in it:
// whoever asks knows it, and what outlives a task that is removed should not say what that was about.
type leaseRecord struct {
	_ struct{} `cbor:",toarray"`
	// Form is leaseForm; another one was written by a newer version.
	Form int
	Task string
	Step int64
	// Fence is that of the latest lease. It is at least the time at which the lease was taken, in microseconds since the
	// Unix epoch: a service knows the resource longer than any store, and fences of another store must not be above ours.
	Fence   uint64
	Expires int64 // microseconds since the Unix epoch
}

const leaseForm = 1

func decodeLease(head *store.Head) (r leaseRecord, _ error) {
	if err := decodeSide(head, "lease", &r); err != nil {
		return leaseRecord{}, err
	}
	return r, knownForm(head, r.Form, leaseForm)
}

// lease is a resource with its log.
type lease struct {
	leaseRecord

	resource string
	head     store.Head
}

// acquire waits until a step is due and nobody else has its resources.
func (r *run) acquire(ctx context.Context, e core.AcquireLeases) (core.Input, error) {
	if r.wait(ctx, core.SetTimer{At: e.Due}) == nil {
		return nil, nil
	}
	var told Holder
	for {
		free, taken, err := r.look(ctx, e.Step, e.Resources)
		switch {
		case ctx.Err() != nil:
			return nil, nil
		case err != nil:
			return nil, err
		case taken == nil:
			return core.LeasesFree{Step: e.Step, Attempt: e.Attempt, Leases: free}, nil
		}
		if err := r.tellHolder(ctx, taken, &told); err != nil {
			return nil, err
		}
		if err := r.awaitChange(ctx, taken); err != nil {
			return nil, err
		}
	}
}

// tellHolder tells whoever watches who has a resource, where that is not what was told before.
func (r *run) tellHolder(ctx context.Context, l *lease, told *Holder) error {
	heard := r.h.opts.Events.Held
	if heard == nil {
		return nil
	}
	running, err := r.h.running(ctx)
	if err != nil {
		return err
	}
	head, err := r.h.opts.Log.Head(ctx, l.Task)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	now := Holder{Resource: l.resource, Task: l.Task, Process: running[l.Task], Waits: head.Label == string(core.PhaseAwaitingOutcome)}
	if now != *told {
		*told = now
		heard(now)
	}
	return nil
}

// look tells whether nobody else than a step has resources, or the first that somebody has.
func (r *run) look(ctx context.Context, step int64, resources []string) (free []core.Lease, taken *lease, err error) {
	now := r.h.now().UnixMicro()
	for _, name := range resources {
		l, err := r.h.leaseOf(ctx, name)
		if err != nil || (l.taken(now) && !l.of(r.id, step)) {
			return nil, l, err
		}
		free = append(free, core.Lease{Resource: name, Fence: max(l.Fence+1, uint64(now))})
	}
	return free, nil, nil
}

// longestLease is the longest that can be configured. One that would last longer was taken by a clock that was wrong.
const longestLease = 24 * time.Hour

// taken tells whether somebody has the resource.
func (l *lease) taken(now int64) bool {
	return l.Task != "" && l.Expires > now && l.Expires <= now+longestLease.Microseconds()
}

// of tells whether it is a step's own, of an attempt that is made again.
func (l *lease) of(task string, step int64) bool { return l.Task == task && l.Step == step }

// leaseOf reads who has a resource. A task that was deleted has nothing any more, and neither has whoever a damaged record
// named: since fences are times, that of the next lease is above the lost one, and doctor tells of the damage.
func (h *Host) leaseOf(ctx context.Context, resource string) (*lease, error) {
	l := &lease{resource: resource}
	var err error
	if l.head, err = h.sideHead(ctx, leaseID(resource)); err != nil || l.head.Last == 0 {
		return l, err
	}
	record, err := decodeLease(&l.head)
	if damaged := new(store.CorruptError); err != nil && !errors.As(err, &damaged) {
		return l, err
	}
	if record.Task != "" {
		if _, err := h.opts.Log.Head(ctx, record.Task); errors.Is(err, store.ErrNotFound) {
			record.Task = ""
		}
	}
	l.leaseRecord = record
	return l, nil
}

// leaseLook is how often it is looked whether a lease still holds: its task may be deleted, and clocks may be set.
const leaseLook = 5 * time.Second

// awaitChange waits until the log of a resource has grown, or its lease has run out, and not for long.
func (r *run) awaitChange(ctx context.Context, l *lease) error {
	until, stop := context.WithTimeout(ctx, min(time.UnixMicro(l.Expires).Sub(r.h.now()), leaseLook))
	defer stop()
	_, err := r.h.opts.Log.Watch(until, l.head.Task, l.head.Last)
	if until.Err() != nil {
		return nil
	}
	return err
}

// errTaken says that a lease which was free has been taken meanwhile.
var errTaken = errors.New("the resource is somebody else's by now")

// leaseAppends are what events that take and give back leases append to the logs of the resources, as these are now. A
// lease that somebody else has taken since it ran out is not given back.
func (r *run) leaseAppends(ctx context.Context, events []*event.Event) ([]store.Append, error) {
	var appends []store.Append
	for _, e := range events {
		to, resource := leaseRecord{Form: leaseForm}, ""
		switch p := e.Payload.(type) {
		case *event.LeaseAcquired:
			resource, to.Task, to.Step, to.Fence, to.Expires = p.Resource, r.id, e.Step, p.Fence, p.Expires
		case *event.LeaseReleased:
			resource, to.Fence = p.Resource, p.Fence
		default:
			continue
		}
		l, err := r.h.leaseOf(ctx, resource)
		switch mine := l.Task == r.id && l.Fence == to.Fence; {
		case err != nil:
			return nil, err
		case to.Task == "" && !mine:
			continue
		case to.Task != "" && ((l.taken(e.Time) && !l.of(r.id, e.Step)) || l.Fence >= to.Fence):
			return nil, errTaken
		}
		record, err := cbor.Marshal(to)
		if err != nil {
			return nil, err
		}
		appends = append(appends, sideAppend(l.head, 0, record))
	}
	return appends, nil
}
