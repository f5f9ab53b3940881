package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/config"
	"github.com/axishost/axishost/plugins"
	"github.com/spf13/cobra"
)

func (a *app) resumeCommand() *cobra.Command {
	f := &modelFlags{}
	cmd := &cobra.Command{
		Use:   "resume [flags] TASK",
		Short: "Go on with a task that was interrupted or stopped",
		Long: `resume takes up a task where its log ends, with the plugins and the configuration that it was begun with.
Only which model is asked, and where, is read anew: from --config, the environment, --set and --model. Of a
task that has ended it prints the answer again. TASK is an id, the start of one, or "last".` + exitHelp(allExits()...),
		Example: `  axishost resume last
  axishost resume 01jd3 --model gpt-4o`,
		Args:              one("TASK"),
		ValidArgsFunction: a.completeTask,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.resume(cmd.Context(), f, args[0]) },
	}
	f.add(cmd)
	return cmd
}

func (a *app) resume(ctx context.Context, f *modelFlags, name string) error {
	for _, s := range f.sets {
		if !strings.HasPrefix(s, "model.") {
			return usage(fmt.Errorf("--set %q: a task keeps the configuration that it was begun with; only model.name and model.base_url can be set", s))
		}
	}
	task, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	if slices.Contains([]string{"succeeded", "partial", "failed"}, task.Phase) {
		return a.withHost(&endpoint{}, f, func(h *host.Host) (*host.Result, error) { return h.Resume(ctx, task.ID) })
	}
	pinned := config.Source{Name: "task " + task.ID, Tree: map[string]any{"model": map[string]any{"name": task.Model}}}
	merged, err := settings(nil, []config.Source{pinned}, f)
	if err != nil {
		return err
	}
	e, err := openModel(merged.Model, func(model string) string {
		return a.resumeLine(f, task.ID) + " --model " + shellQuote(model)
	})
	if err != nil {
		return err
	}
	defer e.close()
	return a.withHost(e, f, func(h *host.Host) (*host.Result, error) { return h.Resume(ctx, task.ID) })
}

// find looks a task up, and lets go of the log again.
func (a *app) find(ctx context.Context, name string) (host.Summary, error) {
	h, done, err := a.openReader()
	defer done()
	if err != nil {
		return host.Summary{}, err
	}
	if h == nil {
		return host.Summary{}, a.emptyStore(name)
	}
	return h.Find(ctx, name)
}

// emptyStore is the error of a command that needs a task where there is none.
func (a *app) emptyStore(name string) error {
	dir, err := a.storePath()
	if err != nil {
		return err
	}
	return usage(fmt.Errorf("task %q: there are no tasks yet in %s", name, dir))
}

// completeTask offers the ids of the tasks, newest first, and "last".
func (a *app) completeTask(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	const plainly = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	h, done, err := a.openReader()
	defer done()
	if len(args) > 0 || err != nil || h == nil {
		return nil, plainly
	}
	tasks, err := h.List(cmd.Context(), strings.ToLower(prefix))
	if err != nil {
		return nil, plainly
	}
	var ids []string
	if strings.HasPrefix("last", prefix) {
		ids = append(ids, "last")
	}
	for i := range tasks {
		t := tasks[len(tasks)-1-i]
		ids = append(ids, fmt.Sprintf("%s\t%s: %s", t.ID, t.Phase, plugins.Printable(t.Task, 60)))
	}
	return ids, plainly
}
