package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/store"
)

// CheckReport is what Check found. The order of its fields is the order of its JSON.
type CheckReport struct {
	Tasks    int      `json:"tasks"`
	Events   uint64   `json:"events"`
	Modules  int      `json:"modules"`
	SideLogs int      `json:"side_logs"` // that are no task: of keys
	Bytes    int64    `json:"bytes"`     // of events, modules and records of side logs
	Damage   []Damage `json:"damage"`
}

// Damage is one thing that is not as it was written, or does not fit the rest.
type Damage struct {
	Task string `json:"task"` // empty when it is not known
	Seq  uint64 `json:"seq"`  // of the event; 0: not one event
	What string `json:"what"`
}

// Check reads everything that the log holds: each event is verified, decoded and folded, and the plugins of
// each task are compared with their digests; what is no task is read as well. It changes nothing. progress, where it is
// set, is told how many tasks of how many are done. An error says that it could not go on.
func (h *Host) Check(ctx context.Context, progress func(done, total int)) (*CheckReport, error) {
	report := &CheckReport{Damage: []Damage{}}
	heads, err := h.opts.Log.List(ctx, store.Query{})
	if err != nil {
		return report, interrupted(ctx, report.add(ctx, "", err))
	}
	for i := range heads {
		if progress != nil {
			progress(i, len(heads))
		}
		if err := h.checkLog(ctx, &heads[i], report); err != nil {
			return report, interrupted(ctx, err)
		}
	}
	return report, nil
}

// checkLog checks a task, or what is none.
func (h *Host) checkLog(ctx context.Context, head *store.Head, report *CheckReport) error {
	if isSideLog(head.Task) {
		return report.add(ctx, head.Task, h.checkSideLog(ctx, head, report))
	}
	return h.checkTask(ctx, head, report)
}

// checkTask checks one task. Its error ends the whole check: the log failed, not the task. What follows an event
// that is damaged cannot be judged; the list entry and each module are judged on their own.
func (h *Host) checkTask(ctx context.Context, head *store.Head, report *CheckReport) error {
	report.Tasks++
	state := core.New()
	err := h.readRecords(ctx, head.Task, 0, func(e *Event, size int) error {
		report.Events++
		report.Bytes += int64(size)
		if err := core.Evolve(state, e); err != nil {
			return &damageError{Damage{head.Task, e.Seq, err.Error()}}
		}
		return nil
	})
	if err != nil {
		return report.add(ctx, head.Task, err)
	}
	for _, err := range []error{h.checkHead(head, state), h.checkKey(ctx, head.Task, state.Created())} {
		if err := report.add(ctx, head.Task, err); err != nil {
			return err
		}
	}
	return h.checkModules(ctx, head.Task, state, report)
}

// damageError carries what a check found.
type damageError struct{ damage Damage }

func (e *damageError) Error() string { return e.damage.What }

// add notes an error of a task as damage, and gives back one that is of the log as a whole.
func (r *CheckReport) add(ctx context.Context, task string, err error) error {
	var own *damageError
	var corrupt *store.CorruptError
	var unreadable *recordError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, errors.Is(err, store.ErrFailed), errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrInUse):
		return err
	case errors.Is(err, ErrNoTask):
		return nil // deleted meanwhile
	case errors.As(err, &own):
		r.Damage = append(r.Damage, own.damage)
	case errors.As(err, &corrupt):
		r.Damage = append(r.Damage, Damage{corrupt.Task, corrupt.Seq, corrupt.Detail})
	case errors.As(err, &unreadable):
		r.Damage = append(r.Damage, Damage{task, unreadable.seq, err.Error()})
	default:
		r.Damage = append(r.Damage, Damage{task, 0, err.Error()})
	}
	return nil
}

// checkHead compares a task's entry in lists with its events. A task that is being run may have got ahead.
func (h *Host) checkHead(head *store.Head, state *core.State) error {
	var s Summary
	if err := decodeSummary(head, &s); err != nil {
		return err
	}
	if state.Seq() < head.Last {
		return &damageError{Damage{head.Task, 0, fmt.Sprintf("it has %d events in lists, and %d are there", head.Last, state.Seq())}}
	}
	if state.Seq() == head.Last && string(state.Phase()) != s.Phase {
		return &damageError{Damage{head.Task, 0, fmt.Sprintf("its phase in lists is %s, by its events it is %s", s.Phase, state.Phase())}}
	}
	return nil
}

// checkModules compares the plugins that a task pinned with their digests.
func (h *Host) checkModules(ctx context.Context, task string, state *core.State, report *CheckReport) error {
	created := state.Created()
	if created == nil {
		return report.add(ctx, task, &damageError{Damage{task, 0, "it has no events"}})
	}
	names := map[string]string{}
	for _, p := range created.Tools {
		names[p.Digest] = p.Name
	}
	if created.Recipe != nil {
		names[created.Recipe.Digest] = created.Recipe.Name
	}
	for _, digest := range slices.Sorted(maps.Keys(names)) {
		size, err := h.checkModule(ctx, task, names[digest], digest)
		if err == nil {
			report.Modules++
			report.Bytes += size
		}
		if err := report.add(ctx, task, err); err != nil {
			return err
		}
	}
	return nil
}

// checkModule compares one plugin with its digest, and gives its size.
func (h *Host) checkModule(ctx context.Context, task, name, digest string) (int64, error) {
	module, err := h.opts.Log.Blob(ctx, task, digest)
	if errors.Is(err, store.ErrNotFound) {
		if _, err := h.opts.Log.Head(ctx, task); errors.Is(err, store.ErrNotFound) {
			return 0, ErrNoTask // deleted meanwhile, and its modules with it
		}
		err = &damageError{Damage{task, 0, fmt.Sprintf("the module of plugin %q is missing", name)}}
	}
	if err != nil {
		return 0, err
	}
	if sum := sha256.Sum256(module); hex.EncodeToString(sum[:]) != digest {
		return 0, &damageError{Damage{task, 0, fmt.Sprintf("the module of plugin %q is not what its digest says", name)}}
	}
	return int64(len(module)), nil
}
