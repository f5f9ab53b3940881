package host

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/require"
)

// recording makes one history: run leaves its task in the log.
type recording struct {
	name, shows string
	run         func(t *testing.T, log store.Log)
}

// recordings are the histories that this version can make. A new situation is a new entry.
func recordings() []recording { return append(recordingsV1(), recordingsV2()...) }

// recordingsV1 are those of the first schema's time.
func recordingsV1() []recording {
	return []recording{
		{"demo", "A refusal that is hidden, a malformed call that is asked for again, a tool call, a direct answer.", func(t *testing.T, log store.Log) {
			recorded(t, log, submission(t), nil, demo()...)
		}},
		{"compaction", "Two exchanges, the first of which is summed up by the model.", func(t *testing.T, log store.Log) {
			sub := withCalc(t, "")
			sub.Config.Conversation.ContextLimit.Window = new(int64(100_000))
			sub.Config.Compaction.Threshold, sub.Config.Compaction.KeepRecent = new(int64(500)), 2
			first, second := calls("7 ^ 900"), calls("7 ^ 901")
			first.Usage, second.Usage = usage(700), usage(900)
			recorded(t, log, sub, nil, first, second, says("7 ^ 900 was computed."), says("Both are large."))
		}},
		{"tool_failed", "A call that the tool refuses, one of a tool that is not there, one whose arguments do not fit.", func(t *testing.T, log store.Log) {
			recorded(t, log, withCalc(t, ""), nil, calls("1 / 0"), callsTool("search", "{}"), callsTool("calc", `{"expresion":"1"}`), says("I give up."))
		}},
		{"tool_error_hidden", "A failed call and a repeated query that the recipe hides, arguments that it repairs.", func(t *testing.T, log store.Log) {
			fenced := callsTool("calc", "```json\n{\"expression\": \"4 / 1\"}\n```")
			recorded(t, log, withCalc(t, "careful"), nil, calls("4 / 0"), fenced, calls("4  /  1"), says("Four."))
		}},
		{"parallel", "Five calls of one reply, of which four run at once.", func(t *testing.T, log store.Log) {
			reply := calls("1")
			for _, expression := range []string{"2", "3", "4", "5"} {
				more := calls(expression).Message.ToolCalls[0]
				more.ID = "c" + expression
				reply.Message.ToolCalls = append(reply.Message.ToolCalls, more)
			}
			recorded(t, log, withCalc(t, ""), nil, reply, says("Fifteen."))
		}},
		{"model_call_lost", "The worker dies while the model is asked; another one goes on.", func(t *testing.T, log store.Log) {
			crashed(t, log, submission(t), event.TypeModelReplied, demo()...)
			resumed(t, log, demo()...)
		}},
		{"tool_call_lost", "The worker dies while the tool runs; another one runs it again.", func(t *testing.T, log store.Log) {
			crashed(t, log, submission(t), event.TypeToolSucceeded, demo()...)
			resumed(t, log, demo()...)
		}},
		{"consultation_lost", "The worker dies while the recipe is asked; another one asks it again.", func(t *testing.T, log store.Log) {
			crashed(t, log, submission(t), event.TypeRecipeConsulted, demo()...)
			resumed(t, log, demo()...)
		}},
		{"model_retried", "A busy endpoint, tried again; one that refuses the key, resumed.", func(t *testing.T, log store.Log) {
			busy := &model.Error{Class: model.ClassRateLimited, Status: 429, RetryAfter: time.Millisecond}
			replies := []any{busy, &model.Error{Class: model.ClassAuth, Status: 401}, says("four")}
			recorded(t, log, bare(), new(*StoppedError), replies...)
			resumed(t, log, replies...)
		}},
		{"halted", "An endpoint that refuses the key: the task waits to be resumed.", func(t *testing.T, log store.Log) {
			recorded(t, log, bare(), new(*StoppedError), &model.Error{Class: model.ClassAuth, Status: 401})
		}},
		{"plugin_fault", "A tool that takes longer than it may: the task waits to be resumed.", func(t *testing.T, log store.Log) {
			sub := withCalc(t, "")
			sub.Config.Limits.ToolTimeout = 1 // ms
			recorded(t, log, sub, new(*StoppedError), calls("1"))
		}},
		{"partial", "The turn limit forces the last turn, and its reply is blank.", func(t *testing.T, log store.Log) {
			sub := withCalc(t, "")
			sub.Config.Conversation.MaxTurns = new(int64(2))
			recorded(t, log, sub, nil, calls("1"), says(" "))
		}},
		{"answer_cut_off", "The only reply ends at the token limit.", func(t *testing.T, log store.Log) {
			reply := says("It begins with")
			reply.FinishReason = "length"
			recorded(t, log, bare(), nil, reply)
		}},
		{"context_error", "The endpoint calls the prompt too long: the latest exchange is hidden, the last turn forced.", func(t *testing.T, log store.Log) {
			recorded(t, log, withCalc(t, ""), nil, calls("2 + 2"), &model.Error{Class: model.ClassContextLimit, Status: 413}, says("Four."))
		}},
		{"failed", "An answer that no tool gave, rejected until the task fails.", func(t *testing.T, log store.Log) {
			recorded(t, log, withCalc(t, "strict"), nil, says("5"), says("6"), says("7"), says("8"), says("9"))
		}},
		{"verified", "An answer that is rejected, and one that holds.", func(t *testing.T, log store.Log) {
			recorded(t, log, withCalc(t, "strict"), nil, says("5"), calls("2 + 2"), says("4"))
		}},
		{"cancelled", "A task that is cancelled while a tool runs, and whose worker dies before it ends.", func(t *testing.T, log store.Log) {
			crashed(t, log, submission(t), event.TypeToolSucceeded, demo()...)
			fed(t, log, core.CancelRequested{Reason: "no longer needed"}, core.Claimed{Worker: "worker:2", Fence: 2})
		}},
		{"cancelled_model_call", "A task that is cancelled while the model is asked.", func(t *testing.T, log store.Log) {
			crashed(t, log, bare(), event.TypeModelReplied, says("four"))
			fed(t, log, core.CancelRequested{Reason: "no longer needed"})
		}},
	}
}

