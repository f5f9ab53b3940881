package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/config"
	"github.com/axishost/axishost/host/timeline"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
	"github.com/spf13/cobra"
)

// modelFlags say which model is asked, and where. resume has them too.
type modelFlags struct {
	model  string
	config string
	sets   []string
	// another tells that a task is resumed, and so asks what the flags name instead of its own model.
	another bool
	tell    telling
}

// telling are the flags that say how much is told meanwhile.
type telling struct{ quiet, verbose bool }

func (t *telling) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&t.quiet, "quiet", "q", false, "tell nothing but errors and the answer")
	cmd.Flags().BoolVarP(&t.verbose, "verbose", "v", false, "also tell the stages of what went straight and what plugins log for debugging, and cut no line")
}

func (t *telling) level() (level, error) {
	switch {
	case t.quiet && t.verbose:
		return normal, usage(errors.New("--quiet and --verbose exclude each other: give one of them"))
	case t.quiet:
		return quiet, nil
	case t.verbose:
		return verbose, nil
	}
	return normal, nil
}

func (f *modelFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "model `name`, or script:FILE.yaml (default: the configuration's, $OPENAI_MODEL)")
	flags.StringVar(&f.config, "config", "", "configuration `file` in YAML (default $AXISHOST_CONFIG)")
	flags.StringArrayVar(&f.sets, "set", nil, "set a configuration `key=value`; may be given several times")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	_ = cmd.RegisterFlagCompletionFunc("model", completeModel)
	_ = cmd.RegisterFlagCompletionFunc("set", completeSettings)
	f.tell.add(cmd)
}

type runFlags struct {
	modelFlags
	recipe string
	tools  []string
	allow  []string
	proof  proofFlags
	// key makes the run the same task each time; keyed tells that it was given, be it empty.
	key   string
	keyed bool
}

// outcomeFields tells of the object in which run and resume print what a task came to.
const outcomeFields = `, with the fields id, phase and state (as tasks list has
them), answer (empty: none), verified (by what: none, or schema, match, equals and recipe,
joined by +; empty where the task has not succeeded), reason
(why it is partial, failed, cancelled or stopped, or what it waits for; else empty) and awaits (` + awaitedFields + `).`

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [flags] TASK|-|@FILE",
		Short: "Run a task to its end",
		Long: `run gives a task to a model, follows the recipe's judgement of each reply, runs the tools that the model
calls, and prints the answer on standard output. What happens meanwhile goes to standard error: each turn, each
tool call, what did not go straight, and the end; with --verbose also the stages that each decision went
through, with --quiet only errors. On a terminal its lines are cut to the terminal's width, but for --verbose.
Everything that was decided is in the event log: see axishost tasks.

TASK is the text of the task, in quotes; - reads it from standard input, @FILE from a file. Put -- before one
that begins with a dash. Without --recipe the base machine runs with its defaults. A plugin of kind both is a
recipe that brings tools of its own: with --recipe it is both, with --tool only its tools are used.

The model is asked at OPENAI_BASE_URL with OPENAI_API_KEY; --model script:FILE.yaml asks a scripted one
instead. Configuration is merged from the defaults, the recipe's manifest, the file of --config, the
environment (AXISHOST_CONVERSATION_MAX_TURNS=20), and flags (--set conversation.max_turns=20).

Plugins compute, and nothing else, unless --allow says more: http=HOST lets them send requests to a host with a
public address (http-private=HOST also where its name leads to a private one; an address, such as
http=127.0.0.1:9000, is meant as it stands; http=*.example.com is all hosts below example.com); with PLUGIN: in front it is for one plugin. What proves an answer right
is the recipe's verify, and --schema, --match and --equals; without any of them success is not verified.

With --key the same command is one task, however often it comes (from cron, a queue, a script that tries again): where the task
is there already it is gone on with, as resume does, and where it has ended its answer is printed again. While another process
runs it, the command exits with 2 and says how to follow it. With anything else submitted the key is refused. The key is free again when its task is removed.

With --json it prints one object, also of a task that did not succeed` + outcomeFields + exitHelp(allExits()...),
		Example: `  axishost run --recipe boxed.wasm --tool calc.wasm "What is 17 * 23?"
  axishost run --model gpt-4o-mini --set conversation.max_turns=20 @task.txt
  OPENAI_BASE_URL=http://localhost:11434/v1 axishost run --model llama3.2 "Name three rivers"
  axishost run --model script:demo.yaml --recipe boxed.wasm --tool calc.wasm "What is 17 * 23?"
  axishost run --tool ledger.wasm --allow http=ledger.example.com --match '^entry' "Book 7 to cash"
  axishost run --key report-2026-11 --model gpt-4o-mini @report.txt`,
		Args:              one("TASK"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.keyed = cmd.Flags().Changed("key")
			return a.run(cmd.Context(), f, args[0])
		},
	}
	cmd.Flags().Var(&onceValue{&f.recipe, "a task has one recipe"}, "recipe", "packed recipe `file`")
	cmd.Flags().StringArrayVar(&f.tools, "tool", nil, "packed tools `file`; may be given several times")
	_ = cmd.MarkFlagFilename("recipe", "wasm")
	cmd.Flags().StringArrayVar(&f.allow, "allow", nil, "let plugins do more than compute: `[PLUGIN:]http=HOST`; may be given several times")
	_ = cmd.MarkFlagFilename("tool", "wasm")
	cmd.Flags().Var(&onceValue{&f.key, "a task has one key"}, "key", "idempotency `key`: the same run with the same key is the same task")
	completeNothing(cmd, "allow", "key")
	f.proof.add(cmd)
	f.modelFlags.add(cmd)
	return cmd
}

