package host

import (
	"context"
	"flag"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/config"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/require"
)

// crashAll makes the tests of crashes and faults try everything, not one of each kind.
var crashAll = flag.Bool("crash.all", false, "resume every crash clone, and try every fault in every way")

// scene is a task that a real host runs with real guests. Each execution of its tool leaves a trace outside of
// the log.
type scene struct {
	name    string
	sub     func(t testing.TB) Submission
	replies []any
	answer  string
	calls   int // of tools
}

// scenes are tasks that between them do all that a task does between two commits.
func scenes() []scene {
	parallel := notes("1")
	for _, text := range []string{"2", "3", "4", "5"} {
		more := notes(text).Message.ToolCalls[0]
		more.ID = "c" + text
		parallel.Message.ToolCalls = append(parallel.Message.ToolCalls, more)
	}
	first, second := notes(strings.Repeat("one ", 300)), notes(strings.Repeat("two ", 300))
	first.Usage, second.Usage = usage(700), usage(900)
	return []scene{
		{"demo", withBoxed, []any{
			says("I'm sorry, but I can't help with that."), says("<tool_call>{\"name\": \"note\"</tool_call>"),
			notes("391"), says(`It is \boxed{391}.`),
		}, "391", 1},
		{"parallel", withWitness, []any{parallel, says("Five are noted.")}, "Five are noted.", 5},
		{"compaction", func(t testing.TB) Submission {
			sub := withWitness(t)
			sub.Config.Conversation.ContextLimit.Window = new(int64(100_000))
			sub.Config.Compaction.Threshold, sub.Config.Compaction.KeepRecent = new(int64(500)), 2
			return sub
		}, []any{first, second, says("One was noted."), says("Both are noted.")}, "Both are noted.", 2},
	}
}

func notes(text string) model.Reply { return callsTool("note", `{"text":"`+text+`"}`) }

func withWitness(t testing.TB) Submission {
	sub := bare()
	sub.Tools = []*plugins.Inspection{guest(t, "witness")}
	return sub
}

func withBoxed(t testing.TB) Submission {
	sub := withWitness(t)
	sub.Recipe = guest(t, "boxed")
	manifest, err := config.FromManifest(sub.Recipe.Manifest)
	require.NoError(t, err)
	merged, err := config.Merge(manifest)
	require.NoError(t, err)
	sub.Config = merged.Task
	sub.Config.Limits.RetryBase = 1
	return sub
}

// world is what is known of a task outside of its log: the last event that was told of, and how often each
// operation was executed.
type world struct {
	mu       sync.Mutex
	told     uint64
	executed map[string]int
}

func (w *world) events() Events {
	return Events{
		Committed: func(e *Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.told = max(w.told, e.Seq)
		},
		PluginLog: func(_ string, _ abi.LogLevel, text string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if operation, ok := strings.CutPrefix(text, "executed "); ok {
				if w.executed == nil {
					w.executed = map[string]int{}
				}
				w.executed[operation]++
			}
		},
	}
}

// seen gives what is known so far.
func (w *world) seen() (told uint64, executed map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told, maps.Clone(w.executed)
}

// operations gives what the log has of each call: how far it got, by its operation id.
func operations(events []*Event) map[string]event.Type {
	ids, out := map[int64]string{}, map[string]event.Type{}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *event.ToolRequested:
			ids[e.Step] = p.OperationID
		case *event.ToolStarted, *event.ToolSucceeded, *event.ToolFailed:
			out[ids[e.Step]] = e.Payload.Type()
		}
	}
	return out
}

// aftermath resumes the task that a log holds after a crash, or a fault, and judges what the world sees. It
// gives the number of events that were there; 0: no task was.
func (s *scene) aftermath(t testing.TB, log store.Log, sub Submission, told uint64, executed map[string]int) int {
	t.Helper()
	after := &world{}
	h := open(t, log, &fakeModel{replies: s.replies}, after.events())
	before := theHistory(t, h)
	require.GreaterOrEqual(t, len(before), int(told), "an event that was told of is lost")
	reached := operations(before)
	for operation := range executed {
		require.Contains(t, reached, operation, "a tool ran of whose start the log does not know")
	}
	var r *Result
	var err error
	if len(before) == 0 {
		r, err = h.Run(context.Background(), sub)
	} else {
		r, err = h.Resume(context.Background(), before[0].Task)
	}
	require.NoError(t, err)
	require.Equal(t, s.answer, r.Answer)
	events := theHistory(t, h)
	require.Equal(t, s.calls, count(events, event.TypeToolSucceeded))
	require.Equal(t, 1, count(events, event.TypeTaskSucceeded))
	requireAskedAgain(t, before, events)
	_, again := after.seen()
	for operation := range operations(events) {
		switch reached[operation] {
		case event.TypeToolSucceeded:
			require.Zero(t, again[operation], "a call that was completed ran again")
		default:
			require.Equal(t, 1, again[operation], "a call that was cut off runs once more")
		}
		require.LessOrEqual(t, executed[operation], 1)
	}
	report, err := h.Check(context.Background(), nil)
	require.NoError(t, err)
	require.Empty(t, report.Damage)
	require.Equal(t, 1, report.Tasks)
	return len(before)
}

// requireAskedAgain: a model call whose reply was not known before is lost after, and made again.
func requireAskedAgain(t testing.TB, before, after []*Event) {
	t.Helper()
	open := count(before, event.TypeModelRequested) - count(before, event.TypeModelReplied) - count(before, event.TypeModelFailed)
	lost := 0
	for _, e := range after[len(before):] {
		if p, ok := e.Payload.(*event.ModelFailed); ok && p.Class == event.ClassLost {
			lost++
		}
	}
	require.Equal(t, open, lost, "model calls without a known outcome")
	require.Equal(t, count(after, event.TypeModelRequested), count(after, event.TypeModelReplied)+count(after, event.TypeModelFailed))
}

// theHistory gives the events of the only task of a log; nil when there is none.
func theHistory(t testing.TB, h *Host) []*Event {
	t.Helper()
	tasks, err := h.List(context.Background(), Query{})
	require.NoError(t, err)
	if len(tasks) == 0 {
		return nil
	}
	require.Len(t, tasks, 1)
	return history(t, h, tasks[0].ID)
}

// lines gives events as text, to be compared.
func lines(t testing.TB, events []*Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		line, err := EventJSON(e)
		require.NoError(t, err)
		out[i] = string(line)
	}
	return out
}
