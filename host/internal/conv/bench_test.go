package conv

import (
	"fmt"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
)

// grown gives a conversation of n messages that waits for a reply.
func grown(b *testing.B, n int, window bool) *State {
	c := DefaultConfig()
	c.MaxTurns = nil
	if window {
		c.ContextLimit.Window = new(int64(1 << 40))
	}
	s := New(c, Environment{Preflight: true, MaxOutputTokens: 4096})
	evolve(b, s, Init{Task: "t"})
	for s.Len() < n-1 {
		turn(b, s)
	}
	return s
}

func evolve(b *testing.B, s *State, op Operation) {
	d, err := Decide(s, op)
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range d.Events {
		if err := Evolve(s, p); err != nil {
			b.Fatal(err)
		}
	}
}

var call = []event.ToolCall{{ID: "c1", Name: "search", Arguments: `{"query":"x"}`}}

func withCalls() Reply {
	return Reply{Message: event.Message{Role: event.RoleAssistant, ToolCalls: call, Tokens: 20}, FinishReason: "tool_calls"}
}

func withResults() Results {
	return Results{Results: []Result{{Message: event.Message{Role: event.RoleTool, ToolCallID: "c1", Content: "result", Tokens: 30}}}, ResetRollbacks: true}
}

func turn(b *testing.B, s *State) {
	evolve(b, s, withCalls())
	evolve(b, s, withResults())
}

// BenchmarkDecide times a decision, with the conversation already at that length: the target is the same
// cost at every length, at most 2 µs and 10 allocations.
func BenchmarkDecide(b *testing.B) {
	for _, window := range []bool{false, true} {
		for _, n := range []int{10, 1_000, 100_000} {
			s := grown(b, n, window)
			b.Run(fmt.Sprintf("reply/window=%v/messages=%d", window, n), func(b *testing.B) {
				decideOnly(b, s, withCalls())
			})
			evolve(b, s, withCalls())
			b.Run(fmt.Sprintf("results/window=%v/messages=%d", window, n), func(b *testing.B) {
				decideOnly(b, s, withResults())
			})
		}
	}
}

func decideOnly(b *testing.B, s *State, op Operation) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decide(s, op); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGrow grows a conversation to 100,000 messages: the target is 300,000 messages a second.
func BenchmarkGrow(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		grown(b, n, true)
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkRebuild folds a conversation from its events: the target is 1,000,000 events a second.
func BenchmarkRebuild(b *testing.B) {
	c := DefaultConfig()
	c.MaxTurns = nil
	s := New(c, Environment{Preflight: true})
	var log []event.Payload
	record := func(op Operation) {
		d, err := Decide(s, op)
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range d.Events {
			log = append(log, p)
			if err := Evolve(s, p); err != nil {
				b.Fatal(err)
			}
		}
	}
	record(Init{Task: "t"})
	for len(log) < 100_000 {
		record(withCalls())
		record(withResults())
	}
	for b.Loop() {
		folded := New(c, Environment{Preflight: true})
		for _, p := range log {
			if err := Evolve(folded, p); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(log))*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
