package host

import (
	"encoding/json"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/axishost/axishost/host/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// knowledge is what a log says of a call that writes.
type knowledge string

const (
	notDone knowledge = "not done" // it did not begin, or is known not to have happened
	unsure  knowledge = "unsure"   // its request was in the log, and its outcome is not
	done    knowledge = "done"
)

// writing is one call of append, as a log has it.
type writing struct {
	asked   event.ToolRequested
	known   knowledge
	attempt int // the last one
}

// effect gives what the ledger has of it, as its seq-th effect.
func (w *writing) effect(t testing.TB, seq int) ledgertest.Effect {
	e := ledgertest.Effect{Seq: seq, Kind: ledgertest.Post, ID: "late" + w.asked.OperationID, Key: w.asked.OperationID, Attempt: w.attempt, Raw: true}
	var arguments struct {
		Account string
		Amount  int64
	}
	require.NoError(t, json.Unmarshal([]byte(w.asked.Arguments), &arguments))
	e.Account, e.Amount = arguments.Account, arguments.Amount
	return e
}

// writings gives the calls of append that a log has, in order.
func writings(events []*Event) []*writing {
	var all []*writing
	steps := map[int64]*writing{}
	for _, e := range events {
		if p, ok := e.Payload.(*event.ToolRequested); ok && p.Tool == "append" {
			steps[e.Step] = &writing{asked: *p, known: notDone}
			all = append(all, steps[e.Step])
		}
		if w := steps[e.Step]; w != nil {
			w.attempt = max(w.attempt, int(e.Attempt))
			w.learn(e.Payload)
		}
	}
	return all
}

// learn takes up what an event says of it.
func (w *writing) learn(p event.Payload) {
	switch p := p.(type) {
	case *event.HostOperation:
		if p.Write && p.State == event.OperationBegun {
			w.known = unsure
		}
	case *event.ToolSucceeded, *event.OperationFound:
		w.known = done
	case *event.ToolFailed, *event.OperationAbsent:
		w.known = notDone
	case *event.CancelAcknowledged:
		switch {
		case p.Result != nil:
			w.known = done
		case p.NothingHappened:
			w.known = notDone
		}
	}
}

// requireTrue holds what a log says of its writes against the ledger: what is done is there once, what is not done is
// not there, nothing is there of which the log has no intent; and where the task has ended, nothing is left open.
func requireTrue(t testing.TB, events []*Event, effects []ledgertest.Effect, ended bool) {
	t.Helper()
	times := map[string]int{}
	for _, e := range ledgertest.Of(ledgertest.Post, effects) {
		times[e.Key]++
	}
	for _, w := range writings(events) {
		n := times[w.asked.OperationID]
		delete(times, w.asked.OperationID)
		switch w.known {
		case done:
			assert.Equal(t, 1, n, "%s is told of as done", w.asked.Arguments)
		case notDone:
			assert.Zero(t, n, "%s is told of as not done", w.asked.Arguments)
		default:
			assert.LessOrEqual(t, n, 1, "%s was made twice", w.asked.Arguments)
			assert.False(t, ended, "nobody knows of %s whether it was made", w.asked.Arguments)
		}
	}
	require.Empty(t, times, "the ledger has what the log does not know of")
	require.False(t, t.Failed())
}

// requireMade: the entries of these amounts were made, once each, and no others.
func requireMade(t testing.TB, effects []ledgertest.Effect, amounts ...int) {
	t.Helper()
	var made []int
	for _, e := range ledgertest.Of(ledgertest.Post, effects) {
		made = append(made, int(e.Amount))
	}
	require.ElementsMatch(t, amounts, made)
	require.Empty(t, ledgertest.Duplicates(effects))
}

// together makes one reply of the calls of several.
func together(replies ...any) model.Reply {
	out := callsTool("", "")
	out.Message.ToolCalls = nil
	for _, r := range replies {
		for _, c := range r.(model.Reply).Message.ToolCalls {
			c.ID = "c" + string(rune('a'+len(out.Message.ToolCalls)))
			out.Message.ToolCalls = append(out.Message.ToolCalls, c)
		}
	}
	return out
}

// lists is a reply that lists the entries of the ledger.
func lists() model.Reply { return callsTool("entries", "{}") }