// recordingsV2 are those since tools that write.
func recordingsV2() []recording {
	ledger := func(name, shows string, run func(t *testing.T, s *ledgertest.Server, log store.Log)) recording {
		return recording{name, shows, func(t *testing.T, log store.Log) { run(t, newLedger(t, ledgertest.Options{Raw: true}), log) }}
	}
	once := []any{appends("cash", 7), says("booked")}
	return []recording{
		ledger("write", "Two entries of one account and one of another, each made once.", func(t *testing.T, s *ledgertest.Server, log store.Log) {
			recorded(t, log, ledgerTask(t, s), nil, appends("cash", 1, 2), appends("bank", 3), says("booked"))
		}),
		ledger("write_found", "The reply of a write is lost; the tool finds the entry.", func(t *testing.T, s *ledgertest.Server, log store.Log) {
			require.NoError(t, s.SetFaults(ledgertest.Fault{Trouble: "lose_reply", Method: "POST"}))
			recorded(t, log, ledgerTask(t, s), nil, once...)
		}),
		ledger("write_absent", "The request of a write is lost; it is made again.", func(t *testing.T, s *ledgertest.Server, log store.Log) {
			require.NoError(t, s.SetFaults(ledgertest.Fault{Trouble: "lose_request", Method: "POST"}))
			recorded(t, log, ledgerTask(t, s), nil, once...)
		}),
		ledger("write_awaited", "Nobody can tell what became of a write: the task waits for a person.", func(t *testing.T, s *ledgertest.Server, log store.Log) {
			require.NoError(t, s.SetFaults(ledgertest.Fault{Trouble: "lose_reply", Method: "POST"}, ledgertest.Fault{Trouble: "inconclusive", Method: "GET", Count: 9}))
			sub := ledgerTask(t, s)
			sub.Config.Limits.ReconcileTries = 2
			recorded(t, log, sub, new(*StoppedError), once...)
		}),
		ledger("write_denied", "A host that was not granted, and a call that the tool itself refuses.", func(t *testing.T, s *ledgertest.Server, log store.Log) {
			sub := ledgerTask(t, s)
			sub.Grants = nil
			recorded(t, log, sub, nil, appends("cash", 7), appends("cash", 0), says("no"))
		}),
		ledger("undo", "Three entries that another task made are void, the last one first.", func(t *testing.T, s *ledgertest.Server, log store.Log) {
			undoneIn(t, s, log, func(h *Host, task string) error {
				_, err := h.Compensate(t.Context(), task, CompensateOptions{Reason: "a mistake"})
				return err
			})
		}),
		ledger("undo_partial", "One entry is void, after an attempt that was refused; of one nobody knows, however often it is tried; one cannot be undone.", func(t *testing.T, s *ledgertest.Server, log store.Log) {
			undoneIn(t, s, log, func(h *Host, task string) error {
				require.NoError(t, s.SetFaults(
					ledgertest.Fault{Trouble: "rate_limit", Method: "DELETE"},
					ledgertest.Fault{Trouble: "lose_reply", Method: "DELETE", Nth: 3, Count: 4},
					ledgertest.Fault{Trouble: "fail_before", Method: "DELETE", Nth: 7, Status: 403}))
				_, err := h.Compensate(t.Context(), task, CompensateOptions{})
				return err
			})
		}),
		ledger("undo_lost", "The worker dies when an entry was made void and the log does not know; another one tries again.", func(t *testing.T, s *ledgertest.Server, log store.Log) {
			undoneIn(t, s, log, func(h *Host, task string) error {
				dying := recorder(t, &crashingLog{Log: log, at: event.TypeCompensationSucceeded}, nil)
				_, err := dying.Compensate(t.Context(), task, CompensateOptions{})
				require.ErrorIs(t, err, errCrash)
				h.worker = "worker:2"
				_, err = h.Resume(t.Context(), theUndoing(t, h))
				return err
			})
		}),
		ledger("undo_cancelled", "The worker dies when an entry was made void and the log does not know; the task is cancelled.", func(t *testing.T, s *ledgertest.Server, log store.Log) {
			undoneIn(t, s, log, func(h *Host, task string) error {
				dying := recorder(t, &crashingLog{Log: log, at: event.TypeCompensationSucceeded}, nil)
				_, err := dying.Compensate(t.Context(), task, CompensateOptions{})
				require.ErrorIs(t, err, errCrash)
				h.worker = "worker:2"
				_, err = h.Cancel(t.Context(), theUndoing(t, h), "no longer needed")
				return err
			})
		}),
		{"goal_match", "An answer that does not match, and one that does.", func(t *testing.T, log store.Log) {
			sub := bare()
			sub.Config.Goal = core.GoalConfig{Match: "^[0-9]+$"}
			recorded(t, log, sub, nil, says("four"), says("4"))
		}},
		{"same_failure", "The same failure four times: the last turn is forced, and the end is partial.", func(t *testing.T, log store.Log) {
			sub := withCalc(t, "")
			sub.Config.Limits.SameArguments = nil
			recorded(t, log, sub, nil, calls("1 / 0"), calls("1 / 0"), calls("1 / 0"), calls("1 / 0"), says("I give up."))
		}},
		{"keyed", "A task that was submitted with a key, twice.", func(t *testing.T, log store.Log) {
			sub := bare()
			sub.Key = "report-2026-11"
			recorded(t, log, sub, nil, says("four"))
			recorded(t, log, sub, nil)
		}},
		{"plugin_rejected", "A task that was not begun, since its plugin is refused.", func(t *testing.T, log store.Log) {
			sub := withCalc(t, "")
			sub.Config.Limits.PluginMemory = 1 << 16
			_, err := recorder(t, log, nil).Run(t.Context(), sub)
			require.Error(t, err)
		}},
	}
}

