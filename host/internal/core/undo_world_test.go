package core

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestAnyUndoing is TestAnyWorld for tasks that undo: whatever tools answer and whenever a worker is lost, what is told of
// as undone is undone, once; what is told of as not undone is not; each operation has its turn, under one id; and
// the task comes to the end that its operations came to.
func TestAnyUndoing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed") * 0x9e3779b97f4a7c15 >> 8
		w := &world{t: t, state: New(), chance: rand.New(rand.NewPCG(seed, 0)), cancels: seed%3 == 0, effects: map[string]int{}}
		w.feed(TaskSubmitted{Task: "01t", Worker: "w", Created: w.undoTask()})
		for range 400 {
			if w.state.Outcome() != nil {
				break
			}
			w.undoStep()
		}
		require.NotNil(t, w.state.Outcome(), "the task did not end in %d events", len(w.log))
		w.requireUndone()
	})
}

func (w *world) undoTask() event.TaskCreated {
	created := event.TaskCreated{Goal: "undo", Config: json.RawMessage(fmt.Sprintf(`{"limits":{"tool_retries":%d}}`, w.pick(4)))}
	created.Tools = []event.Plugin{{Name: "p", Tools: []event.ToolSpec{{Name: "w", Schema: json.RawMessage("{}"), Effect: "write", Compensate: true, Resources: [][]string{nil, {"r", "s"}}[w.pick(2)]}}}}
	created.Compensates = &event.Compensation{Task: "01other"}
	for i := range 1 + w.pick(4) {
		created.Compensates.Operations = append(created.Compensates.Operations, event.CompensatedOperation{
			Step: int64(9 - i), Tool: "w", Arguments: "{}", OperationID: fmt.Sprint("op", i),
		})
	}
	return created
}

func (w *world) undoStep() {
	pending := Pending(w.state)
	if w.cancels && w.pick(12) == 0 {
		w.feed(CancelRequested{Reason: "enough"})
		return
	}
	require.Len(w.t, pending, 1, "one after the other")
	if w.pick(10) == 0 {
		w.feed(Claimed{Worker: "w", Fence: w.state.Fence() + 1})
		return
	}
	switch e := pending[0].(type) {
	case AcquireLeases:
		w.acquire(e)
	case Compensate:
		require.Len(w.t, e.Leases, len(w.state.named("w", "{}")))
		w.feed(w.undo(e))
	case CancelTool:
		if w.pick(2) == 0 {
			w.feed(ToolCancelled(e))
			return
		}
		op := w.state.created.Compensates.Operations[e.Step-1]
		w.feed(w.undo(Compensate{Step: e.Step, Attempt: e.Attempt, CompensationID: CompensationID("01other", op.OperationID)}))
	case SetTimer:
		w.now = max(w.now, e.At)
		before := w.state.Seq()
		w.feed(TimerFired{})
		require.Greater(w.t, w.state.Seq(), before, "a timer that fires and changes nothing fires for ever")
	default:
		require.Fail(w.t, "nothing else is owed", "%v", e)
	}
}

// undo lets a tool undo until it is cut off somewhere, or to its end. The other side knows the id: it undoes once.
func (w *world) undo(e Compensate) Input {
	in := Compensated{Step: e.Step, Attempt: e.Attempt, Fault: "trap", Class: "trap", Jitter: int64(w.pick(65536))}
	if w.pick(6) == 0 {
		return in // before anything went out
	}
	before := w.state.Seq()
	operation := event.HostOperation{Number: 1, Capability: "http.fetch/1", Write: true}
	w.feed(OperationBegan{Step: e.Step, Attempt: e.Attempt, Operation: operation})
	if w.state.Seq() == before {
		return in // refused
	}
	happens := w.pick(3) > 0
	if operation.State, operation.Sent = event.OperationFailed, int64(w.pick(2)); happens {
		w.effects[e.CompensationID], operation.Sent = 1, 1
	}
	if w.pick(2) == 0 {
		w.feed(OperationEnded{Step: e.Step, Attempt: e.Attempt, Operation: operation})
	}
	switch w.pick(5) {
	case 0:
		return in
	case 1:
		return Claimed{Worker: "w", Fence: w.state.Fence() + 1} // killed
	case 2:
		in.Fault, in.Output = "", abi.ToolOutput{Status: abi.ToolUnknown, Result: "lost"}
		return in
	}
	if in.Fault, in.Output = "", (abi.ToolOutput{Status: abi.ToolOK, Result: "void"}); !happens {
		class := []abi.FailureClass{abi.ClassRateLimited, abi.ClassTransient, abi.ClassPermanent, ""}[w.pick(4)]
		in.Output = abi.ToolOutput{Status: abi.ToolFailed, Class: class, Result: "no"}
	}
	return in
}

// requireUndone holds the log of a task that undoes, which has ended, against the world.
func (w *world) requireUndone() {
	cancelled, at, claims := false, int64(1), int64(0)
	begun := map[string]bool{}
	for _, e := range w.log {
		if e.Step != 0 {
			require.GreaterOrEqual(w.t, e.Step, at, "an operation whose turn is over")
			at = e.Step
		}
		switch p := e.Payload.(type) {
		case *event.Claimed:
			claims++
		case *event.CancelRequested:
			cancelled = true
		case *event.CompensationStarted:
			require.False(w.t, cancelled, "it began after the request to cancel")
			require.Equal(w.t, w.state.created.Compensates.Operations[e.Step-1].OperationID, p.Of)
			require.Equal(w.t, CompensationID("01other", p.Of), p.OperationID)
			require.LessOrEqual(w.t, e.Attempt, w.state.config.Limits.ToolRetries+claims)
		case *event.RetryScheduled:
			require.False(w.t, cancelled, "it is tried again after the request to cancel")
		case *event.HostOperation:
			begun[CompensationID("01other", w.state.created.Compensates.Operations[e.Step-1].OperationID)] = true
		}
	}
	for id := range w.effects {
		require.True(w.t, begun[id], "something was done of which the log has no intent")
	}
	done := w.requireToldRight()
	want := map[bool]Phase{true: PhaseSucceeded, false: PhasePartial}[done == len(w.state.undos)]
	switch {
	case cancelled:
		want = PhaseCancelled
	case done == 0:
		want = PhaseFailed
	}
	require.Equal(w.t, want, w.state.Outcome().Phase)
	_, err := Decide(w.state, w.now, Compensated{Step: 1, Attempt: 1})
	require.ErrorIs(w.t, err, ErrEnded)
}

// requireToldRight: what the log says of each operation is so. It gives how many are undone.
func (w *world) requireToldRight() (done int) {
	for i := range w.state.undos {
		u := &w.state.undos[i]
		n := w.effects[CompensationID("01other", w.state.created.Compensates.Operations[i].OperationID)]
		switch {
		case u.State == task.Undone:
			require.Equal(w.t, 1, n, "told of as undone")
			done++
		case !u.Unknown:
			require.Zero(w.t, n, "told of as not undone")
		}
		if w.state.Outcome().Phase != PhaseCancelled {
			require.True(w.t, u.State.Over())
		}
		require.NotEqual(w.t, task.UndoExecuting, u.State)
	}
	return done
}
