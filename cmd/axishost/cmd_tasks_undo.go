package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/plugins"
	"github.com/spf13/cobra"
)

type undoFlags struct {
	steps  []int
	reason string
	dryRun bool
	tell   telling
}

func (a *app) tasksUndoCommand() *cobra.Command {
	f := &undoFlags{}
	cmd := &cobra.Command{
		Use:   "undo [flags] TASK",
		Short: "Undo what a task did, where its tools can",
		Long: `undo takes back what a task that has ended changed outside: each call of a tool that declares compensate and that is
known to have happened, what began last first. It is a task of its own, with the plugins, the grants and the
configuration of the first one, and asks no model; the first one stays as it is. What will be undone is told before
anything is, and what cannot be; --dry-run tells it and ends. A call is undone under the same id each time: to undo a
task again is harmless. What failed for a passing reason, or nobody knows the outcome of, is tried again as often
as limits.tool_retries of the task allows, and then told of; the rest is undone all the same. All of it undone
is success, some of it partial. Interrupted, it goes on with resume.

With --json it prints one object` + outcomeFields + ` With --dry-run the fields are task, calls (an array: step, tool, arguments,
operation_id, compensation_id, result, impact) and kept (what cannot be undone: step, tool, reason).` + exitHelp(undoExits()...),
		Example: `  axishost tasks undo last --dry-run
  axishost tasks undo last
  axishost tasks undo 01jd3m9q --step 3 --step 5 --reason "booked twice"`,
		Args:              one("TASK"),
		ValidArgsFunction: a.completeTasks(taskCompletion{ended: true}),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.tasksUndo(cmd.Context(), f, args[0]) },
	}
	flags := cmd.Flags()
	flags.IntSliceVar(&f.steps, "step", nil, "only this step, by its `number` in the task's events; may be given several times")
	flags.StringVar(&f.reason, "reason", "undone by the user", "why, for the log")
	flags.BoolVar(&f.dryRun, "dry-run", false, "tell what would be undone, and undo nothing")
	completeNothing(cmd, "step", "reason")
	f.tell.add(cmd)
	return cmd
}

// undoExits are the codes of undo: nothing waits for a person, and no model is asked.
func undoExits() []int {
	return []int{exitSucceeded, exitFailed, exitUsage, exitPartial, exitCancelled, exitRefused, exitStore, exitPlugin, exitInterrupted}
}

func (a *app) tasksUndo(ctx context.Context, f *undoFlags, name string) error {
	told, err := f.tell.level()
	if err != nil {
		return err
	}
	a.told = told
	if strings.TrimSpace(f.reason) == "" {
		return usage(errors.New("--reason is empty: say why, or leave it out"))
	}
	steps, err := f.chosen()
	if err != nil {
		return err
	}
	return a.withStore(ctx, storeOptions{mustExist: true}, func(s *sharedStore) error {
		if s == nil {
			return a.emptyStore(name)
		}
		task, err := a.find(ctx, s, name)
		if err != nil {
			return err
		}
		if f.dryRun {
			return a.unfinished(task, a.wouldUndo(ctx, s, task, steps))
		}
		opts := host.CompensateOptions{Steps: steps, Reason: f.reason}
		if a.told != quiet {
			opts.Planned = func(c *host.Compensation) { a.planned(a.err, c) }
		}
		return a.unfinished(task, a.perform(s, &endpoint{}, &modelFlags{}, func(h *host.Host) (*host.Result, error) {
			return h.Compensate(ctx, task.ID, opts)
		}))
	})
}

// chosen gives the steps that --step names.
func (f *undoFlags) chosen() ([]int64, error) {
	var steps []int64
	for _, step := range f.steps {
		if step < 1 {
			return nil, usage(fmt.Errorf("--step %d: steps count from 1", step))
		}
		steps = append(steps, int64(step))
	}
	return steps, nil
}

// unfinished says of a task that has not ended what has to come first.
func (a *app) unfinished(task host.Summary, err error) error {
	if errors.Is(err, host.ErrUnfinished) {
		return usage(fmt.Errorf("task %s has not ended (%s): cancel it, or go on with it, and undo it then; %s", task.ID, task.Phase, a.tasksLine(task.ID, "cancel")))
	}
	return err
}

// wouldUndo tells what would be undone.
func (a *app) wouldUndo(ctx context.Context, s *sharedStore, task host.Summary, steps []int64) error {
	h, err := s.host(host.Options{CacheDir: cachePath()})
	if err != nil {
		return err
	}
	c, err := h.Compensation(ctx, task.ID, steps)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(c)
	}
	a.planned(a.out, c)
	return nil
}

// planned tells what will be undone, and what cannot be, a line each.
func (a *app) planned(w io.Writer, c *host.Compensation) {
	s := screenOf(w)
	if a.told == verbose {
		s = s.whole()
	}
	for i := range c.Calls {
		fmt.Fprintln(w, s.fit("to undo  "+toUndo(&c.Calls[i])))
	}
	for _, k := range c.Kept {
		fmt.Fprintln(w, s.fit(fmt.Sprintf("kept     step %d (%s): %s", k.Step, brief(k.Tool), brief(k.Reason))))
	}
}

// toUndo tells of a call: what it did in the words of its tool, or else its arguments, and what it gave.
func toUndo(c *host.UndoneCall) string {
	text := fmt.Sprintf("step %d (%s): %s", c.Step, brief(c.Tool), brief(cmp.Or(c.Impact, c.Arguments)))
	if c.Result != "" {
		text += "; it gave: " + brief(c.Result)
	}
	return text
}

// brief makes text from outside fit for a part of a line.
func brief(text string) string { return plugins.Printable(oneLine(text), 160) }