// undoneIn has a task of log undone that made three entries, and leaves only the task that undoes it.
func undoneIn(t *testing.T, s *ledgertest.Server, log store.Log, undo func(h *Host, task string) error) {
	h := recorder(t, log, []any{appends("cash", 1, 2), appends("bank", 3), says("booked")})
	r, err := h.Run(t.Context(), ledgerTask(t, s))
	require.NoError(t, err)
	require.NoError(t, undo(h, r.Task))
	require.NoError(t, h.Delete(t.Context(), r.Task, false))
}

// recorder gives a host whose logs say nothing of where they were made.
func recorder(t *testing.T, log store.Log, replies []any) *Host {
	h := open(t, log, &fakeModel{replies: replies}, Events{})
	var ticks atomic.Int64
	h.worker, h.jitter = "worker:1", func() int64 { return 32768 }
	h.now = func() time.Time { return time.UnixMilli(1_800_000_000_000 + ticks.Add(1)) }
	return h
}

// recorded runs a task to its end, or to the error that stopped points to.
func recorded(t *testing.T, log store.Log, sub Submission, stopped **StoppedError, replies ...any) {
	_, err := recorder(t, log, replies).Run(t.Context(), sub)
	if stopped != nil {
		require.ErrorAs(t, err, stopped)
		return
	}
	require.NoError(t, err)
}

