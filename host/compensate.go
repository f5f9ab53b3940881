package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/plugins"
	"github.com/oklog/ulid/v2"
)

// UndoError says why nothing of a task is undone: it did nothing that can be, or not what was asked for.
type UndoError struct{ Task, Reason string }

func (e *UndoError) Error() string { return fmt.Sprintf("task %s: %s", e.Task, e.Reason) }

// CompensateOptions say what of a task is undone. The zero value undoes all that can be.
type CompensateOptions struct {
	// Steps are those that are undone; empty: each that can be.
	Steps []int64
	// Reason is why, for the log; it may be empty.
	Reason string
	// Planned, where it is set, is told what will be undone, before anything is.
	Planned func(*Compensation)
}

// Compensate undoes what a task that has ended did: in a task of its own, by the tools that did it, what began last
// first. It returns as Run does, with the id of that task. ErrUnfinished where the first one has not ended; an *UndoError
// where there is nothing that can be undone. To do it again is harmless: an operation is undone under the same id each
// time.
func (h *Host) Compensate(ctx context.Context, id string, o CompensateOptions) (*Result, error) {
	u, err := h.undoing(ctx, id, o)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	defer u.plugins.close()
	if o.Planned != nil {
		o.Planned(u.tell(ctx))
	}
	own := strings.ToLower(ulid.Make().String())
	end, err := h.beginRun(ctx, own)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	defer end()
	r := newRun(h, own, "", core.New(), u.plugins)
	r.blobs = moduleBlobs(own, Submission{Tools: u.modules})
	r.fence = 1 // of the claim that the task begins with
	if err := r.feed(ctx, core.TaskSubmitted{Task: own, Worker: h.worker, Created: *u.created}); err != nil {
		return r.unbegun(ctx), interrupted(ctx, err)
	}
	return r.loop(ctx)
}

// Compensation tells what Compensate would undo, and undoes nothing.
func (h *Host) Compensation(ctx context.Context, id string, steps []int64) (*Compensation, error) {
	u, err := h.undoing(ctx, id, CompensateOptions{Steps: steps})
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	defer u.plugins.close()
	told := u.tell(ctx)
	return told, interrupted(ctx, ctx.Err())
}

// Undoes gives the id of the task whose operations a task undoes; empty for any other task.
func (h *Host) Undoes(ctx context.Context, id string) (string, error) {
	var undone string
	stop := errors.New("enough")
	err := h.Read(ctx, id, 0, func(e *Event) error {
		if p, ok := e.Payload.(*event.TaskCreated); ok && p.Compensates != nil {
			undone = p.Compensates.Task
		}
		return stop
	})
	if errors.Is(err, stop) {
		err = nil
	}
	return undone, interrupted(ctx, err)
}

// undoing is a task that is to undo another, before it begins.
type undoing struct {
	created *event.TaskCreated
	kept    []core.Kept
	modules []*plugins.Inspection
	plugins *loaded
}

// undoing finds out what of a task can be undone, and loads the plugins that can.
func (h *Host) undoing(ctx context.Context, id string, o CompensateOptions) (*undoing, error) {
	state, happened := core.New(), core.NewHappened()
	err := h.Read(ctx, id, 0, func(e *Event) error {
		happened.Event(e)
		return core.Evolve(state, e)
	})
	if err != nil {
		return nil, err
	}
	created := state.Created()
	switch {
	case state.Outcome() == nil:
		return nil, fmt.Errorf("task %s: %w: cancel it, or let it finish, and undo it then", id, ErrUnfinished)
	case created.Compensates != nil:
		return nil, &UndoError{id, fmt.Sprintf("it undoes what task %[1]s did, and cannot be undone itself; to undo that again, name task %[1]s", created.Compensates.Task)}
	}
	u := &undoing{}
	operations, err := u.choose(id, happened, o.Steps)
	if err != nil {
		return nil, err
	}
	config := undoConfig(created, state.Config())
	if u.created, err = h.describeUndo(created, &config); err != nil {
		return nil, err
	}
	u.created.Goal = undoGoal(id, operations)
	u.created.Compensates = &event.Compensation{Task: id, Operations: operations, Reason: o.Reason}
	for _, p := range created.Tools {
		if !offersAny(&p, operations) {
			continue
		}
		module, err := h.pinnedModule(ctx, id, &p)
		if err != nil {
			return nil, err
		}
		u.created.Tools, u.modules = append(u.created.Tools, p), append(u.modules, module)
	}
	u.plugins, err = h.load(ctx, given(nil, u.modules), created.Grants, &config)
	return u, err
}

// choose gives what is to be undone.
func (u *undoing) choose(id string, happened *core.Happened, steps []int64) (operations []event.CompensatedOperation, err error) {
	if len(steps) == 0 {
		operations, u.kept = happened.Undoable()
		if len(operations) > 0 {
			return operations, nil
		}
		if len(u.kept) == 0 {
			return nil, &UndoError{id, "there is nothing to undo: it is not known to have changed anything"}
		}
		return nil, &UndoError{id, "there is nothing that can be undone: " + reasons(u.kept)}
	}
	operations, not := happened.Chosen(steps)
	if len(not) > 0 {
		return nil, &UndoError{id, reasons(not)}
	}
	return operations, nil
}

// reasons says why calls cannot be undone.
func reasons(kept []core.Kept) string {
	var all []string
	for _, k := range kept {
		all = append(all, call(k.Step, k.Tool)+": "+k.Reason)
	}
	return shortened(all, "; ")
}

// call names a step for people.
func call(step int64, tool string) string {
	if tool == "" {
		return fmt.Sprintf("step %d", step)
	}
	return fmt.Sprintf("step %d (%s)", step, tool)
}

// undoGoal says in words what a task is to undo.
func undoGoal(id string, operations []event.CompensatedOperation) string {
	var all []string
	for _, op := range operations {
		all = append(all, call(op.Step, op.Tool))
	}
	return "undo task " + id + ": " + shortened(all, ", ")
}

// shortened joins what is told of several things: of the first of them, where they are many.
func shortened(all []string, separator string) string {
	const most = 8
	if more := len(all) - most; more > 0 {
		all = append(slices.Clone(all[:most]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, separator)
}

// offersAny tells whether a plugin has a tool that did one of operations.
func offersAny(p *event.Plugin, operations []event.CompensatedOperation) bool {
	return slices.ContainsFunc(operations, func(op event.CompensatedOperation) bool {
		return slices.ContainsFunc(p.Tools, func(t event.ToolSpec) bool { return t.Name == op.Tool })
	})
}

// undoConfig gives the configuration of a task that undoes: that of the first one. What was its recipe is a plugin of
// tools here, where it has any, and is configured as one.
func undoConfig(created *event.TaskCreated, of *Config) Config {
	config := *of
	config.Recipe, config.Tools = nil, maps.Clone(of.Tools)
	if created.Recipe == nil || of.Recipe == nil {
		return config
	}
	if slices.ContainsFunc(created.Tools, func(p event.Plugin) bool { return p.Digest == created.Recipe.Digest }) {
		if config.Tools == nil {
			config.Tools = map[string]map[string]any{}
		}
		config.Tools[created.Recipe.Name] = of.Recipe
	}
	return config
}

// describeUndo gives what a task that undoes pins of the first one.
func (h *Host) describeUndo(of *event.TaskCreated, config *Config) (*event.TaskCreated, error) {
	encoded, err := event.EncodeJSON(config)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return &event.TaskCreated{
		Grants: of.Grants, Policy: of.Policy, Config: encoded,
		Host: h.opts.Version, ABI: abi.Release, Context: event.ContextProtocol,
	}, nil
}
