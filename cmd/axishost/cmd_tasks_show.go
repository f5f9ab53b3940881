package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/control"
	"github.com/axishost/axishost/host/timeline"
	"github.com/spf13/cobra"
)

func (a *app) tasksShowCommand() *cobra.Command {
	var follow, all bool
	cmd := &cobra.Command{
		Use:   "show TASK",
		Short: "Show a task's timeline and answer",
		Long: `show tells what a task did, as run told it live, and its answer; with --verbose as run --verbose told it. What
plugins log and say of their progress is told live only: it is not kept. With --follow it goes on with what the
task does, until it has ended or Ctrl-C, which leaves the task alone. TASK is an id, the start of one, or "last".

With --json it prints one object: the fields of tasks list, and answer (empty: none), verified (by what: none, or
schema, match, equals and recipe, joined by +; empty where the task has not succeeded), reason (why it is partial, failed, cancelled or stopped, or what it waits
for; else empty) and awaits (` + awaitedFields + `).` + exitHelp(exitSucceeded, exitUsage, exitStore, exitInterrupted),
		Example: `  axishost tasks show last
  axishost tasks show last --follow
  axishost tasks show 01jd3m9q --json | jq -r .answer`,
		Args:              one("TASK"),
		ValidArgsFunction: a.completeTasks(taskCompletion{}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				a.told = verbose
			}
			return a.tasksShow(cmd.Context(), args[0], follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show what follows, until the task has ended")
	cmd.Flags().BoolVarP(&all, "verbose", "v", false, "also show the stages of what went straight, and cut no line")
	return cmd
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
none; in a task that undoes, step is the place of an operation), and payload. With --follow it goes on with each event that the task gets, until the task has ended or
Ctrl-C. TASK is an id, the start of one, or "last".` + exitHelp(exitSucceeded, exitUsage, exitStore, exitInterrupted),
		Example: `  axishost tasks events last
  axishost tasks events last --follow
  axishost tasks events 01jd3m9q | jq 'select(.type == "Decided") | .payload.stage_path'`,
		Args:              one("TASK"),
		ValidArgsFunction: a.completeTasks(taskCompletion{}),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.tasksEvents(cmd.Context(), f, args[0]) },
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "wait for further events, until the task has ended")
	cmd.Flags().Uint64Var(&f.after, "after", 0, "begin after the event with this `seq`")
	completeNothing(cmd, "after")
	return cmd
}

func (a *app) tasksShow(ctx context.Context, name string, follow bool) error {
	if follow && a.json {
		return usage(errors.New("--follow shows lines for people, and --json one object at the end: use tasks events --follow"))
	}
	return a.withTask(ctx, name, func(h *host.Host, task host.Summary) error {
		if follow {
			return a.watchTask(ctx, h, task)
		}
		told := timeline.New()
		var lines []timeline.Line
		err := h.Read(ctx, task.ID, 0, func(e *host.Event) error {
			lines = append(lines, told.Event(e)...)
			return interruptedBy(ctx)
		})
		if err != nil {
			return err
		}
		if a.json {
			return a.printOutcome(ctx, h, task, told)
		}
		v := newView(a.out, a.told)
		defer v.close()
		v.print(lines...)
		v.answer(answerLines(told.Outcome()))
		if told.Outcome() == nil {
			a.howToGoOn(task, told.Questions())
		}
		return nil
	})
}

// watchTask shows what a task does until it has ended.
func (a *app) watchTask(ctx context.Context, h *host.Host, task host.Summary) error {
	a.beforeFollowing(ctx, h, task)
	told := timeline.New()
	v := newView(a.out, a.told)
	defer v.close()
	return unfollowed(task, h.Follow(ctx, task.ID, 0, func(e *host.Event) error {
		v.print(told.Event(e)...)
		v.answer(answerLines(told.Outcome()))
		return a.out.err
	}))
}

// beforeFollowing says of a task that nobody runs what there is to be done before anything follows. What keeps it from
// being read is told by the following.
func (a *app) beforeFollowing(ctx context.Context, h *host.Host, task host.Summary) {
	if task.Ended() || task.Process != 0 {
		return
	}
	var waits []timeline.Question
	if task.Waits {
		waits, _ = questions(ctx, h, task.ID)
	}
	a.howToGoOn(task, waits)
}

// unfollowed says of who stops following a task what that does to it: nothing.
func unfollowed(task host.Summary, err error) error {
	switch {
	case !errors.Is(err, host.ErrInterrupted):
		return err
	case task.Process == 0: // it did not go on before
		return &codeError{exitInterrupted, errors.New("no longer following")}
	}
	return &codeError{exitInterrupted, errors.New("no longer following; the task goes on")}
}

// printOutcome prints a task and what it came to as JSON, or why it stopped.
func (a *app) printOutcome(ctx context.Context, h *host.Host, task host.Summary, told *timeline.Timeline) error {
	o := told.Outcome()
	if o == nil {
		o = &timeline.Outcome{}
		if task.Process == 0 {
			var err error
			if o.Reason, err = h.Stopped(ctx, task.ID); err != nil {
				return err
			}
		}
	}
	return a.printJSON(struct {
		entry
		Answer   string    `json:"answer"`
		Verified string    `json:"verified"`
		Reason   string    `json:"reason"`
		Awaits   []awaited `json:"awaits"`
	}{entry{task, state(&task)}, o.Answer, o.Verified, o.Reason, awaitedOf(told.Questions())})
}

// answerLines are the lines of an answer; none without one.
func answerLines(o *timeline.Outcome) []timeline.Line {
	if o == nil || o.Answer == "" {
		return nil
	}
	var lines []timeline.Line
	for i, text := range printableLines(o.Answer) {
		lines = append(lines, timeline.Line{Label: []string{"answer", ""}[min(i, 1)], Text: text})
	}
	return lines
}

// howToGoOn says who runs a task that has not ended, or how to go on with it. waits is what a person has to find out.
func (a *app) howToGoOn(task host.Summary, waits []timeline.Question) {
	if task.Process != 0 {
		fmt.Fprintf(a.err, "the task is being run by process %d; follow it with: %s\n", task.Process, a.followLine(task.ID))
		return
	}
	end, asks := task.Phase == phaseCancelling, task.Waits && len(waits) > 0
	if asks {
		s := screenOf(a.err).whole() // the arguments may be in any script
		for line := range strings.Lines(a.ask(task.ID, waits, end) + "\n") {
			fmt.Fprintln(a.err, s.fit(strings.TrimSuffix(line, "\n")))
		}
	}
	switch {
	case asks && end:
	case asks:
		fmt.Fprintln(a.err, "then go on with: "+a.resumeLine(&modelFlags{}, task.ID))
	case end:
		fmt.Fprintln(a.err, "the task was cancelled and has not ended, and no process runs it; end it with: "+a.tasksLine(task.ID, "cancel"))
	default:
		fmt.Fprintln(a.err, "the task has not ended, and no process runs it; go on with: "+a.resumeLine(&modelFlags{}, task.ID))
	}
}

// tasksLine is the command line of a command of tasks.
func (a *app) tasksLine(id string, command ...string) string {
	words := append([]string{a.anywhereProgram(), "tasks"}, command...)
	return shellLine(append(append(words, a.anywhereWords()...), id))
}

// followLine is the command line that follows a task.
func (a *app) followLine(id string) string { return a.tasksLine(id, "show", "--follow") }

// busy adds to the error of a task that another process runs what can be done meanwhile.
func (a *app) busy(err error) error {
	var busy *control.BusyError
	if errors.As(err, &busy) {
		return fmt.Errorf("%w; follow it with: %s", err, a.followLine(busy.Task))
	}
	return err
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
			a.beforeFollowing(ctx, h, task)
			return unfollowed(task, h.Follow(ctx, task.ID, f.after, print))
		}
		return h.Read(ctx, task.ID, f.after, print)
	})
}
