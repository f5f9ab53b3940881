package main

import (
	"context"
	"fmt"
	"time"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/stats"
	"github.com/spf13/cobra"
)

func (a *app) statsCommand() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Tell how tasks did: success, latency, effects, failures",
		Long: `stats reads the events of the tasks that are selected as by tasks list, and tells how they ended, what they took,
what they changed outside and what is known of that, and how each tool did. Nothing is stored; what did not
occur is not shown. A task that is damaged is named and not counted, and stats then exits with 9.

Rates of success are of the tasks that have ended. Steps, turns and times of whole tasks are of those that were
begun and have ended, but for tasks that undo; their time is that in which they were run, without what lies between a stop and a resume. Latency
is, of model, a call that was answered; of tool, an attempt; of queue, from a call's authorization to its first
attempt; of reconcile, from not knowing what a call did to knowing; of verification, from a reply to the verdict. P50
and P95 are exact for steps and turns up to 255, and within 0.4 % else. A task counts as taken over when its worker
was lost: it was resumed without having halted, after a crash or an interrupt.

With --json it prints one object; times are in microseconds. What is by something is an object of numbers by
name, a spread an object with the fields n, p50 and p95, and a rate null where there is nothing to divide by. Its fields:
  tasks             all, succeeded, verified, not_verified, proved_by (by predicate: schema, match, equals, recipe), partial, partial_by (by reason), failed, cancelled, stopped, waiting (for a person), running, success_rate, verified_rate
  per_task          steps and turns: a spread each
  latency_us        model, tool, queue, reconcile, verification and task: a spread each
  model             calls, replies, retries, failed (by class), prompt_tokens, completion_tokens, unreported (replies of which the endpoint did not say what they used)
  turns             rollbacks (by reason), reprompts, rejections (answers that did not hold), replans (what was planned no longer fitted, by reason), compactions, forced (final turns, by trigger)
  calls             all (of tools), attempts, retries, repaired (arguments), denied (by reason)
  effects           writes (operations that were begun and may change something), attempts (of calls, that began any), unknown (of these), unknown_rate, found, absent, by_person (of found and absent), open, denied (operations)
  undone            tasks (that undo what others did; they count as tasks, and not in per_task), operations (of which the undoing was begun), attempts, succeeded, failed, unknown (they may be undone)
  recovery          lost (tasks that were taken over), recovered (of these, succeeded or partial in the end), rate
  tools             an array: name, calls, attempts, succeeded, failed (by class; fault: the plugin did), unknown, denied (by reason), latency_us (a spread); what a model calls and no task has is in calls alone
  rejected_plugins  by class
  damage            an array: task, seq and what, as of doctor` + exitHelp(exitSucceeded, exitUsage, exitStore, exitInterrupted),
		Example: `  axishost stats
  axishost stats --since 7d
  axishost stats --phase failed,partial --json | jq '.tools[] | {name, failed}'
  axishost stats --json | jq .effects.unknown_rate`,
		Args:              none,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.stats(cmd.Context(), f) },
	}
	f.add(cmd)
	return cmd
}

func (a *app) stats(ctx context.Context, f *listFlags) error {
	q, err := f.query(time.Now())
	if err != nil {
		return err
	}
	return a.reading(ctx, storeOptions{}, func(h *host.Host) error {
		if h == nil {
			return a.statsOfNoStore()
		}
		found, err := h.Stats(ctx, q, f.choose, a.counting("reading"))
		if err != nil {
			return err
		}
		return a.showStats(f, found)
	})
}

// statsOfNoStore tells of a store that is not there: nothing happened in it.
func (a *app) statsOfNoStore() error {
	if a.json {
		return a.printJSON(&host.Stats{Report: new(stats.Sum).Report(), Damage: []host.Damage{}})
	}
	return a.showNoStore()
}

func (a *app) showStats(f *listFlags, found *host.Stats) error {
	damaged := len(found.Damage)
	switch {
	case a.json:
		if err := a.printJSON(found); err != nil {
			return err
		}
	case found.Tasks.All == 0 && damaged == 0:
		return a.showTasks(f, nil)
	default:
		a.printStats(found.Report)
		a.printDamage(found.Damage)
	}
	if damaged > 0 {
		return &codeError{exitStore, fmt.Errorf("not counted, since damaged: %s; see what else is with axishost doctor, and restore the store from a backup", count(damaged, "task"))}
	}
	return nil
}
