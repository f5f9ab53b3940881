package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/tokens"
	"github.com/axishost/axishost/store"
)

// run is one task being run. Its loop is the only goroutine that touches state; effects run beside it and
// bring their results through a channel.
type run struct {
	h       *Host
	id      string
	state   *core.State
	plugins *loaded
	counter *tokens.Counter
	blobs   []store.Blob   // go with the first commit
	beside  []store.Append // the same, to logs that are no task
	results chan finished
	begun   map[string]*underway // effects, by id
	news    chan news            // of the log
	asks    chan ask             // of calls under way
	fence   uint64               // of this run's own claim
	index   []byte               // the task's entry in lists, once it is known
	// own is up to where the log is known to the loop, or will be when the commit under way is done: such news is none.
	own atomic.Uint64
	// onlooker tells that this is no run: it has claimed nothing that could be taken from it.
	onlooker bool
	// endpoint is the address of the endpoint that failed last: for the error, never for the log.
	endpoint string
	failed   atomic.Pointer[error] // of the log, where an effect met it
	wg       sync.WaitGroup
}

func newRun(h *Host, id, modelName string, state *core.State, l *loaded) *run {
	return &run{
		h: h, id: id, state: state, plugins: l, counter: tokens.New(modelName),
		results: make(chan finished), begun: map[string]*underway{}, news: make(chan news), asks: make(chan ask), fence: state.Fence(),
	}
}

// loop performs what is pending until nothing is: the task has ended, or halted.
func (r *run) loop(ctx context.Context) (*Result, error) {
	effects, stop := context.WithCancel(ctx)
	defer r.wg.Wait()
	defer stop()
	r.fence = r.state.Fence()
	after := r.state.Seq()
	r.wg.Go(func() { r.follow(effects, after) })
	for {
		pending := core.Pending(r.state)
		r.begin(effects, pending)
		if len(r.begun) == 0 || r.state.Outcome() != nil {
			return r.end()
		}
		select {
		case <-ctx.Done():
			return result(r.id, r.state), ErrInterrupted
		case n := <-r.hears():
			if err := r.hear(ctx, n); err != nil {
				return result(r.id, r.state), interrupted(ctx, err)
			}
		case a := <-r.asks:
			kept, err := r.keep(ctx, a.input)
			if err != nil {
				return result(r.id, r.state), interrupted(ctx, err)
			}
			a.kept <- kept && r.state.Outcome() == nil
		case f := <-r.results:
			delete(r.begun, f.effect)
			if err := r.failed.Load(); err != nil {
				return result(r.id, r.state), interrupted(ctx, r.storeError(*err))
			}
			if f.input == nil { // cut off, with ctx or by itself
				continue
			}
			if err := r.feed(ctx, f.input); err != nil {
				return result(r.id, r.state), interrupted(ctx, err)
			}
		}
	}
}

// underway is an effect that is being performed.
type underway struct {
	abort context.CancelFunc
	over  chan struct{} // closed when nothing of it runs any more
	reads bool          // it reads the state meanwhile
	waits bool          // it does nothing but wait
}

// hears gives the news of the log, unless the state must not change now. Hooks have a short limit.
func (r *run) hears() chan news {
	for _, u := range r.begun {
		if u.reads {
			return nil
		}
	}
	return r.news
}

// begin starts the effects that are not under way. Those that are and are no longer pending have brought
// their result, or are let run out (a halted task records what was under way), unless they only wait, or the task is
// cancelled: then they are stopped.
func (r *run) begin(ctx context.Context, pending []core.Effect) {
	for _, e := range pending {
		if id := e.ID(); r.begun[id] == nil {
			r.start(ctx, id, e)
		}
	}
	for id, u := range r.begun {
		if (u.waits || r.state.Cancelling()) && !slices.ContainsFunc(pending, func(e core.Effect) bool { return e.ID() == id }) {
			u.abort()
		}
	}
}

func (r *run) start(ctx context.Context, id string, e core.Effect) {
	own, abort := context.WithCancel(ctx)
	_, reads := e.(core.ConsultRecipe)
	_, timer := e.(core.SetTimer)
	_, leases := e.(core.AcquireLeases)
	u := &underway{abort, make(chan struct{}), reads, timer || leases}
	do := r.prepare(e)
	r.begun[id] = u
	r.wg.Go(func() {
		defer abort()
		f := finished{effect: id, input: do(own)}
		close(u.over)
		select {
		case r.results <- f:
		case <-ctx.Done():
		}
	})
}

// finished is the result of an effect: the input that it brings, nil when it was cut off.
type finished struct {
	effect string
	input  core.Input
}

