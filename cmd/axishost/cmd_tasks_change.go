package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/control"
	"github.com/axishost/axishost/store"
	"github.com/spf13/cobra"
)

func (a *app) tasksCancelCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel TASK",
		Short: "End a task before its goal",
		Long: `cancel ends a task for good. Where it is being run, in this terminal's machine, the model call and the tools
under way are stopped first, and the run exits with 5; a task that nobody runs is ended at once. Where a write may have
happened and nobody knows, its tool is asked first, and where that cannot tell, the task ends when a person has found out:
cancel then exits with 6, as the run does, and says what there is to find out; again, it has the tool asked once more. The
log stays and tells of it. With --json it prints, of a task that has ended, one object with the fields id, phase and reason. To stop a run so
that resume can go on, press Ctrl-C there instead.` + exitHelp(exitSucceeded, exitUsage, exitAwaiting, exitStore, exitPlugin, exitInterrupted),
		Example: `  axishost tasks cancel last
  axishost tasks cancel 01jd3m9q --reason "wrong model"`,
		Args:              one("TASK"),
		ValidArgsFunction: a.completeTasks(taskCompletion{unfinished: true}),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.tasksCancel(cmd.Context(), args[0], reason) },
	}
	cmd.Flags().StringVar(&reason, "reason", "cancelled by the user", "why, for the log")
	completeNothing(cmd, "reason")
	return cmd
}

func (a *app) tasksCancel(ctx context.Context, name, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return usage(errors.New("--reason is empty: say why, or leave it out"))
	}
	return a.withTask(ctx, name, func(h *host.Host, task host.Summary) error {
		r, err := h.Cancel(ctx, task.ID, reason)
		var stopped *host.StoppedError
		switch {
		case errors.As(err, &stopped) && stopped.Step != 0:
			return a.endsLater(ctx, h, task.ID, stopped)
		case errors.Is(err, host.ErrEnded):
			if now, err := h.Find(ctx, task.ID); err == nil {
				task = now // it may have ended since it was looked for
			}
			return usage(fmt.Errorf("task %s has ended (%s): there is nothing to cancel", task.ID, task.Phase))
		case errors.Is(err, host.ErrInterrupted) && r != nil && r.Phase == phaseCancelling:
			return &codeError{exitInterrupted, fmt.Errorf("interrupted; the task is cancelled, and has not ended\ngo on with: %s", a.tasksLine(task.ID, "cancel"))}
		case err != nil:
			return a.busy(err)
		case r.Phase != "cancelled": // it crossed its own end
			return usage(fmt.Errorf("task %s has ended meanwhile (%s)", task.ID, r.Phase))
		case a.json:
			return a.printJSON(struct {
				ID     string `json:"id"`
				Phase  string `json:"phase"`
				Reason string `json:"reason"`
			}{task.ID, r.Phase, r.Reason})
		}
		fmt.Fprintln(a.err, "cancelled "+task.ID)
		return nil
	})
}

// endsLater says what has to be found out before a task that was cancelled can end.
func (a *app) endsLater(ctx context.Context, h *host.Host, id string, stopped *host.StoppedError) error {
	waits, err := questions(ctx, h, id)
	if err != nil || len(waits) == 0 { // decided already
		return errors.Join(stopped, err)
	}
	return &codeError{exitAwaiting, errors.New(a.ask(id, waits, true))}
}

func (a *app) tasksRmCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "rm TASK...",
		Short: "Remove tasks for good, with all that is stored of them",
		Long: `rm removes tasks: their events, prompts, replies, results and plugins, and gives the space back. Nothing of
them but their ids can be read afterwards. A task that has not ended needs --force; one that is being run is not removed:
cancel it first. With --json it prints an array of the ids that were removed.` + exitHelp(exitSucceeded, exitUsage, exitStore, exitInterrupted),
		Example: `  axishost tasks rm last
  axishost tasks list --phase failed --until 30d --json | jq -r '.[].id' | xargs -r axishost tasks rm`,
		Args:              some("TASK"),
		ValidArgsFunction: a.completeTasks(taskCompletion{several: true}),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.tasksRm(cmd.Context(), args, force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "also tasks that have not ended")
	return cmd
}

func (a *app) tasksRm(ctx context.Context, names []string, force bool) error {
	return a.reading(ctx, storeOptions{}, func(h *host.Host) error {
		if h == nil {
			return a.emptyStore(names[0])
		}
		ids, err := a.findAll(ctx, h, names)
		if err != nil {
			return err
		}
		for i, id := range ids {
			err := h.Delete(ctx, id, force)
			if errors.Is(err, host.ErrUnfinished) {
				err = usage(fmt.Errorf("task %s has not ended; cancel it, or add --force", id))
			}
			if err != nil {
				return errors.Join(a.removed(ctx, h, ids[:i]), a.cancelFirst(err))
			}
		}
		return a.removed(ctx, h, ids)
	})
}

// cancelFirst adds to the error of a task that is being run what to do before it can be removed.
func (a *app) cancelFirst(err error) error {
	var busy *control.BusyError
	if errors.As(err, &busy) {
		return fmt.Errorf("%w; cancel it first: %s", err, a.tasksLine(busy.Task, "cancel"))
	}
	return err
}

// findAll finds every task before one is touched: a misspelt one keeps the others.
func (a *app) findAll(ctx context.Context, h *host.Host, names []string) ([]string, error) {
	var ids []string
	seen := map[string]bool{}
	for _, name := range names {
		task, err := a.findTask(ctx, h, name)
		if err != nil {
			return nil, err
		}
		if !seen[task.ID] {
			ids = append(ids, task.ID)
		}
		seen[task.ID] = true
	}
	return ids, nil
}

// removed gives the space back, and tells what is gone.
func (a *app) removed(ctx context.Context, h *host.Host, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	err := h.Compact(ctx)
	var corrupt *store.CorruptError
	if errors.As(err, &corrupt) || errors.Is(err, store.ErrFailed) {
		err = fmt.Errorf("removed; but the store is damaged, and keeps the space and perhaps the texts: restore a backup (%w)", err)
	}
	if a.json {
		return errors.Join(a.printJSON(ids), err)
	}
	for _, id := range ids {
		fmt.Fprintln(a.err, "removed "+id)
	}
	return err
}
