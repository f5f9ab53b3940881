package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/config"
	"github.com/spf13/cobra"
)

func (a *app) resumeCommand() *cobra.Command {
	f := &modelFlags{another: true}
	cmd := &cobra.Command{
		Use:   "resume [flags] TASK",
		Short: "Go on with a task that was interrupted or stopped",
		Long: `resume takes up a task where its log ends, with the plugins and the configuration that it was begun with.
Only which model is asked, and where, is read anew: from --config, the environment, --set and --model. Of a
task that has ended it prints the answer again. What it tells meanwhile is what run tells, and as much. TASK is an id, the start of one, or "last".

With --json it prints one object` + outcomeFields + exitHelp(allExits()...),
		Example: `  axishost resume last
  axishost resume 01jd3m9q --model gpt-4o`,
		Args:              one("TASK"),
		ValidArgsFunction: a.completeTasks(taskCompletion{unfinished: true}),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.resume(cmd.Context(), f, args[0]) },
	}
	f.add(cmd)
	return cmd
}

func (a *app) resume(ctx context.Context, f *modelFlags, name string) error {
	told, err := f.tell.level()
	if err != nil {
		return err
	}
	a.told = told
	for _, s := range f.sets {
		if !strings.HasPrefix(s, "model.") {
			return usage(fmt.Errorf("--set %q: a task keeps the configuration that it was begun with; only model.name and model.base_url can be set", s))
		}
	}
	return a.withStore(ctx, storeOptions{mustExist: true}, func(s *sharedStore) error {
		if s == nil {
			return a.emptyStore(name)
		}
		task, err := a.find(ctx, s, name)
		if err != nil {
			return err
		}
		return a.resumeTask(ctx, s, f, task)
	})
}

func (a *app) resumeTask(ctx context.Context, s *sharedStore, f *modelFlags, task host.Summary) error {
	e := &endpoint{}
	asks, err := asksModel(ctx, s, task)
	if err != nil {
		return err
	}
	if asks {
		if e, err = a.pinnedModel(f, task); err != nil {
			return err
		}
		defer e.close()
	}
	err = a.perform(s, e, f, func(h *host.Host) (*host.Result, error) { return h.Resume(ctx, task.ID) })
	if err != nil && task.Ended() && !a.json && !isStore(err) {
		err = &codeError{exitCode(err), fmt.Errorf("%w; a task that has ended (%s) does not go on: see what it did with %s, and run it anew",
			err, task.Phase, a.tasksLine(task.ID, "show"))}
	}
	return err
}

// asksModel tells whether a task that is gone on with asks a model: one that has ended does nothing any more, and one that
// undoes never did.
func asksModel(ctx context.Context, s *sharedStore, task host.Summary) (bool, error) {
	if task.Ended() {
		return false, nil
	}
	h, err := s.host(host.Options{})
	if err != nil {
		return false, err
	}
	undoes, err := h.Undoes(ctx, task.ID)
	return undoes == "", err
}

func (a *app) find(ctx context.Context, s *sharedStore, name string) (host.Summary, error) {
	h, err := s.host(host.Options{})
	if err != nil {
		return host.Summary{}, err
	}
	return a.findTask(ctx, h, name)
}

// pinnedModel connects to the model of a task, where the flags and the environment do not name another.
func (a *app) pinnedModel(f *modelFlags, task host.Summary) (*endpoint, error) {
	pinned := config.Source{Name: "task " + task.ID, Tree: map[string]any{"model": map[string]any{"name": task.Model}}}
	merged, err := settings(nil, []config.Source{pinned}, f)
	if err != nil {
		return nil, err
	}
	return openModel(merged.Model, func(model string) string {
		return a.resumeLine(f, task.ID) + " --model " + shellQuote(model)
	})
}
