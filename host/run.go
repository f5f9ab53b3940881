package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/tokens"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
	"github.com/oklog/ulid/v2"
)

// ErrGoal says that a task's text cannot be one.
var ErrGoal = errors.New("the task is empty: say what is to be done")

// Run runs a task to its end. It returns the result of a task that ended; a *StoppedError or ErrInterrupted
// where it can be resumed, with the task's id in the result; another error where it could not be begun or
// the log failed.
func (h *Host) Run(ctx context.Context, sub Submission) (*Result, error) {
	if strings.TrimSpace(sub.Goal) == "" {
		return nil, ErrGoal
	}
	if !utf8.ValidString(sub.Goal) {
		return nil, errors.New("the task is not UTF-8 text")
	}
	if sub.Key != "" {
		if err := CheckKey(sub.Key); err != nil {
			return nil, err
		}
	}
	created, err := h.describe(sub)
	if err != nil {
		return nil, err
	}
	if sub.Key != "" {
		return h.runOnce(ctx, sub, created)
	}
	return h.begin(ctx, sub, created, nil)
}

// begin begins a task, and runs it to its end. beside, where it is set, gives what becomes durable with the task's first
// commit: errBeside where that was refused for it, and nothing was begun.
func (h *Host) begin(ctx context.Context, sub Submission, created *event.TaskCreated, beside func(task string) (store.Append, error)) (*Result, error) {
	l, err := h.load(ctx, given(sub.Recipe, sub.Tools), created.Grants, &sub.Config)
	switch {
	case len(rejections(err)) > 0 && ctx.Err() == nil:
		return h.Reject(ctx, sub, err)
	case err != nil:
		return nil, interrupted(ctx, err)
	}
	defer l.close()
	id := strings.ToLower(ulid.Make().String())
	end, err := h.beginRun(ctx, id)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	defer end()
	r := newRun(h, id, sub.ModelName, core.New(), l)
	r.blobs = moduleBlobs(id, sub)
	if beside != nil {
		a, err := beside(id)
		if err != nil {
			return nil, err
		}
		r.beside = []store.Append{a}
	}
	r.fence = 1 // of the claim that the task begins with
	if err := r.feed(ctx, core.TaskSubmitted{Task: id, Worker: h.worker, Created: *created}); err != nil {
		return r.unbegun(ctx), interrupted(ctx, err)
	}
	return r.loop(ctx)
}

// stored is how long an interrupted run looks for what it may have stored.
const stored = 2 * time.Second

// unbegun is the result of a run whose first commit was refused: nil, unless the caller's end of ctx crossed the
// commit, so that the task is there although nobody could say so.
func (r *run) unbegun(ctx context.Context) *Result {
	if ctx.Err() == nil {
		return nil
	}
	look, stop := context.WithTimeout(context.WithoutCancel(ctx), stored)
	defer stop()
	if err := r.catchUp(look); err != nil {
		return nil
	}
	return result(r.id, r.state)
}

// beginRun says that this process runs a task.
func (h *Host) beginRun(ctx context.Context, id string) (end func(), err error) {
	if isSideLog(id) {
		return nil, fmt.Errorf("task %q: %w", id, ErrNoTask)
	}
	if h.opts.Runners == nil {
		return func() {}, nil
	}
	return h.opts.Runners.Begin(ctx, id)
}

// interrupted makes the caller's own end of ctx of an error that came of it. A log that failed did not.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, store.ErrFailed) {
		return ErrInterrupted
	}
	return err
}

// describe gives what the task pins.
func (h *Host) describe(sub Submission) (*event.TaskCreated, error) {
	recipe, tools, err := pin(sub.Recipe, sub.Tools)
	if err != nil {
		return nil, err
	}
	if err := configuredOnly(&sub.Config, sub.Recipe, sub.Tools); err != nil {
		return nil, err
	}
	config, err := event.EncodeJSON(sub.Config)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	inspections := sub.Tools
	if sub.Recipe != nil {
		inspections = append([]*plugins.Inspection{sub.Recipe}, sub.Tools...)
	}
	grants, err := pinGrants(sub.Grants, inspections)
	if err != nil {
		return nil, err
	}
	created := &event.TaskCreated{
		Goal: sub.Goal, Model: sub.ModelName, Recipe: recipe, Tools: tools, Grants: grants,
		Config: config, Host: h.opts.Version, ABI: abi.Release, Context: event.ContextProtocol,
	}
	if sub.Key != "" {
		created.Key = keyDigest(sub.Key)
	}
	if sub.Config.Conversation.ContextLimit.Window != nil { // else nothing is counted
		created.Tokenizer = tokens.New(sub.ModelName).Encoding()
	}
	return created, nil
}

