package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/timeline"
	"github.com/axishost/axishost/plugins"
	"github.com/spf13/cobra"
)

func (a *app) tasksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tasks",
		Short:   "List tasks and read what they did",
		Long:    "tasks reads the event log." + exitHelp(exitSucceeded, exitUsage, exitStore),
		Example: "  axishost tasks list\n  axishost tasks show last",
		RunE:    group,
	}
	list := &cobra.Command{
		Use:   "list",
		Short: "List tasks, oldest first",
		Long: `list prints a line for each task. With --json it prints an array of objects with the fields id, phase,
created (RFC 3339, UTC), recipe (empty: the base machine), model and task.` + exitHelp(exitSucceeded, exitUsage, exitStore),
		Example: `  axishost tasks list
  axishost tasks list --json | jq -r '.[] | select(.phase == "failed") | .id'`,
		Args:              none,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.tasksList(cmd.Context()) },
	}
	show := &cobra.Command{
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
	events := &cobra.Command{
		Use:   "events TASK",
		Short: "Print a task's events, one JSON object a line",
		Long: `events prints the log of a task: one object a line, with the fields v (version of the schema), task, seq,
type, time (RFC 3339, UTC), actor, cause (seq of the event it answers; 0 for none), step and attempt (0 for
none), and payload. TASK is an id, the start of one, or "last".` + exitHelp(exitSucceeded, exitUsage, exitStore),
		Example: `  axishost tasks events last
  axishost tasks events 01jd3 | jq 'select(.type == "Decided") | .payload.stage_path'`,
		Args:              one("TASK"),
		ValidArgsFunction: a.completeTask,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.tasksEvents(cmd.Context(), args[0]) },
	}
	cmd.AddCommand(list, show, events)
	return cmd
}

func (a *app) tasksList(ctx context.Context) error {
	h, done, err := a.openReader()
	defer done()
	if err != nil {
		return err
	}
	tasks := []host.Summary{}
	if h != nil {
		if tasks, err = h.List(ctx, ""); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(tasks)
	}
	if len(tasks) == 0 {
		fmt.Fprintln(a.err, "no tasks yet")
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tPHASE\tCREATED (UTC)\tRECIPE\tMODEL\tTASK")
	for _, t := range tasks {
		recipe := t.Recipe
		if recipe == "" {
			recipe = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%.19s\t%s\t%s\t%s\n", t.ID, t.Phase, t.Created, recipe,
			plugins.Printable(t.Model, 40), plugins.Printable(strings.Join(strings.Fields(t.Task), " "), 60))
	}
	return w.Flush()
}

// read finds a task and gives its events.
func (a *app) read(ctx context.Context, name string, each func(*host.Event) error) (host.Summary, error) {
	h, done, err := a.openReader()
	defer done()
	if err != nil {
		return host.Summary{}, err
	}
	if h == nil {
		return host.Summary{}, a.emptyStore(name)
	}
	task, err := h.Find(ctx, name)
	if err != nil {
		return task, err
	}
	return task, h.Read(ctx, task.ID, func(e *host.Event) error {
		if err := ctx.Err(); err != nil {
			return host.ErrInterrupted
		}
		return each(e)
	})
}

func (a *app) tasksShow(ctx context.Context, name string) error {
	told := timeline.New()
	var lines []timeline.Line
	task, err := a.read(ctx, name, func(e *host.Event) error {
		lines = append(lines, told.Event(e)...)
		return nil
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
	if told.Outcome() == nil {
		fmt.Fprintln(a.err, "the task has not ended; go on with: "+a.resumeLine(&modelFlags{}, task.ID))
	}
	return nil
}

func (a *app) tasksEvents(ctx context.Context, name string) error {
	_, err := a.read(ctx, name, func(e *host.Event) error {
		line, err := host.EventJSON(e)
		if err == nil {
			a.printLine(line)
		}
		return err
	})
	return err
}
