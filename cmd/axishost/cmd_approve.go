package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/axishost/axishost/host"
	"github.com/spf13/cobra"
)

// approveFlags are what a person found out.
type approveFlags struct {
	step             int64
	outcome          string
	result, evidence string
	resultWasGiven   bool
}

func (a *app) approveCommand() *cobra.Command {
	f := &approveFlags{}
	cmd := &cobra.Command{
		Use:   "approve TASK --outcome found|absent",
		Short: "Say what a step did, where nobody else can",
		Long: `approve decides for a task that waits for a person. A step that writes to the outside world may have happened
although its reply was lost; the task then asks the tool, and where the tool cannot tell, a person has to look: by the
operation id, which the tool passed on as idempotency key. --outcome found says that it happened: the model is told
--result. --outcome absent says that it has not happened and will not: it is made again, under the same operation id.
The task goes on with resume. With --json it prints one object with the fields id, step (0: the one) and phase.` +
			exitHelp(exitSucceeded, exitUsage, exitStore, exitInterrupted),
		Example: `  axishost approve last --outcome found --result "entry 7, by the bank statement"
  axishost approve 01jd3m9q --step 3 --outcome absent`,
		Args:              one("TASK"),
		ValidArgsFunction: a.completeTasks(taskCompletion{unfinished: true}),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.resultWasGiven = cmd.Flags().Changed("result")
			return a.approve(cmd.Context(), f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.outcome, "outcome", "", "what was found out: `found` or absent")
	flags.Int64Var(&f.step, "step", 0, "which step, where several wait (default: the one)")
	flags.StringVar(&f.result, "result", "", "with found: `text` that the model is told as the call's result")
	flags.StringVar(&f.evidence, "evidence", "", "`JSON` that is kept with it, such as a ticket's number")
	completeNothing(cmd, "step", "result", "evidence")
	_ = cmd.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions([]string{"found", "absent"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *approveFlags) parse() (host.Outcome, error) {
	o := host.Outcome{Step: f.step, Found: f.outcome == "found", Result: f.result}
	switch {
	case f.outcome == "":
		return o, usage(errors.New("--outcome is missing: say found or absent"))
	case f.outcome != "found" && f.outcome != "absent":
		return o, usage(fmt.Errorf("--outcome %s: it is found or absent", f.outcome))
	case f.step < 0:
		return o, usage(fmt.Errorf("--step %d: steps count from 1", f.step))
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

func (a *app) approve(ctx context.Context, f *approveFlags, name string) error {
	outcome, err := f.parse()
	if err != nil {
		return err
	}
	return a.withTask(ctx, name, func(h *host.Host, task host.Summary) error {
		r, err := h.DecideOutcome(ctx, task.ID, outcome)
		switch {
		case errors.Is(err, host.ErrNotAwaited):
			return usage(fmt.Errorf("task %s does not wait for that; see what it waits for with %s", task.ID, a.tasksLine(task.ID, "show")))
		case errors.As(err, new(*host.SeveralError)):
			return usage(err)
		case err != nil:
			return err
		case a.json:
			return a.printJSON(struct {
				ID    string `json:"id"`
				Step  int64  `json:"step"`
				Phase string `json:"phase"`
			}{task.ID, outcome.Step, r.Phase})
		case r.Phase == "cancelled":
			fmt.Fprintln(a.err, "noted; the task has ended (cancelled)")
		default:
			fmt.Fprintln(a.err, "noted; go on with: "+a.resumeLine(&modelFlags{}, task.ID))
		}
		return nil
	})
}

// approveLine is the command line that decides what a step did, but for the outcome.
func (a *app) approveLine(task string, step int64) string {
	words := append([]string{a.anywhereProgram(), "approve"}, a.anywhereWords()...)
	if words = append(words, task); step != 0 {
		words = append(words, "--step", strconv.FormatInt(step, 10))
	}
	return shellLine(words)
}
