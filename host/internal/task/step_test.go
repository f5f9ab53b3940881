package task

import (
	"os"
	"strings"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryPair: every pair of a state and an event, of all that there are, goes where the design's table says, or
// is refused with step, state, event and the latest events.
func TestEveryPair(t *testing.T) {
	want := table(t)
	pairs := 0
	for from := None; from < stateCount; from++ {
		for n, typ := range event.Types() {
			s := &Step{ID: 7, State: from}
			p := event.New(typ)
			if a, ok := p.(*event.CancelAcknowledged); ok {
				a.NothingHappened = true
			}
			if r, ok := p.(*event.ReconcileInconclusive); ok {
				r.Next = 1
			}
			err := s.Apply(&event.Event{Seq: uint64(n + 1), Step: 7, Attempt: 2, Payload: p})
			pairs++
			if to, legal := want[from][typ]; legal {
				require.NoError(t, err)
				assert.Equal(t, to, s.State, "%s in %s", typ, from)
				continue
			}
			var refused *TransitionError
			require.ErrorAs(t, err, &refused, "%s in %s", typ, from)
			assert.Equal(t, from, s.State, "a refused event moved the step")
			assert.Contains(t, err.Error(), "step 7 in state "+from.String())
		}
	}
	assert.Equal(t, 15*59, pairs)
	assert.NotContains(t, want[Executing], Ready, "an unknown outcome is never simply done again")
}

// table reads the design's table, which is copied into testdata.
func table(t *testing.T) map[State]map[event.Type]State {
	t.Helper()
	states := map[string]State{}
	for s := None; s < stateCount; s++ {
		states[s.String()] = s
	}
	b, err := os.ReadFile("testdata/transitions.txt")
	require.NoError(t, err)
	want := map[State]map[event.Type]State{}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		require.Len(t, fields, 3, line)
		from, known := states[fields[0]]
		require.True(t, known, line)
		to, known := states[fields[2]]
		require.True(t, known, line)
		require.NotNil(t, event.New(event.Type(fields[1])), line)
		if want[from] == nil {
			want[from] = map[event.Type]State{}
		}
		want[from][event.Type(fields[1])] = to
	}
	return want
}

// TestBranches: where the payload decides which way a step goes.
func TestBranches(t *testing.T) {
	for _, tt := range []struct {
		from State
		p    event.Payload
		want State
	}{
		{Executing, &event.CancelAcknowledged{NothingHappened: true}, Cancelled},
		{Executing, &event.CancelAcknowledged{Result: new("391")}, Observing},
		{Executing, &event.CancelAcknowledged{}, Reconciling},
		{Reconciling, &event.ReconcileInconclusive{Next: 9}, Reconciling},
		{Reconciling, &event.ReconcileInconclusive{}, AwaitingOutcome},
	} {
		s := &Step{ID: 7, State: tt.from}
		require.NoError(t, s.Apply(&event.Event{Seq: 4, Step: 7, Attempt: 1, Payload: tt.p}))
		assert.Equal(t, tt.want, s.State)
		settled := tt.want == Observing || tt.want == Cancelled
		assert.Equal(t, settled, s.Settled == 4)
		assert.Equal(t, tt.want == Observing, s.Succeeded)
	}
}

// TestUnknown: an outcome that is not known is looked for, and only absence lets the step begin again.
func TestUnknown(t *testing.T) {
	s := &Step{}
	seq := uint64(0)
	apply := func(attempt int64, payloads ...event.Payload) {
		for _, p := range payloads {
			seq++
			require.NoError(t, s.Apply(&event.Event{Seq: seq, Step: 3, Attempt: attempt, Payload: p}))
		}
	}
	apply(1, &event.ToolRequested{Tool: "append"}, &event.ToolAuthorized{}, &event.ToolStarted{},
		&event.HostOperation{Number: 1, State: event.OperationBegun},
		&event.HostOperation{Number: 2, Write: true, State: event.OperationBegun},
		&event.HostOperation{Number: 2, Write: true, State: event.OperationFailed, Sent: 1},
		&event.HostOperation{Number: 3, Write: true, State: event.OperationBegun})
	assert.Equal(t, int64(2), s.Operations, "reads change nothing")
	apply(1, &event.HostOperation{Number: 3, Write: true, State: event.OperationFailed})
	assert.Equal(t, int64(1), s.Operations, "nothing of it was sent")
	apply(1, &event.ToolUnknown{Reason: "timeout"}, &event.ReconcileStarted{Try: 1})
	assert.True(t, s.Probing)
	assert.Equal(t, "timeout", s.Unknown)
	apply(1, &event.HostOperation{Number: 1, Write: true, State: event.OperationBegun}, &event.ReconcileInconclusive{Try: 1, Next: 99})
	assert.Equal(t, int64(1), s.Operations, "a probe's are not the call's")
	assert.Equal(t, int64(99), s.Due)
	assert.False(t, s.Probing)
	require.Error(t, s.Apply(&event.Event{Seq: 9, Step: 3, Attempt: 2, Payload: &event.ToolStarted{}}))
	apply(1, &event.ReconcileStarted{Try: 2}, &event.OperationAbsent{})
	assert.Equal(t, Ready, s.State)
	apply(2, &event.ToolStarted{})
	assert.Zero(t, s.Operations)
	assert.Equal(t, int64(2), s.Attempt)
	apply(2, &event.ToolUnknown{Reason: "killed"})
	assert.Zero(t, s.Tries, "probes are counted anew")
	apply(2, &event.ReconcileStarted{Try: 1}, &event.ReconcileInconclusive{Try: 1}, &event.OperationFound{Result: "done"})
	assert.Equal(t, Observing, s.State)
	assert.True(t, s.Succeeded)
	assert.True(t, s.State.Settled())
}

func TestStepRemembers(t *testing.T) {
	s := &Step{}
	for n, p := range []event.Payload{
		&event.ToolRequested{Tool: "calc", CallID: "c"}, &event.ToolAuthorized{}, &event.ToolStarted{},
		&event.ToolFailed{Reason: "trap", Fault: true},
	} {
		require.NoError(t, s.Apply(&event.Event{Seq: uint64(n + 1), Step: 3, Attempt: 1, Payload: p}))
	}
	assert.Equal(t, int64(3), s.ID)
	assert.Equal(t, "calc", s.Request.Tool)
	assert.Equal(t, uint64(3), s.Started)
	assert.Equal(t, uint64(4), s.Settled)
	assert.Equal(t, "trap", s.Fault)
	assert.True(t, s.State.Settled())

	err := s.Apply(&event.Event{Seq: 5, Step: 3, Payload: &event.ToolStarted{}})
	assert.ErrorContains(t, err, "[ToolAuthorized ToolStarted ToolFailed]")
	require.NoError(t, s.Apply(&event.Event{Seq: 5, Step: 3, Payload: &event.RetryScheduled{}}))
	require.NoError(t, s.Apply(&event.Event{Seq: 6, Step: 3, Attempt: 2, Payload: &event.ToolStarted{}}))
	assert.Empty(t, s.Fault, "a new attempt has not failed yet")
	assert.Equal(t, int64(2), s.Attempt)
}
