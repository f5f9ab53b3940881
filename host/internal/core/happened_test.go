package core

import (
	"encoding/json"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/stretchr/testify/assert"
)

// TestHappened: of a task, what is known to have happened can be undone where its tool says so, the latest first,
// however it came to be known.
func TestHappened(t *testing.T) {
	h := NewHappened()
	seq := uint64(0)
	tell := func(step int64, payloads ...event.Payload) {
		for _, p := range payloads {
			seq++
			h.Event(&event.Event{Seq: seq, Step: step, Payload: p})
		}
	}
	ask := func(step int64, tool string) {
		tell(step, &event.ToolRequested{Tool: tool, Arguments: " ", OperationID: "op" + string(rune('0'+step))}, &event.ToolStarted{})
	}
	tell(0, &event.TaskCreated{Tools: []event.Plugin{{Tools: []event.ToolSpec{
		{Name: "w", Effect: "write", Compensate: true}, {Name: "i", Effect: "idempotent", Compensate: true},
		{Name: "final", Effect: "write"}, {Name: "r", Effect: "read", Compensate: true},
	}}}})
	ask(1, "w")
	ask(2, "i")
	tell(2, &event.ToolSucceeded{Result: "two", Evidence: json.RawMessage("2")})
	tell(1, &event.ToolUnknown{}, &event.OperationFound{Result: "one"})
	ask(3, "final")
	tell(3, &event.ToolSucceeded{Result: "three"})
	ask(4, "r")
	tell(4, &event.ToolSucceeded{Result: "four"})
	ask(5, "w")
	tell(5, &event.ToolFailed{})
	ask(6, "w")
	tell(6, &event.CancelAcknowledged{Result: new("six")})
	ask(7, "w")
	tell(7, &event.CancelAcknowledged{}, &event.OperationAbsent{})
	ask(8, "none")
	tell(8, &event.ToolSucceeded{})
	tell(9, &event.ToolSucceeded{}) // fits nothing
	ask(10, "w")
	tell(10, &event.HostOperation{Write: true, State: event.OperationDone}, &event.ToolFailed{})

	operations, kept := h.Undoable()
	assert.Equal(t, []event.CompensatedOperation{
		{Step: 6, Tool: "w", Arguments: "{}", OperationID: "op6", Result: "six"},
		{Step: 2, Tool: "i", Arguments: "{}", OperationID: "op2", Result: "two", Evidence: json.RawMessage("2")},
		{Step: 1, Tool: "w", Arguments: "{}", OperationID: "op1", Result: "one"},
	}, operations)
	assert.Equal(t, []Kept{
		{10, "w", "it failed after a request of its had changed something: what is left of that, its tool cannot say"},
		{3, "final", "tool final has no compensate"},
	}, kept)

	chosen, not := h.Chosen([]int64{1, 6})
	assert.Equal(t, []event.CompensatedOperation{operations[0], operations[2]}, chosen)
	assert.Empty(t, not)
	chosen, not = h.Chosen([]int64{9, 8, 7, 4, 3, 2})
	assert.Equal(t, operations[1:2], chosen)
	assert.Equal(t, []Kept{
		{9, "", "the task has no such step"}, {8, "none", "there is no tool none"}, {7, "w", "it is not known to have happened"},
		{4, "r", "tool r changes nothing (read)"}, {3, "final", "tool final has no compensate"},
	}, not)
	operations, kept = NewHappened().Undoable()
	assert.Empty(t, operations)
	assert.Empty(t, kept)
}
