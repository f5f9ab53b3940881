package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/spf13/cobra"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the event log",
		Long: `doctor reads all that the event log holds: it verifies, decodes and folds every event of every task, and
compares the plugins that tasks were begun with with their digests. It changes no task, and works while tasks
are being run; but opening a store writes to its directory, so check a copy of a backup. What is damaged is printed, a line each, and doctor then exits with 9. With --json it prints one
object with the fields store, key (id of the key that it is encrypted with; empty: plain), tasks, events,
modules, side_logs (what is no task: who has which key of run --key), bytes and damage: an array of objects with the fields task (empty: some task; ~store:
how the store is encrypted; ~key-...: a side log), seq (0: not one event) and what.` + exitHelp(exitSucceeded, exitUsage, exitStore, exitInterrupted),
		Example: `  axishost doctor
  axishost doctor --store copy-of-backup --json | jq .damage`,
		Args:              none,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

func (a *app) doctor(ctx context.Context) error {
	dir, err := a.storePath()
	if err != nil {
		return err
	}
	return a.withStore(ctx, storeOptions{mustExist: true}, func(s *sharedStore) error {
		if s == nil {
			return a.noStore(dir)
		}
		return a.check(ctx, s, dir)
	})
}

func (a *app) check(ctx context.Context, s *sharedStore, dir string) error {
	h, err := s.host(host.Options{})
	if err != nil {
		return err
	}
	report, err := h.Check(ctx, a.counting("checking"))
	if err != nil {
		return err
	}
	if err := s.verify(ctx, report); err != nil {
		return err
	}
	if err := a.printReport(dir, s.keyID(), report); err != nil {
		return err
	}
	if n := len(report.Damage); n > 0 {
		return &codeError{exitStore, fmt.Errorf("the store in %q is damaged in %s; restore a backup (what is not damaged can be read as before)", dir, count(n, "place"))}
	}
	return nil
}

// noStore says that there is nothing to check: as an error where the user named the place.
func (a *app) noStore(dir string) error {
	if a.storeDir != "" || os.Getenv("AXISHOST_STORE") != "" {
		return &codeError{exitStore, fmt.Errorf("there is no store in %q; name the directory of one", dir)}
	}
	fmt.Fprintln(a.err, "there is no store yet in "+dir)
	return nil
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// verify adds to a report what can be found only by the process that has the store itself: every value in it is
// looked at, whether a task refers to it or not, also behind damage that keeps tasks from being listed.
func (s *sharedStore) verify(ctx context.Context, report *host.CheckReport) error {
	own, ok := s.control.Own().(*pebblestore.Log)
	if !ok {
		return nil
	}
	found, err := own.Verify(ctx, nil)
	if err != nil {
		return err
	}
	for _, d := range found.Damage {
		known := func(r host.Damage) bool { return r.Task == d.Task && r.Seq == d.Seq }
		if !slices.ContainsFunc(report.Damage, known) {
			report.Damage = append(report.Damage, host.Damage{Task: d.Task, Seq: d.Seq, What: d.What})
		}
	}
	return nil
}

// counting gives a progress line on a terminal; nil elsewhere. What is printed next takes its place.
func (a *app) counting(verb string) func(done, total int) {
	if !isTerminal(a.err) {
		return nil
	}
	var told time.Time
	return func(done, total int) {
		if now := time.Now(); now.Sub(told) > 200*time.Millisecond {
			told = now
			fmt.Fprintf(a.err, "%s task %d of %d\x1b[K\r", verb, done+1, total)
		}
		if done+1 == total {
			fmt.Fprint(a.err, "\x1b[K")
		}
	}
}

func (a *app) printReport(dir, keyID string, r *host.CheckReport) error {
	if a.json {
		return a.printJSON(struct {
			Store string `json:"store"`
			Key   string `json:"key"`
			*host.CheckReport
		}{dir, keyID, r})
	}
	kept := "plain"
	if keyID != "" {
		kept = "encrypted with key " + keyID
	}
	fmt.Fprintf(a.out, "store    %s, %s\n", dir, kept)
	parts := []string{count(r.Tasks, "task"), count(int(r.Events), "event"), count(r.Modules, "module")}
	if r.SideLogs > 0 {
		parts = append(parts, count(r.SideLogs, "side log"))
	}
	fmt.Fprintf(a.out, "checked  %s, %s\n", strings.Join(parts, ", "), count(int(r.Bytes), "byte"))
	if len(r.Damage) == 0 {
		fmt.Fprintln(a.out, "damage   none")
	}
	a.printDamage(r.Damage)
	return nil
}

// printDamage prints a line for each place that is damaged.
func (a *app) printDamage(damage []host.Damage) {
	for _, d := range damage {
		where := "task " + d.Task
		if d.Task == "" {
			where = "some task"
		}
		if d.Seq != 0 {
			where += fmt.Sprintf(" event %d", d.Seq)
		}
		fmt.Fprintf(a.out, "damage   %s: %s\n", where, plugins.Printable(d.What, 300))
	}
}
