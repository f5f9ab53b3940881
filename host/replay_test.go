package host

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/stretchr/testify/require"
)

// longTask is the log of a task of so many turns, each a reply of 400 bytes with a call whose result has 400 bytes: by
// the core itself, which sums the conversation up each time the window is full.
func longTask(tb testing.TB, id string, turns int) []*Event {
	config := core.DefaultConfig()
	config.Conversation.MaxTurns = new(int64(turns) + 1)
	config.Conversation.ContextLimit.Window, config.Compaction.Threshold = new(int64(100_000)), new(int64(80_000))
	raw, err := event.EncodeJSON(config)
	require.NoError(tb, err)
	spec := event.ToolSpec{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object"}`), Effect: "read"}
	state, now := core.New(), int64(1_800_000_000_000_000)
	var log []*Event
	feed := func(in core.Input) {
		now += 250_000
		events, err := core.Decide(state, now, in)
		require.NoError(tb, err)
		for _, e := range events {
			require.NoError(tb, core.Evolve(state, e))
		}
		log = append(log, events...)
	}
	feed(core.TaskSubmitted{Task: id, Worker: "worker:1", Created: event.TaskCreated{
		Goal: "Find out why it is slow.", Model: "m", Config: raw, Host: "test", ABI: abi.Release, Context: event.ContextProtocol,
		Tools: []event.Plugin{{Name: "files", Version: "1.0.0", Digest: strings.Repeat("0f", 32), Tools: []event.ToolSpec{spec}}},
	}})
	text := strings.Repeat("what was found so far. ", 18)[:400]
	for turn := 1; state.Outcome() == nil; {
		switch e := core.Pending(state)[0].(type) {
		case core.CallModel:
			reply := event.ModelReplied{
				Message: event.Message{Content: text, Tokens: 100}, FinishReason: "tool_calls", Model: "some-model",
				Usage: event.Usage{Completion: 100, Reported: true},
			}
			if e.Compaction == nil && turn < turns {
				reply.Message.ToolCalls = []event.ToolCall{{
					ID: fmt.Sprintf("call_%024x", turn), Name: "read", Arguments: fmt.Sprintf(`{"path":"src/main.go","from":%d}`, turn),
				}}
				turn++
			}
			feed(core.ModelReplied{Reply: reply})
		case core.CallTool:
			feed(core.ToolFinished{Step: e.Step, Attempt: e.Attempt, Tokens: 100, Output: abi.ToolOutput{Status: abi.ToolOK, Result: text}})
		default:
			feed(core.Advanced{})
		}
	}
	return log
}

// storeLog puts a log into a store as it would have got there, but in larger commits.
func storeLog(tb testing.TB, log store.Log, events []*Event) {
	for from := 0; from < len(events); from += 1000 {
		a := store.Append{Task: events[0].Task, Expected: uint64(from), Fence: 1, Index: []byte("{}")}
		for _, e := range events[from:min(from+1000, len(events))] {
			record, err := event.Encode(e)
			require.NoError(tb, err)
			a.Records = append(a.Records, record)
		}
		require.NoError(tb, log.Commit(tb.Context(), store.Commit{Appends: []store.Append{a}}))
	}
}

// BenchmarkReplay: a task is rebuilt from its log on disk: read, decoded, folded, by one goroutine.
func BenchmarkReplay(b *testing.B) {
	log, err := pebblestore.Open(b.TempDir(), pebblestore.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { _ = log.Close() })
	events := longTask(b, "01long", 10_000)
	require.Greater(b, len(events), 100_000)
	storeLog(b, log, events)
	h := open(b, log, nil, Events{})
	b.ReportAllocs()
	for b.Loop() {
		state, err := h.fold(b.Context(), "01long")
		require.NoError(b, err)
		require.NotNil(b, state.Outcome())
	}
	b.ReportMetric(float64(len(events))*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
