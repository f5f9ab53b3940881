package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/control"
	"github.com/axishost/axishost/host/timeline"
	"github.com/spf13/cobra"
)

func (a *app) tasksShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show TASK",
		Short: "Show a task's timeline and answer",
		Long: `show tells what a task did, as run told it live, and its answer. TASK is an id, the start of one, or "last".
With --json it prints one object: that of tasks list, and answer, verified and reason.` + exitHelp(exitSucceeded, exitUsage, exitStore),
		Example: `  axishost tasks show last
  axishost tasks show 01jd3 --json | jq -r .answer`,
		Args:              one("TASK"),
		ValidArgsFunction: a.completeTask,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.tasksShow(cmd.Context(), args[0]) },
	}
}

type eventsFlags struct {
	follow bool
	after  uint64
}

func (a *app) tasksEventsCommand() *cobra.Command {
	f := &eventsFlags{}
	cmd := &cobra.Command{
		Use:   "events TASK",
		Short: "Print a task's events, one JSON object a line",
		Long: `events prints the log of a task: one object a line, with the fields v (version of the schema), task, seq,
type, time (RFC 3339, UTC), actor, cause (seq of the event it answers; 0 for none), step and attempt (0 for
none), and payload. With --follow it goes on with each event that the task gets, until the task has ended or
Ctrl-C. TASK is an id, the start of one, or "last".` + exitHelp(exitSucceeded, exitUsage, exitStore, exitInterrupted),
		Example: `  axishost tasks events last
  axishost tasks events last --follow
  axishost tasks events 01jd3 | jq 'select(.type == "Decided") | .payload.stage_path'`,
		Args:              one("TASK"),
		ValidArgsFunction: a.completeTask,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.tasksEvents(cmd.Context(), f, args[0]) },
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "wait for further events, until the task has ended")
	cmd.Flags().Uint64Var(&f.after, "after", 0, "begin after the event with this `seq`")
	return cmd
}

func (a *app) tasksShow(ctx context.Context, name string) error {
	return a.withTask(ctx, name, func(h *host.Host, task host.Summary) error {
		told := timeline.New()
		var lines []timeline.Line
		err := h.Read(ctx, task.ID, 0, func(e *host.Event) error {
			lines = append(lines, told.Event(e)...)
			return interruptedBy(ctx)
		})
		if err != nil {
			return err
		}
		o := told.Outcome()
		if o == nil {
			o = &timeline.Outcome{}
		}
		if a.json {
			return a.printJSON(struct {
				host.Summary
				Answer   string `json:"answer"`
				Verified string `json:"verified"`
				Reason   string `json:"reason"`
			}{task, o.Answer, o.Verified, o.Reason})
		}
		if o.Answer != "" {
			for i, text := range printableLines(o.Answer) {
				lines = append(lines, timeline.Line{Label: []string{"answer", ""}[min(i, 1)], Text: text})
			}
		}
		v := newView(a.out)
		defer v.close()
		v.print(lines...)
		switch {
		case told.Outcome() != nil:
		case task.Process != 0:
			fmt.Fprintf(a.err, "the task is being run by process %d; follow it with: %s\n", task.Process, a.followLine(task.ID))
		default:
			fmt.Fprintln(a.err, "the task has not ended; go on with: "+a.resumeLine(&modelFlags{}, task.ID))
		}
		return nil
	})
}

// followLine is the command line that follows a task.
func (a *app) followLine(id string) string {
	return shellLine(append(append([]string{a.program(), "tasks", "events", "--follow"}, a.globalWords()...), id))
}

// busy adds to the error of a task that another process runs what can be done meanwhile.
func (a *app) busy(err error) error {
	var busy *control.BusyError
	if errors.As(err, &busy) {
		return fmt.Errorf("%w; follow it with: %s", err, a.followLine(busy.Task))
	}
	return err
}

// showLine is the command line that shows a task.
func (a *app) showLine(id string) string {
	return shellLine(append(append([]string{a.program(), "tasks", "show"}, a.globalWords()...), id))
}

// interruptedBy gives the error of an interrupt; nil without one.
func interruptedBy(ctx context.Context) error {
	if ctx.Err() != nil {
		return host.ErrInterrupted
	}
	return nil
}

func (a *app) tasksEvents(ctx context.Context, f *eventsFlags, name string) error {
	return a.withTask(ctx, name, func(h *host.Host, task host.Summary) error {
		print := func(e *host.Event) error {
			line, err := host.EventJSON(e)
			if err != nil {
				return err
			}
			a.printLine(line)
			if a.out.err != nil {
				return a.out.err // whoever read it has gone: nothing to follow for
			}
			return interruptedBy(ctx)
		}
		if f.follow {
			return h.Follow(ctx, task.ID, f.after, print)
		}
		return h.Read(ctx, task.ID, f.after, print)
	})
}