// crashed runs a task until the first event of a type would be stored.
func crashed(t *testing.T, log store.Log, sub Submission, at event.Type, replies ...any) {
	_, err := recorder(t, &crashingLog{Log: log, at: at}, replies).Run(t.Context(), sub)
	require.ErrorIs(t, err, errCrash)
}

func resumed(t *testing.T, log store.Log, replies ...any) {
	h := recorder(t, log, replies)
	h.worker = "worker:2"
	tasks, err := h.List(t.Context(), Query{})
	require.NoError(t, err)
	_, err = h.Resume(t.Context(), tasks[0].ID)
	require.NoError(t, err)
}

// fed brings inputs to a task that nobody runs.
func fed(t *testing.T, log store.Log, inputs ...core.Input) {
	h := recorder(t, log, nil)
	tasks, err := h.List(t.Context(), Query{})
	require.NoError(t, err)
	state, err := h.fold(t.Context(), tasks[0].ID)
	require.NoError(t, err)
	r := newRun(h, tasks[0].ID, "fake", state, nil)
	for _, in := range inputs {
		require.NoError(t, r.feed(t.Context(), in))
	}
	require.NotNil(t, state.Outcome())
}

// withCalc gives a task with calc, and a recipe where one is named.
func withCalc(t *testing.T, recipe string) Submission {
	sub := bare()
	sub.Tools = []*plugins.Inspection{guest(t, "calc")}
	if recipe != "" {
		sub.Recipe = guest(t, recipe)
	}
	return sub
}

func calls(expression string) model.Reply {
	return callsTool("calc", `{"expression":"`+expression+`"}`)
}

func usage(prompt int) model.Usage {
	return model.Usage{PromptTokens: prompt, CompletionTokens: 10, Reported: true}
}

// crashingLog fails the first commit with an event of a type, and every one after it: the worker is dead.
type crashingLog struct {
	store.Log
	at   event.Type
	dead bool
}

func (l *crashingLog) Commit(ctx context.Context, c store.Commit) error {
	for _, a := range c.Appends {
		if isSideLog(a.Task) {
			continue
		}
		for i, data := range a.Records {
			e, err := event.Decode(a.Task, a.Expected+uint64(i)+1, data)
			if err != nil {
				return err
			}
			l.dead = l.dead || e.Payload.Type() == l.at
		}
	}
	if l.dead {
		return errCrash
	}
	return l.Log.Commit(ctx, c)
}
