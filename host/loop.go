package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

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
	blobs   []store.Blob // go with the first commit
	results chan finished
	begun   map[string]bool // effects under way
	// endpoint is the address of the endpoint that failed last: for the error, never for the log.
	endpoint string
	wg       sync.WaitGroup
}

func newRun(h *Host, id, modelName string, state *core.State, l *loaded) *run {
	return &run{
		h: h, id: id, state: state, plugins: l, counter: tokens.New(modelName),
		results: make(chan finished), begun: map[string]bool{},
	}
}

// loop performs what is pending until nothing is: the task has ended, or halted.
func (r *run) loop(ctx context.Context) (*Result, error) {
	effects, stop := context.WithCancel(ctx)
	defer r.wg.Wait()
	defer stop()
	for {
		pending := core.Pending(r.state)
		r.begin(effects, pending)
		if len(r.begun) == 0 {
			return r.end()
		}
		select {
		case <-ctx.Done():
			return result(r.id, r.state), ErrInterrupted
		case f := <-r.results:
			delete(r.begun, f.effect)
			if f.input == nil { // cut off, with ctx
				continue
			}
			if err := r.feed(ctx, f.input); err != nil {
				return result(r.id, r.state), interrupted(ctx, err)
			}
		}
	}
}

// begin starts the effects that are not under way. Those that are and are no longer pending have brought
// their result, or are let run out: a halted task records what was under way.
func (r *run) begin(ctx context.Context, pending []core.Effect) {
	for _, e := range pending {
		id := e.ID()
		if r.begun[id] {
			continue
		}
		r.begun[id] = true
		r.wg.Go(func() {
			f := finished{effect: id, input: r.perform(ctx, e)}
			select {
			case r.results <- f:
			case <-ctx.Done():
			}
		})
	}
}

// finished is the result of an effect: the input that it brings, nil when it was cut off.
type finished struct {
	effect string
	input  core.Input
}

// feed makes the events that an input leads to durable, and only then evolves the state.
func (r *run) feed(ctx context.Context, in core.Input) error {
	events, err := core.Decide(r.state, r.h.now().UnixMicro(), in)
	if err != nil || len(events) == 0 {
		return err
	}
	commit, err := r.commit(events)
	if err != nil {
		return err
	}
	if err := r.h.opts.Log.Commit(ctx, commit); err != nil {
		return fmt.Errorf("task %s: %w", r.id, err)
	}
	r.blobs = nil
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
func (r *run) commit(events []*event.Event) (store.Commit, error) {
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
	index, err := json.Marshal(r.summary(events))
	a.Index = index
	return store.Commit{Appends: []store.Append{a}, Blobs: r.blobs}, err
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
	why := &StoppedError{Task: r.id, Plugin: stop.Kind == core.StopPlugin, Reason: stop.Reason}
	if r.endpoint != "" {
		why.Reason = strings.Replace(why.Reason, theEndpoint, theEndpoint+" "+r.endpoint, 1)
	}
	return result(r.id, r.state), why
}

// summary is the task's entry in lists, as it will be after events.
func (r *run) summary(events []*event.Event) Summary {
	created := r.state.Created()
	at := r.state.CreatedAt()
	if i := slices.IndexFunc(events, func(e *event.Event) bool { return e.Payload.Type() == event.TypeTaskCreated }); i >= 0 {
		created, at = events[i].Payload.(*event.TaskCreated), events[i].Time
	}
	s := Summary{ID: r.id, Phase: string(core.PhaseAfter(r.state, events)), Created: timestamp(at), Model: created.Model, Task: created.Goal}
	if created.Recipe != nil {
		s.Recipe = created.Recipe.Name
	}
	return s
}
