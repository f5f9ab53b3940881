package event

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// turn is what one turn of a long task writes: a reply with a call, its step, its result, in 400-byte texts.
func turn() []*Event {
	text := strings.Repeat("What was found so far. ", 18)
	head := Head{Stage: "tool_messages_await_assistant", Turns: 300, MaxTurns: new(int64(1000))}
	info := func(appended int64) *Info {
		return &Info{VisibleMessages: 600, Messages: 600, Appended: appended, AssistantTurn: 300}
	}
	arguments := `{"path":"src/main.go","from":100,"to":140}`
	payloads := []Payload{
		&ModelRequested{Ordinal: 301, Messages: 600},
		&ModelReplied{
			Message:      Message{Role: RoleAssistant, Content: text, Tokens: 120, ToolCalls: []ToolCall{{ID: "call_1", Name: "read", Arguments: arguments}}},
			FinishReason: "tool_calls", Usage: Usage{Prompt: 40_000, Completion: 120, Reported: true}, Model: "some-model",
		},
		&MessageAppended{Of: 4002},
		&Decided{Operation: "assistant", StagePath: []Stage{"tool_messages_await_assistant", "assistant_message_received", "assistant_tool_calls_await_tool"}, Head: head, Info: info(1)},
		&ToolRequested{CallID: "call_1", Tool: "read", Arguments: arguments, OperationID: strings.Repeat("0f", 16)},
		&ToolAuthorized{}, &ToolStarted{},
		&ToolSucceeded{Result: text, Tokens: 110},
		&ObservationRecorded{},
		&MessageAppended{Of: 4008},
		&Decided{Operation: "tools", StagePath: []Stage{"assistant_tool_calls_await_tool", "tool_messages_await_assistant"}, Head: head, Info: info(1)},
	}
	var events []*Event
	for i, p := range payloads {
		e := &Event{
			Version: V1, Task: "01t", Seq: 4001 + uint64(i), Time: 1_800_000_000_000_000, Actor: Actor{Kind: ActorHost},
			Cause: 4000 + uint64(i), Payload: p,
		}
		switch p.(type) {
		case *ToolRequested, *ToolAuthorized, *ToolStarted, *ToolSucceeded, *ObservationRecorded:
			e.Step, e.Attempt = 300, 1
		}
		events = append(events, e)
	}
	return events
}

func BenchmarkDecode(b *testing.B) {
	var records [][]byte
	total := 0
	for _, e := range turn() {
		record, err := Encode(e)
		require.NoError(b, err)
		records = append(records, record)
		total += len(record)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := Decode("01t", 1, records[i%len(records)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(total)/float64(len(records)), "B/record")
}

func BenchmarkEncode(b *testing.B) {
	events := turn()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := Encode(events[i%len(events)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkDecodeJSON is what records were before: a JSON object whose payload is read once more.
func BenchmarkDecodeJSON(b *testing.B) {
	type record struct {
		Version Version         `json:"v"`
		Type    Type            `json:"type"`
		Time    int64           `json:"time"`
		Actor   Actor           `json:"actor"`
		Cause   uint64          `json:"cause,omitempty"`
		Step    int64           `json:"step,omitempty"`
		Attempt int64           `json:"attempt,omitempty"`
		Payload json.RawMessage `json:"payload"`
	}
	var records [][]byte
	total := 0
	for _, e := range turn() {
		payload, err := EncodeJSON(e.Payload)
		require.NoError(b, err)
		r, err := EncodeJSON(record{e.Version, e.Payload.Type(), e.Time, e.Actor, e.Cause, e.Step, e.Attempt, payload})
		require.NoError(b, err)
		records = append(records, r)
		total += len(r)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		var r record
		if err := json.Unmarshal(records[i%len(records)], &r); err != nil {
			b.Fatal(err)
		}
		if err := json.Unmarshal(r.Payload, New(r.Type)); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(total)/float64(len(records)), "B/record")
}
