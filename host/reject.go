package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/plugins"
	"github.com/oklog/ulid/v2"
)

// Reject keeps in the log that a task was not begun, since plugins of it were refused: refused is, or joins, each
// one's *plugins.RefusedError. It returns refused, and the task, which has failed.
func (h *Host) Reject(ctx context.Context, sub Submission, refused error) (*Result, error) {
	config, err := event.EncodeJSON(sub.Config)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	in := core.PluginsRejected{
		Task: strings.ToLower(ulid.Make().String()), Rejected: rejections(refused),
		Created: &event.TaskCreated{
			Goal: sub.Goal, Model: sub.ModelName, Config: config,
			Host: h.opts.Version, ABI: abi.Release, Context: event.ContextProtocol,
		},
	}
	r := newRun(h, in.Task, sub.ModelName, core.New(), nil)
	r.onlooker = true
	if err := r.feed(ctx, in); err != nil {
		return nil, errors.Join(refused, fmt.Errorf("this was not kept in the log: %w", err))
	}
	return result(in.Task, r.state), refused
}

// rejected keeps in the log of a task that its plugins were refused, where err says so, and gives err back. The
// task goes on where a host takes them.
func (h *Host) rejected(ctx context.Context, id string, state *core.State, err error) error {
	in := core.PluginsRejected{Task: id, Rejected: rejections(err)}
	if len(in.Rejected) == 0 {
		return err
	}
	r := newRun(h, id, state.Created().Model, state, nil)
	r.onlooker = true
	if unkept := r.feed(ctx, in); unkept != nil {
		return errors.Join(err, fmt.Errorf("this was not kept in the log: %w", unkept))
	}
	return err
}

// rejections are the refusals of plugins in an error.
func rejections(err error) []event.PluginRejected {
	switch e := err.(type) {
	case *plugins.RefusedError:
		return []event.PluginRejected{{Name: e.Name, Digest: e.Digest, Class: string(e.Class), Reason: e.Reason()}}
	case interface{ Unwrap() error }:
		return rejections(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []event.PluginRejected
		for _, err := range e.Unwrap() {
			all = append(all, rejections(err)...)
		}
		return all
	}
	return nil
}