func (a *app) run(ctx context.Context, f *runFlags, task string) error {
	told, err := f.tell.level()
	if err != nil {
		return err
	}
	a.told = told
	if f.keyed {
		if err := host.CheckKey(f.key); err != nil {
			return usage(fmt.Errorf("--key: %w", err))
		}
	}
	goal, err := a.goal(ctx, task)
	if err != nil {
		return err
	}
	recipe, tools, err := judgeAll(f.recipe, f.tools)
	switch {
	case exitCode(err) == exitRefused:
		return a.refuse(ctx, f, goal, err)
	case err != nil:
		return err
	}
	a.noteUnusedRecipes(tools)
	grants, err := parseGrants(f.allow)
	if err != nil {
		return err
	}
	var base []config.Source
	if recipe != nil {
		manifest, err := config.FromManifest(recipe.Manifest)
		if err != nil {
			return usage(err)
		}
		base = append(base, manifest)
	}
	merged, err := settings(base, nil, &f.modelFlags)
	if err != nil {
		return err
	}
	if err := f.proof.into(&merged.Task); err != nil {
		return err
	}
	e, err := openModel(merged.Model, func(model string) string { return a.runLine(f, model, task) })
	if err != nil {
		return err
	}
	defer e.close()
	return a.withStore(ctx, storeOptions{}, func(s *sharedStore) error {
		return a.perform(s, e, &f.modelFlags, func(h *host.Host) (*host.Result, error) {
			return h.Run(ctx, host.Submission{
				Goal: goal, ModelName: pinnedName(merged.Model.Name), Recipe: recipe, Tools: tools, Config: merged.Task, Grants: grants, Key: f.key,
			})
		})
	})
}

// pinnedName is the name under which a task keeps its model: a script is found again from any directory.
func pinnedName(name string) string {
	file, scripted := strings.CutPrefix(name, scriptPrefix)
	if path, err := filepath.Abs(file); scripted && err == nil {
		return scriptPrefix + path
	}
	return name
}

