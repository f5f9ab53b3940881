package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/axishost/axishost/host"
	"github.com/spf13/cobra"
)

type listFlags struct {
	phases       []string
	since, until string
	last         int
}

func (a *app) tasksListCommand() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tasks, oldest first",
		Long: `list prints a line for each task. A task that has not ended and that no process runs is shown as stopped:
resume goes on with it. One that waits for a person is not: it is shown as awaiting_outcome, or as cancelling where it
was cancelled, and approve says what it waits for. With --json it prints an array of objects with the fields id, phase,
created (RFC 3339, UTC), recipe (empty: none, or refused), model, task (its first 256 bytes), process (that runs it on
this machine; 0: none) and state (running, waiting, stopped or ended).

The phases are created; planning (the model is asked), replanning (it is asked since what was planned does not fit any more),
ready and executing (tools are about to run, or wait for a resource that another task writes to, and run),
reconciling (a tool is asked what a call did), awaiting_outcome (a person has to find out), observing (results are taken
in), cancelling; and, of a task that has ended, succeeded, partial, failed and cancelled. --phase also takes running,
waiting and stopped: not ended, with a process, and without one for want of a person or for any other reason.

A time is a date (2026-11-30) or a date and time (2026-11-30T14:00), in UTC as in the table, or RFC 3339, or an
age: 90m, 36h, 7d. On a narrow terminal the columns MODEL, RECIPE and CREATED give way, in this
order, and rows are cut to its width; elsewhere never.` + exitHelp(exitSucceeded, exitUsage, exitStore),
		Example: `  axishost tasks list
  axishost tasks list --phase failed,partial --since 7d
  axishost tasks list --phase waiting
  axishost tasks list --last 20
  axishost tasks list --json | jq -r '.[] | select(.model == "gpt-4o") | .id'`,
		Args:              none,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.tasksList(cmd.Context(), f) },
	}
	f.add(cmd)
	return cmd
}

// add gives a command the flags that select tasks.
func (f *listFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.phases, "phase", nil, "only tasks in these `phases`, with commas between")
	flags.StringVar(&f.since, "since", "", "only tasks created at this `time` or later")
	flags.StringVar(&f.until, "until", "", "only tasks created before this `time`")
	flags.IntVar(&f.last, "last", 0, "only the newest `n` of them (0: all)")
	_ = cmd.RegisterFlagCompletionFunc("phase", completePhases)
	completeNothing(cmd, "since", "until", "last")
}

// What --phase takes beside the phases in the log: whether a process runs the task, and if not, whether a person has to
// do something first.
const (
	phaseRunning = "running"
	phaseWaiting = "waiting"
	phaseStopped = "stopped"
)

// livePhases are these.
func livePhases() []string { return []string{phaseRunning, phaseWaiting, phaseStopped} }

func (a *app) tasksList(ctx context.Context, f *listFlags) error {
	q, err := f.query(time.Now())
	if err != nil {
		return err
	}
	return a.reading(ctx, storeOptions{}, func(h *host.Host) error {
		if h == nil {
			return a.showNoStore()
		}
		found, err := h.List(ctx, q)
		if err != nil {
			return err
		}
		return a.showTasks(f, f.choose(found))
	})
}

// showNoStore lists the tasks of a store that is not there: none.
func (a *app) showNoStore() error {
	if a.json {
		return a.printJSON([]entry{})
	}
	dir, err := a.storePath()
	if err == nil {
		fmt.Fprintf(a.err, "there is no store at %s yet; a run makes one\n", dir)
	}
	return err
}

func (a *app) showTasks(f *listFlags, tasks []host.Summary) error {
	switch {
	case a.json:
		return a.printJSON(listed(tasks))
	case len(tasks) == 0 && f.selects():
		fmt.Fprintln(a.err, "no such tasks")
	case len(tasks) == 0:
		dir, _ := a.storePath()
		fmt.Fprintln(a.err, "no tasks yet in "+dir)
	default:
		a.printTasks(tasks)
		a.hintWaiting(tasks)
	}
	return nil
}

// hintWaiting says how to see what tasks wait for.
func (a *app) hintWaiting(tasks []host.Summary) {
	n, id := 0, ""
	for i := range tasks {
		if tasks[i].Waits {
			n++
			id = tasks[i].ID
		}
	}
	switch n {
	case 0:
	case 1:
		fmt.Fprintln(a.err, "1 task waits for a person; see what it waits for with "+a.approveLine(id))
	default:
		fmt.Fprintf(a.err, "%d tasks wait for a person; see what each of them waits for with %s\n", n, a.approveLine("TASK"))
	}
}

func (f *listFlags) selects() bool {
	return len(f.phases) > 0 || f.since != "" || f.until != ""
}

// query gives what the log is asked for. Whether a process runs a task is not in the log: choose looks at that,
// and then counts.
func (f *listFlags) query(now time.Time) (q host.Query, err error) {
	if q.Since, err = timeFlag("--since", f.since, now); err != nil {
		return q, err
	}
	if q.Until, err = timeFlag("--until", f.until, now); err != nil {
		return q, err
	}
	if f.last < 0 {
		return q, usage(fmt.Errorf("--last \"%d\" is no whole number of 0 or more", f.last))
	}
	live := false
	for _, p := range f.phases {
		switch {
		case slices.Contains(livePhases(), p):
			live = true
		case slices.Contains(host.Phases(), p):
			q.Phases = append(q.Phases, p)
		default:
			return q, usage(fmt.Errorf("--phase %q is none; the phases are %s, running, waiting and stopped", p, strings.Join(host.Phases(), ", ")))
		}
	}
	if live {
		q.Phases = nil
	} else {
		q.Last = f.last
	}
	return q, nil
}

// choose applies what query could not.
func (f *listFlags) choose(tasks []host.Summary) []host.Summary {
	if !slices.ContainsFunc(f.phases, func(p string) bool { return slices.Contains(livePhases(), p) }) {
		return tasks
	}
	tasks = slices.DeleteFunc(tasks, func(t host.Summary) bool {
		return !slices.Contains(f.phases, t.Phase) && !slices.Contains(f.phases, liveness(&t))
	})
	if f.last > 0 {
		tasks = tasks[max(0, len(tasks)-f.last):]
	}
	return tasks
}

// liveness says whether a task that has not ended is being run, or waits for a person; empty for one that has ended.
func liveness(t *host.Summary) string {
	switch {
	case t.Ended():
		return ""
	case t.Process != 0:
		return phaseRunning
	case t.Waits:
		return phaseWaiting
	default:
		return phaseStopped
	}
}

// entry is a task in JSON.
type entry struct {
	host.Summary
	State string `json:"state"`
}

func listed(tasks []host.Summary) []entry {
	out := make([]entry, len(tasks))
	for i := range tasks {
		out[i] = entry{tasks[i], state(&tasks[i])}
	}
	return out
}

// state says whether a task is being run, waits for a person, stopped, or has ended.
func state(t *host.Summary) string {
	if s := liveness(t); s != "" {
		return s
	}
	return "ended"
}

// timeFlag reads a time or an age.
func timeFlag(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	age := text
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err == nil && fmt.Sprint(n) == days && n < 36500 {
			age = fmt.Sprintf("%dh", 24*n)
		}
	}
	if d, err := time.ParseDuration(age); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, usage(fmt.Errorf("%s %q is neither a time (2026-11-30, 2026-11-30T14:00) nor an age (90m, 36h, 7d)", flag, text))
}
