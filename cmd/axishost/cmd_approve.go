package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/timeline"
	"github.com/spf13/cobra"
)

// approveFlags are what a person found out.
type approveFlags struct {
	step, attempt    int64
	outcome          string
	result, evidence string
	outcomeWasGiven  bool
	resultWasGiven   bool
	stepWasGiven     bool
	attemptWasGiven  bool
}

func (a *app) approveCommand() *cobra.Command {
	f := &approveFlags{}
	cmd := &cobra.Command{
		Use:   "approve [flags] TASK",
		Short: "Say what a step did, where nobody else can",
		Long: `approve decides for a task that waits for a person. A step that writes to the outside world may have happened
although its reply was lost; the task then asks the tool, and where the tool cannot tell, a person has to look: by the
operation id, which the tool passed on as idempotency key.

Without --outcome, approve shows what there is to find out, what each answer leads to and with which command it is given,
and exits with 6. --outcome found says that the step happened: the model is told --result. --outcome absent says that it has
not happened and will not: it is made again, under the same operation id. The task goes on with resume. One that was
cancelled ends as soon as nothing is left to find out, and makes nothing again.

With --json it prints one object with the fields id, step and phase; without --outcome with id, phase and awaits (` + awaitedFields + `).` +
			exitHelp(exitSucceeded, exitUsage, exitAwaiting, exitStore, exitInterrupted),
		Example: `  axishost approve last
  axishost approve last --outcome found --result "entry 7, by the bank statement"
  axishost approve last --step 2 --outcome absent --evidence '{"ticket": 4}'`,
		Args:              one("TASK"),
		ValidArgsFunction: a.completeTasks(taskCompletion{waiting: true}),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.outcomeWasGiven = cmd.Flags().Changed("outcome")
			f.stepWasGiven, f.attemptWasGiven = cmd.Flags().Changed("step"), cmd.Flags().Changed("attempt")
			f.resultWasGiven = cmd.Flags().Changed("result")
			return a.approve(cmd.Context(), f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.outcome, "outcome", "", "what was found out: `found` or absent (default: show what there is to find out)")
	flags.Int64Var(&f.step, "step", 0, "which step, where several wait (default: the one)")
	flags.Int64Var(&f.attempt, "attempt", 0, "the attempt that was looked for: where another was made since, nothing is decided (default: the one that waits)")
	flags.StringVar(&f.result, "result", "", "with found: `text` that the model is told as the call's result (default: that it happened, and what it gave is not known)")
	flags.StringVar(&f.evidence, "evidence", "", "`JSON` that is kept with it, such as a ticket's number")
	completeNothing(cmd, "step", "attempt", "result", "evidence")
	_ = cmd.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions([]string{"found", "absent"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *approveFlags) parse() (host.Outcome, error) {
	o := host.Outcome{Step: f.step, Found: f.outcome == "found", Result: f.result}
	switch {
	case f.outcome == "":
		return o, usage(errors.New("--outcome is missing: say found or absent"))
	case f.outcome != "found" && f.outcome != "absent":
		return o, usage(fmt.Errorf("--outcome %s: it is found or absent", shellQuote(f.outcome)))
	case !o.Found && f.resultWasGiven:
		return o, usage(errors.New("--result goes with --outcome found: what did not happen gave nothing"))
	case o.Found && o.Result == "":
		o.Result = "It happened; what it gave is not known."
	}
	if f.evidence != "" {
		if !json.Valid([]byte(f.evidence)) {
			return o, usage(errors.New("--evidence is not JSON; put text in quotes: '\"ticket 4\"'"))
		}
		o.Evidence = json.RawMessage(f.evidence)
	}
	return o, nil
}

// asks tells whether nothing is decided, and it is to be shown what there is to decide.
func (f *approveFlags) asks() bool {
	return !f.outcomeWasGiven && !f.resultWasGiven && f.evidence == ""
}

func (a *app) approve(ctx context.Context, f *approveFlags, name string) error {
	for _, n := range []struct {
		flag  string
		given bool
		value int64
	}{{"step", f.stepWasGiven, f.step}, {"attempt", f.attemptWasGiven, f.attempt}} {
		if n.given && n.value < 1 {
			return usage(fmt.Errorf("--%s %d: they count from 1", n.flag, n.value))
		}
	}
	outcome, err := f.parse()
	if err != nil && !f.asks() {
		return err
	}
	return a.withTask(ctx, name, func(h *host.Host, task host.Summary) error {
		all, err := questions(ctx, h, task.ID)
		if err != nil {
			return err
		}
		asked := all
		if f.step != 0 {
			asked = slices.DeleteFunc(slices.Clone(all), func(q timeline.Question) bool { return q.Step != f.step })
		}
		switch {
		case len(asked) == 0:
			return a.notAwaited(task, f.step, all)
		case f.asks():
			return a.showQuestions(task, asked)
		case len(asked) > 1:
			a.explainAll(a.err, task, asked)
			return usage(fmt.Errorf("task %s: %d steps wait: say which with --step", task.ID, len(asked)))
		}
		outcome.Step = asked[0].Step
		if outcome.Attempt = asked[0].Attempt; f.attempt != 0 && f.attempt != outcome.Attempt {
			return usage(fmt.Errorf("attempt %d of step %d does not wait any more: it was made again, and nobody knows of attempt %d; see what is known with %s",
				f.attempt, outcome.Step, outcome.Attempt, a.approveLine(task.ID)))
		}
		return a.decide(ctx, h, task, outcome)
	})
}

// showQuestions shows what a person has to find out. It still has to be done.
func (a *app) showQuestions(task host.Summary, asked []timeline.Question) error {
	if !a.json {
		a.explainAll(a.out, task, asked)
		return &codeError{exitAwaiting, nil}
	}
	err := a.printJSON(struct {
		ID     string    `json:"id"`
		Phase  string    `json:"phase"`
		Awaits []awaited `json:"awaits"`
	}{task.ID, task.Phase, awaitedOf(asked)})
	return errors.Join(err, &codeError{exitAwaiting, nil})
}

func (a *app) explainAll(out io.Writer, task host.Summary, asked []timeline.Question) {
	v := newView(out, a.told)
	defer v.close()
	for i := range asked {
		v.answer(a.explain(task.ID, &asked[i], task.Phase == phaseCancelling))
	}
}

// notAwaited says why there is nothing to decide, and what can be done instead. all are the questions of other steps.
func (a *app) notAwaited(task host.Summary, step int64, all []timeline.Question) error {
	switch {
	case task.Ended():
		return usage(fmt.Errorf("task %s waits for nobody: it has ended (%s)", task.ID, task.Phase))
	case len(all) > 0:
		return usage(fmt.Errorf("step %d of task %s does not wait for a person; see which does with %s", step, task.ID, a.approveLine(task.ID)))
	case task.Process != 0:
		return usage(fmt.Errorf("task %s waits for nobody: process %d runs it; follow it with: %s", task.ID, task.Process, a.followLine(task.ID)))
	case task.Phase == phaseCancelling:
		return usage(fmt.Errorf("task %s waits for nobody; end it with: %s", task.ID, a.tasksLine(task.ID, "cancel")))
	}
	return usage(fmt.Errorf("task %s waits for nobody; go on with it: %s", task.ID, a.resumeLine(&modelFlags{}, task.ID)))
}

// decide takes what a person found out, and says what follows.
func (a *app) decide(ctx context.Context, h *host.Host, task host.Summary, outcome host.Outcome) error {
	r, err := h.DecideOutcome(ctx, task.ID, outcome)
	if errors.Is(err, host.ErrNotAwaited) { // somebody else was faster
		return usage(fmt.Errorf("step %d of task %s does not wait any more; see what became of it with %s", outcome.Step, task.ID, a.tasksLine(task.ID, "show")))
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			ID    string `json:"id"`
			Step  int64  `json:"step"`
			Phase string `json:"phase"`
		}{task.ID, outcome.Step, r.Phase})
	}
	if r.Phase == "cancelled" {
		fmt.Fprintln(a.err, "noted; the task has ended (cancelled)")
		return nil
	}
	if task, err = h.Find(ctx, task.ID); err != nil {
		return err
	}
	left, err := questions(ctx, h, task.ID)
	if err != nil {
		return err
	}
	a.noted(task, left)
	return nil
}

// noted says what follows when a question is answered. left are those that are not.
func (a *app) noted(task host.Summary, left []timeline.Question) {
	switch {
	case task.Process != 0:
		fmt.Fprintf(a.err, "noted; process %d goes on with the task\n", task.Process)
	case len(left) > 0:
		fmt.Fprintln(a.err, "noted; the task still waits")
		a.howToGoOn(task, left)
	default:
		fmt.Fprintln(a.err, "noted; go on with: "+a.resumeLine(&modelFlags{}, task.ID))
	}
}
