package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/config"
	"github.com/axishost/axishost/plugins"
	"github.com/spf13/cobra"
)

// completionPatience bounds how long a completion keeps a shell waiting.
const completionPatience = 500 * time.Millisecond

// taskCompletion says which tasks are offered.
type taskCompletion struct {
	several    bool // there can be more arguments than one
	unfinished bool // only those that have not ended
	waiting    bool // only those that wait for a person
	ended      bool // only those that have
}

// completeTasks offers the ids of tasks, newest first, and "last".
func (a *app) completeTasks(c taskCompletion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		const plainly = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		var ids []string
		_ = a.reading(cmd.Context(), storeOptions{patience: completionPatience}, func(h *host.Host) error {
			if len(args) > 0 && !c.several || h == nil {
				return nil
			}
			var q host.Query
			if !strings.HasPrefix("last", prefix) { // else the newest is needed too
				q.Prefix = strings.ToLower(prefix)
			}
			tasks, err := h.List(cmd.Context(), q)
			if err != nil {
				return err
			}
			ids = c.offer(tasks, args, prefix)
			return nil
		})
		return ids, plainly
	}
}

// offer gives those of tasks that may come next, with what they are.
func (c taskCompletion) offer(tasks []host.Summary, given []string, prefix string) []string {
	var out []string
	for i, t := range slices.Backward(tasks) {
		if c.unfinished && t.Ended() || c.ended && !t.Ended() || c.waiting && !t.Waits || slices.Contains(given, t.ID) {
			continue
		}
		if newest := i == len(tasks)-1; newest && strings.HasPrefix("last", prefix) && !slices.Contains(given, "last") {
			out = append(out, "last")
		}
		if strings.HasPrefix(t.ID, strings.ToLower(prefix)) {
			out = append(out, fmt.Sprintf("%s\t%s: %s", t.ID, t.Phase, plugins.Printable(t.Task, 60)))
		}
	}
	return out
}

// completePhases offers phases, after those that stand there already with commas between.
func completePhases(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	before := prefix[:strings.LastIndexByte(prefix, ',')+1]
	var out []string
	for _, phase := range append(host.Phases(), livePhases()...) {
		if strings.HasPrefix(before+phase, prefix) && !slices.Contains(strings.Split(before, ","), phase) {
			out = append(out, before+phase)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeSettings offers what can be configured, up to the value.
func completeSettings(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, key := range config.Keys() {
		if !strings.HasSuffix(key, ".") { // below it the key goes on
			key += "="
		}
		if strings.HasPrefix(key, prefix) {
			out = append(out, key)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeModel offers the one model whose name is known here how to begin.
func completeModel(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if strings.HasPrefix(scriptPrefix, prefix) {
		return []string{scriptPrefix}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeNothing keeps a shell from offering files for flags that take something else.
func completeNothing(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions)
	}
}