// moduleBlobs keeps the modules beside the task, so that it can be resumed and replayed with the same bytes.
func moduleBlobs(id string, sub Submission) []store.Blob {
	var blobs []store.Blob
	for _, i := range append([]*plugins.Inspection{sub.Recipe}, sub.Tools...) {
		if i != nil {
			blobs = append(blobs, store.Blob{Task: id, Key: i.Digest, Value: i.File()})
		}
	}
	return blobs
}

// Resume takes a task over and runs it to its end, with what it pinned. Of a task that has ended it gives
// the result again, and runs nothing.
func (h *Host) Resume(ctx context.Context, id string) (*Result, error) {
	return h.resume(ctx, id, func(*core.State) {})
}

// resume is Resume that tells what the task is before anything of it goes on.
func (h *Host) resume(ctx context.Context, id string, found func(*core.State)) (*Result, error) {
	end, err := h.beginRun(ctx, id) // before the fold: until the end nobody else goes on with it
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	defer end()
	state, err := h.fold(ctx, id)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	found(state)
	if state.Outcome() != nil {
		return result(id, state), nil
	}
	l, err := h.loadPinned(ctx, id, state)
	if err != nil {
		err = h.rejected(ctx, id, state, err)
		return resumable(ctx, id, state), interrupted(ctx, err)
	}
	defer l.close()
	r := newRun(h, id, state.Created().Model, state, l)
	if err := r.feed(ctx, core.Claimed{Worker: h.worker, Fence: state.Fence() + 1}); err != nil {
		return resumable(ctx, id, state), interrupted(ctx, err)
	}
	return r.loop(ctx)
}

// resumable is the result of a task that was not gone on with, where that was the caller's wish.
func resumable(ctx context.Context, id string, state *core.State) *Result {
	if ctx.Err() == nil {
		return nil
	}
	return result(id, state)
}

// loadPinned loads the plugins that a task pinned.
func (h *Host) loadPinned(ctx context.Context, id string, state *core.State) (*loaded, error) {
	return h.load(ctx, h.pinned(id, state.Created()), state.Created().Grants, state.Config())
}

// fold rebuilds a task's state from its events.
func (h *Host) fold(ctx context.Context, id string) (*core.State, error) {
	state := core.New()
	err := h.Read(ctx, id, 0, func(e *Event) error {
		if heard := h.opts.Events.Recalled; heard != nil {
			heard(e)
		}
		return core.Evolve(state, e)
	})
	return state, err
}

// pinned are the plugins that a task pinned.
func (h *Host) pinned(id string, created *event.TaskCreated) []wanted {
	var all []wanted
	add := func(p *event.Plugin, recipe bool) {
		inspect := func(ctx context.Context) (*plugins.Inspection, error) { return h.pinnedModule(ctx, id, p) }
		all = append(all, wanted{name: p.Name, digest: p.Digest, recipe: recipe, inspect: inspect})
	}
	if created.Recipe != nil {
		add(created.Recipe, true)
	}
	for i := range created.Tools {
		if p := &created.Tools[i]; created.Recipe == nil || p.Digest != created.Recipe.Digest { // else it is of kind both
			add(p, false)
		}
	}
	return all
}

// pinnedModule gets a module of a task back.
func (h *Host) pinnedModule(ctx context.Context, id string, p *event.Plugin) (*plugins.Inspection, error) {
	b, err := h.opts.Log.Blob(ctx, id, p.Digest)
	if errors.Is(err, store.ErrNotFound) {
		if _, gone := h.opts.Log.Head(ctx, id); errors.Is(gone, store.ErrNotFound) {
			return nil, fmt.Errorf("task %s: %w", id, ErrDeleted)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("module of plugin %q of task %s: %w", p.Name, id, err)
	}
	i, err := plugins.Inspect(b)
	var refused *plugins.RefusedError
	switch {
	case i.Digest != p.Digest:
		return nil, fmt.Errorf("module of plugin %q of task %s is damaged: its digest is %s, not %s", p.Name, id, i.Digest, p.Digest)
	case errors.As(err, &refused): // by a host that took it once: what it is called is known
		own := *refused
		own.Name, own.Plugin = p.Name, fmt.Sprintf("%q %s", p.Name, p.Version)
		return nil, &own
	}
	return i, err
}

func result(id string, s *core.State) *Result {
	r := &Result{Task: id, Phase: string(s.Phase())}
	if o := s.Outcome(); o != nil {
		r.Answer, r.Verified, r.Reason = o.Answer, o.Verified, o.Reason
	}
	return r
}