// perform runs a task, tells of it meanwhile, and shows how it ended.
func (a *app) perform(s *sharedStore, e *endpoint, f *modelFlags, do func(*host.Host) (*host.Result, error)) error {
	v := newView(a.err, a.told)
	opts := host.Options{CacheDir: cachePath(), Events: v.events()}
	opts.Events.Held = func(h host.Holder) { v.held(h, a.approveLine(h.Task), a.resumeLine(&modelFlags{}, h.Task)) }
	if e.client != nil {
		opts.Model = e.client
	}
	h, err := s.host(opts)
	if err != nil {
		v.close()
		return err
	}
	r, err := do(h)
	v.close()
	if r == nil && errors.Is(err, host.ErrInterrupted) {
		return &codeError{exitInterrupted, errors.New("interrupted before the task began; nothing was stored")}
	}
	if r == nil {
		return a.busy(err)
	}
	if e.server != nil && e.server.Failure() != nil && r.Phase != "cancelled" && !errors.Is(err, host.ErrDeleted) {
		err = &host.StoppedError{Task: r.Task, Reason: e.server.Failure().Error()}
	}
	return a.report(r, err, f, v.timeline.Questions())
}

// report prints what a task came to, or waits for. One that can go on says with which command.
func (a *app) report(r *host.Result, err error, f *modelFlags, waits []timeline.Question) error {
	if err != nil && r.Reason == "" {
		r.Reason = err.Error()
	}
	if a.json {
		if err := a.printJSON(struct {
			ID       string    `json:"id"`
			Phase    string    `json:"phase"`
			State    string    `json:"state"`
			Answer   string    `json:"answer"`
			Verified string    `json:"verified"`
			Reason   string    `json:"reason"`
			Awaits   []awaited `json:"awaits"`
		}{r.Task, r.Phase, stateOf(r, err), r.Answer, r.Verified, r.Reason, awaitedOf(waits)}); err != nil {
			return err
		}
	} else if r.Answer != "" {
		a.printAnswer(r.Answer)
	}
	var stopped *host.StoppedError
	switch {
	case errors.As(err, &stopped) && stopped.Step != 0:
		text := cmp.Or(a.ask(r.Task, waits, r.Phase == phaseCancelling), reason(err.Error()))
		if r.Phase != phaseCancelling {
			text += "\nthen go on with: " + a.resumeLine(f, r.Task)
		}
		return &codeError{exitAwaiting, errors.New(text)}
	case errors.As(err, &stopped) && stopped.Plugin:
		return &codeError{exitPlugin, fmt.Errorf("%s (resuming tries the same plugin again: a task keeps those that it was begun with)\ngo on with: %s", reason(err.Error()), a.goOnLine(f, r))}
	case errors.As(err, &stopped) || errors.Is(err, host.ErrInterrupted):
		return &codeError{exitCode(err), fmt.Errorf("%s\ngo on with: %s", reason(err.Error()), a.goOnLine(f, r))}
	case errors.Is(err, store.ErrFailed):
		return &codeError{exitStore, fmt.Errorf("%w\ngo on with: %s", err, a.goOnLine(f, r))}
	case err != nil:
		return err
	case r.Phase == "partial":
		return &codeError{exitPartial, errors.New("the task ended without reaching its goal: " + reason(timeline.PartialReason(r.Reason)))}
	case r.Phase == "cancelled":
		return &codeError{exitCancelled, errors.New("the task was cancelled: " + reason(r.Reason))}
	case r.Phase == "failed":
		return &codeError{exitFailed, errors.New(reason(r.Reason))}
	}
	return nil
}

// goOnLine is the command line that goes on with a task, or ends one that was cancelled: for that no model is needed.
func (a *app) goOnLine(f *modelFlags, r *host.Result) string {
	if r.Phase == phaseCancelling {
		return a.tasksLine(r.Task, "cancel")
	}
	return a.resumeLine(f, r.Task)
}

// stateOf says of a task that is not run here any more what tasks list would.
func stateOf(r *host.Result, err error) string {
	var stopped *host.StoppedError
	task := host.Summary{Phase: r.Phase, Waits: errors.As(err, &stopped) && stopped.Step != 0}
	if !task.Ended() && errors.Is(err, host.ErrTakenOver) {
		return phaseRunning
	}
	return state(&task)
}

// reason makes why a task stopped, in which a model or a plugin may have had its say, one line.
func reason(text string) string { return plugins.Printable(text, len(text)) }