// ask is something that a call under way wants kept before it goes on.
type ask struct {
	input core.Input
	kept  chan bool
}

// tell has the loop keep something of a call under way, and tells whether it is durable: an operation that is not must
// not be done.
func (r *run) tell(ctx context.Context, in core.Input) bool {
	a := ask{in, make(chan bool, 1)}
	select {
	case r.asks <- a:
	case <-ctx.Done():
		return false
	}
	select {
	case kept := <-a.kept:
		return kept
	case <-ctx.Done():
		return false
	}
}

// feed is keep for what may as well lead to nothing.
func (r *run) feed(ctx context.Context, in core.Input) error {
	_, err := r.keep(ctx, in)
	return err
}

// keep makes the events that an input leads to durable, and only then evolves the state. Where another process appended
// to the task first, it decides again by what the task is now. It tells whether anything of the input itself was kept:
// that the log has grown does not say so.
func (r *run) keep(ctx context.Context, in core.Input) (kept bool, err error) {
	for {
		events, err := core.Decide(r.state, r.h.now().UnixMicro(), in)
		if err != nil || len(events) == 0 {
			return false, err
		}
		commit, err := r.commit(ctx, events)
		switch {
		case errors.Is(err, errTaken): // it is waited for again, as an effect
			return false, nil
		case err != nil:
			return false, err
		}
		r.own.Store(r.state.Seq() + uint64(len(events)))
		err = r.h.opts.Log.Commit(ctx, commit)
		if err != nil {
			r.own.Store(0) // before the log is read: what is appended from then on is news
		}
		switch {
		case err == nil:
			r.blobs, r.beside = nil, nil
			return true, r.evolve(events)
		case !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrFenced):
			return false, r.storeError(err)
		case r.beside != nil: // the task itself nobody else knows yet
			return false, fmt.Errorf("%w: %w", errBeside, err)
		}
		if again, err := r.overtaken(ctx, commit, err); !again || err != nil {
			return false, err
		}
	}
}

// overtaken finds out against whom a commit lost, and tells whether its input is to be decided again: where another
// process appended to the task and did not end it, or to the log of a lease. conflict is the error that told of it.
func (r *run) overtaken(ctx context.Context, lost store.Commit, conflict error) (again bool, err error) {
	before := r.state.Seq()
	switch err := r.catchUp(ctx); {
	case err != nil:
		return false, err
	case r.state.Seq() == before && len(lost.Appends) == 1:
		return false, r.storeError(conflict)
	}
	return r.state.Outcome() == nil, nil
}

// evolve applies events that are durable, and tells of them.
func (r *run) evolve(events []*event.Event) error {
	for _, e := range events {
		if err := core.Evolve(r.state, e); err != nil {
			return err
		}
		if heard := r.h.opts.Events.Committed; heard != nil {
			heard(e)
		}
	}
	return nil
}

// commit encodes events for the log.
func (r *run) commit(ctx context.Context, events []*event.Event) (store.Commit, error) {
	a := store.Append{Task: r.id, Expected: r.state.Seq(), Fence: r.state.Fence()}
	for _, e := range events {
		if claim, ok := e.Payload.(*event.Claimed); ok {
			a.Fence = claim.Fence
		}
		data, err := event.Encode(e)
		if err != nil {
			return store.Commit{}, err
		}
		if _, err := event.Decode(e.Task, e.Seq, data); err != nil {
			return store.Commit{}, fmt.Errorf("this cannot be stored, since it could not be read back: %w", err)
		}
		a.Records = append(a.Records, data)
	}
	var err error
	if a.Index, a.Label, err = r.listing(events); err != nil {
		return store.Commit{}, err
	}
	leases, err := r.leaseAppends(ctx, events)
	return store.Commit{Appends: slices.Concat([]store.Append{a}, r.beside, leases), Blobs: r.blobs}, err
}

// end says how the task ended, or why it halted.
func (r *run) end() (*Result, error) {
	stop := r.state.Stop()
	switch {
	case r.state.Outcome() != nil:
		return result(r.id, r.state), nil
	case stop == nil:
		return result(r.id, r.state), errors.New("task " + r.id + " has nothing left to do and has not ended: this is a bug in axishost")
	}
	why := &StoppedError{Task: r.id, Plugin: stop.Kind == core.StopPlugin, Step: stop.Step, Reason: stop.Reason}
	if r.endpoint != "" {
		why.Reason = strings.Replace(why.Reason, theEndpoint, theEndpoint+" "+r.endpoint, 1)
	}
	return result(r.id, r.state), why
}
