package core

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// world answers what is pending at random, loses workers at random, and checks after each commit what must
// hold of any task.
type world struct {
	t     *rapid.T
	state *State
	log   []*event.Event
	now   int64

	chance  *rand.Rand
	cancels bool
	fence   uint64
	// effects counts what each operation did outside.
	effects    map[string]int
	idempotent map[string]bool
}

// idem: an idempotent call, truthful plugin.
func (w *world) idem(e CallTool) Input {
	in := ToolFinished{Step: e.Step, Attempt: e.Attempt, Fault: "trap", Class: "trap"}
	if w.pick(6) == 0 {
		return in
	}
	before := w.state.Seq()
	w.idempotent[e.OperationID] = true
	operation := event.HostOperation{Number: 1, Capability: "http.fetch/1", Write: true}
	w.feed(OperationBegan{Step: e.Step, Attempt: e.Attempt, Operation: operation})
	if w.state.Seq() == before {
		return in
	}
	k := w.pick(4) // 0 nothing sent 1 refused 2 happened, answered 3 happened, no answer
	switch k {
	case 0:
		operation.State = event.OperationFailed
	case 1:
		operation.State, operation.Sent, operation.Result = event.OperationFailed, 5, []string{"429 Too Many Requests", "503 x"}[w.pick(2)]
	case 2:
		w.effects[e.OperationID]++
		operation.State, operation.Sent = event.OperationDone, 5
	case 3:
		w.effects[e.OperationID]++
		operation.State, operation.Sent = event.OperationFailed, 5
	}
	if w.pick(3) > 0 {
		w.feed(OperationEnded{Step: e.Step, Attempt: e.Attempt, Operation: operation})
	}
	switch w.pick(5) {
	case 0:
		return in
	case 1:
		return Claimed{Worker: "w", Fence: w.state.Fence() + 1}
	case 2:
		in.Fault, in.Output = "", abi.ToolOutput{Status: abi.ToolUnknown, Result: "lost"}
		return in
	}
	in.Fault = ""
	switch k {
	case 2:
		in.Output = abi.ToolOutput{Status: abi.ToolOK, Result: "fine"}
	case 3:
		in.Output = abi.ToolOutput{Status: abi.ToolUnknown, Result: "lost"}
	default:
		in.Output = abi.ToolOutput{Status: abi.ToolFailed, Class: []abi.FailureClass{abi.ClassRateLimited, abi.ClassTransient, abi.ClassPermanent}[w.pick(3)], Result: "later"}
	}
	return in
}

// TestAnyWorld: whatever model, recipe and tools answer and whenever a worker is lost, a task that neither
// ended nor halted has something pending; the state is the fold over its log; every call in what the model
// would see is answered exactly once, in order, right behind it; no write happens twice, and one that is told of as
// done happened; and a task comes to an end.
func TestAnyWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed") * 0x9e3779b97f4a7c15 >> 8
		w := &world{t: t, state: New(), chance: rand.New(rand.NewPCG(seed, 0)), cancels: seed%3 == 0, effects: map[string]int{}, idempotent: map[string]bool{}}
		w.feed(TaskSubmitted{Task: "01t", Worker: "w", Created: w.task()})
		for range 400 {
			if w.state.Outcome() != nil {
				break
			}
			w.step()
		}
		require.NotNil(t, w.state.Outcome(), "the task did not end in %d events", len(w.log))
		w.requireEnded()
	})
}

// requireEnded: a terminal task accepts nothing; one that was cancelled ended so, with every step that had begun
// closed and nothing begun after the request.
func (w *world) requireEnded() {
	for _, in := range []Input{
		Claimed{Worker: "w", Fence: w.state.Fence() + 1}, CancelRequested{}, ToolFinished{Step: 1, Attempt: 1},
		ToolCancelled{Step: 1, Attempt: 1}, ModelReplied{}, TimerFired{}, Advanced{},
	} {
		_, err := Decide(w.state, w.now, in)
		require.ErrorIs(w.t, err, ErrEnded)
	}
	require.Error(w.t, Evolve(w.state, &event.Event{Task: "01t", Seq: w.state.Seq() + 1, Payload: &event.Claimed{Fence: 99}}))
	require.NoError(w.t, reduce(w.log))
	for operation, n := range w.effects {
		if w.idempotent[operation] {
			continue
		}
		require.Equal(w.t, 1, n, "operation %s happened more than once", operation)
	}
	open, cancelled, asked := map[int64]bool{}, false, false
	operations, told, settled := map[int64]string{}, map[int64]string{}, map[int64]event.Payload{}
	for _, e := range w.log {
		switch p := e.Payload.(type) {
		case *event.ToolRequested:
			operations[e.Step] = p.OperationID
			told[e.Step] = p.OperationID
			if p.Tool != "w" {
				delete(operations, e.Step)
			}
			require.False(w.t, cancelled, "a step after the request to cancel")
		case *event.ToolFailed:
			settled[e.Step] = p
		case *event.ToolSucceeded, *event.OperationFound:
			delete(settled, e.Step)
			if operation := operations[e.Step]; operation != "" {
				require.Equal(w.t, 1, w.effects[operation], "told of as done")
			}
		case *event.ModelReplied, *event.ModelFailed:
			asked = false
		case *event.CancelRequested:
			require.False(w.t, cancelled, "a second request is no event")
			cancelled = true
		case *event.ModelRequested, *event.RetryScheduled, *event.Decided, *event.RecipeConsulted:
			require.False(w.t, cancelled, "%s after the request to cancel", e.Payload.Type())
			asked = asked || e.Payload.Type() == event.TypeModelRequested
		case *event.ToolStarted:
			require.False(w.t, cancelled, "a tool began after the request to cancel")
			open[e.Step] = true
		case *event.ObservationRecorded, *event.StepCancelled, *event.CancelAcknowledged:
			delete(open, e.Step)
			if _, ok := p.(*event.StepCancelled); ok {
				settled[e.Step] = p
			}
		}
	}
	for step, p := range settled {
		_ = p
		if op := told[step]; w.idempotent[op] {
			require.Zero(w.t, w.effects[op], "step %d told as not done: %s", step, p.Type())
		}
	}
	require.False(w.t, asked, "a call of the model is not settled")
	require.Equal(w.t, cancelled, w.state.Outcome().Phase == PhaseCancelled)
	if cancelled {
		require.Empty(w.t, open, "steps that had begun are not closed")
	}
}

func (w *world) task() event.TaskCreated {
	config := fmt.Sprintf(`{"conversation":{"max_turns":%d,"max_goal_retries":1,"assistant_rollback":{"max_rollbacks":2},"context_limit":{"window":%d,"min_tokens_for_generation":%d}},
		"limits":{"model_retries":1,"parallel_tools":%d,"max_output_tokens":20,"tokens_per_task":%s,"tool_calls_per_task":%s,"tool_calls_per_tool":%s,"tool_calls_per_reply":%s,"same_failure":%s},
		"compaction":{"threshold_tokens":%s,"keep_recent":%d}}`,
		1+w.pick(20), []int{60, 120, 100000, 100000, 100000, 100000}[w.pick(6)], []int{0, 1, 20}[w.pick(3)], 1+w.pick(3),
		[]string{"null", "null", "50", "150"}[w.pick(4)], w.limit(), w.limit(), w.limit(), w.limit(),
		[]string{"null", "null", "40", "55"}[w.pick(4)], w.pick(5))
	created := event.TaskCreated{Goal: "g", Config: json.RawMessage(strings.Join(strings.Fields(config), ""))}
	if rapid.Bool().Draw(w.t, "recipe") {
		created.Recipe = &event.Plugin{Name: "r", Digest: "d"}
		for _, hook := range []abi.Hook{abi.HookStart, abi.HookRefusal, abi.HookFormatError, abi.HookDirectFinal, abi.HookFinalOutput, abi.HookVerify, abi.HookDedupe, abi.HookToolOutcome, abi.HookRepairArguments, abi.HookCompact, abi.HookPlan} {
			if w.pick(3) == 0 {
				created.Recipe.Hooks = append(created.Recipe.Hooks, string(hook))
			}
		}
	}
	created.Tools = []event.Plugin{{Name: "p", Tools: []event.ToolSpec{
		{Name: "a", Schema: json.RawMessage("{}"), Effect: "pure"},
		{Name: "w", Schema: json.RawMessage("{}"), Effect: "write", Reconcile: w.pick(3) > 0, Resources: [][]string{nil, {"r"}, {"r"}, {"r:{x}"}}[w.pick(4)]},
		{Name: "b", Schema: json.RawMessage("{}"), Effect: rapid.SampledFrom([]string{"read", "idempotent", "idempotent"}).Draw(w.t, "effect"), Reconcile: w.pick(3) > 0, Resources: [][]string{nil, {"r"}, {"r"}, {"r:{x}"}}[w.pick(4)]},
	}}}
	return created
}

// step lets one thing happen: the task is cancelled, a worker is lost, or one pending effect brings its result.
func (w *world) step() {
	pending := Pending(w.state)
	if w.cancels && (w.pick(15) == 0 || w.state.Phase() == PhaseExecuting && w.pick(3) == 0) {
		w.feed(CancelRequested{Reason: "enough"})
		return
	}
	if stop := w.state.Stop(); stop != nil && stop.Kind == StopOutcome {
		w.feed(w.person(stop.Step))
		return
	}
	if len(pending) == 0 || w.pick(10) == 0 {
		w.feed(Claimed{Worker: "w", Fence: w.state.Fence() + 1})
		return
	}
	switch e := rapid.SampledFrom(pending).Draw(w.t, "effect").(type) {
	case ConsultRecipe:
		w.feed(RecipeAnswered{Answers: w.consult()})
	case CallModel:
		w.feed(w.model())
	case CallTool:
		w.feed(w.tool(e))
	case Reconcile:
		w.feed(w.probe(e))
	case AcquireLeases:
		w.acquire(e)
	case CancelTool:
		if rapid.Bool().Draw(w.t, "faster") {
			step := w.state.step(e.Step)
			w.feed(w.tool(CallTool{Step: e.Step, Attempt: e.Attempt, Tool: step.Request.Tool, OperationID: step.Request.OperationID}))
			return
		}
		w.feed(ToolCancelled(e))
	case SetTimer:
		w.now = max(w.now, e.At)
		before := w.state.Seq()
		w.feed(TimerFired{})
		require.Greater(w.t, w.state.Seq(), before, "a timer that fires and changes nothing fires for ever")
	case Advance:
		w.feed(Advanced{})
	}
}

func (w *world) limit() string {
	return []string{"null", "null", "null", "1", "3"}[w.pick(5)]
}

// pick gives one of n alike, from the world's seed: rapid's own draws prefer the first, and a world in which
// everything fails, or that has one turn, is soon over.
func (w *world) pick(n int) int { return w.chance.IntN(n) }

func (w *world) consult() []event.Answer {
	outputs := map[abi.Hook][]string{
		abi.HookStart: {`{"system":""}`, `{"system":"s","user":"u"}`}, abi.HookRefusal: {`{"keywords":["no"]}`, `{"keywords":[]}`},
		abi.HookFormatError: {`{"keywords":["x"]}`, `{"keywords":["x"],"strategy":"rollback"}`, `{"keywords":[]}`},
		abi.HookDirectFinal: {"", "4"}, abi.HookFinalOutput: {"", "4"},
		abi.HookVerify:          {`{"verified":true}`, `{"verified":false,"reason":"no"}`},
		abi.HookDedupe:          {"", "k1", "k2"},
		abi.HookToolOutcome:     {`{"verdict":"ok"}`, `{"verdict":"rollback"}`},
		abi.HookRepairArguments: {`{"x":1}`},
		abi.HookCompact:         {`{"from":1,"to":3}`, `{"from":2,"discard":true}`, `{"from":0,"to":1000}`, `{"from":2,"to":5,"prompt":"p"}`},
	}
	var answers []event.Answer
	for {
		questions := NextQuestions(w.state, answers)
		if len(questions) == 0 {
			return answers
		}
		for _, q := range questions {
			a := event.Answer{Hook: string(q.Hook), Call: q.Call}
			switch w.pick(5) {
			case 0:
				a.Fault = "trap"
			case 1:
			default:
				a.Decided = true
				if a.Output = w.planFor(q); q.Hook != abi.HookPlan {
					a.Output = rapid.SampledFrom(outputs[q.Hook]).Draw(w.t, "output")
				}
			}
			answers = append(answers, a)
		}
	}
}

// planFor plans the calls of a reply so that some wait for others, earlier or later.
func (w *world) planFor(q Question) string {
	var in abi.PlanInput
	if q.Hook != abi.HookPlan || json.Unmarshal(q.Input, &in) != nil {
		return ""
	}
	out := abi.PlanOutput{Items: []abi.PlanItem{{ID: "later"}}}
	for i, c := range in.Calls {
		out.Items = append(out.Items, abi.PlanItem{ID: fmt.Sprint("i", i), CallID: c.ID})
		if other := w.pick(len(in.Calls) + 1); other < i {
			out.Items[i+1].Needs = []string{fmt.Sprint("i", other)}
		}
	}
	if n := len(out.Items); n > 2 && w.pick(2) == 0 { // the first waits for the last, where that is no circle
		if last := &out.Items[n-1]; len(last.Needs) == 0 && len(out.Items[1].Needs) == 0 {
			out.Items[1].Needs = []string{last.ID}
		}
	}
	require.NoError(w.t, abi.CheckOutput(abi.HookPlan, encode(out)))
	return string(encode(out))
}

func (w *world) model() Input {
	if w.pick(6) == 0 {
		return ModelFailed{
			Failure:   event.ModelFailed{Class: rapid.SampledFrom([]string{"transient", ClassContextLimit}).Draw(w.t, "class"), Reason: "busy", Answered: rapid.Bool().Draw(w.t, "answered")},
			Retryable: rapid.Bool().Draw(w.t, "retryable"), Jitter: rapid.Int64Range(0, 65535).Draw(w.t, "jitter"),
		}
	}
	reply := event.ModelReplied{
		Message:      event.Message{Content: []string{"", "text", "<tool_call>"}[w.pick(3)]},
		FinishReason: []string{"stop", "length"}[w.pick(10)/9],
	}
	reply.Usage.Prompt = rapid.SampledFrom([]int64{0, 10, 100}).Draw(w.t, "observed")
	for range []int{0, 1, 1, 2, 3, 3}[w.pick(6)] {
		reply.Message.ToolCalls = append(reply.Message.ToolCalls, event.ToolCall{
			ID:        rapid.SampledFrom([]string{"", "same", "other"}).Draw(w.t, "id"),
			Name:      []string{"a", "b", "w", "w", "unknown"}[w.pick(5)],
			Arguments: []string{"", "{}", `{"x":1}`, `{"y":2}`, "[", "null"}[w.pick(6)],
		})
	}
	return ModelReplied{Reply: reply}
}

// write lets a tool that writes run until it is cut off somewhere, or to its end. What it does outside is counted, and
// is done only when its operation was kept in the log before.
func (w *world) write(e CallTool) Input {
	in := ToolFinished{Step: e.Step, Attempt: e.Attempt, Fault: "trap", Class: "trap"}
	if w.pick(6) == 0 {
		return in // before anything went out
	}
	before := w.state.Seq()
	operation := event.HostOperation{Number: 1, Capability: "http.fetch/1", Write: true}
	w.feed(OperationBegan{Step: e.Step, Attempt: e.Attempt, Operation: operation})
	if w.state.Seq() == before {
		return in // refused
	}
	happens := w.pick(4) > 0
	if happens {
		w.effects[e.OperationID]++
	}
	if operation.State, operation.Sent = event.OperationFailed, int64(w.pick(2)); happens {
		operation.Sent = 1
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
	if in.Fault, in.Output = "", (abi.ToolOutput{Status: abi.ToolOK, Result: "fine"}); !happens {
		in.Output = abi.ToolOutput{Status: abi.ToolFailed, Class: abi.ClassRateLimited, Result: "later"}
	}
	return in
}

// probe tells what the outside world knows, or that it cannot tell.
func (w *world) probe(e Reconcile) Input {
	in := Reconciled{Step: e.Step, Try: e.Try, Status: "inconclusive", Reason: "503"}
	switch w.pick(5) {
	case 0:
	case 1:
		in.Fault = "trap"
	case 2:
		return Claimed{Worker: "w", Fence: w.state.Fence() + 1} // killed
	default:
		if in.Status = "absent"; w.effects[e.OperationID] > 0 {
			in.Status, in.Result = "found", "fine"
		}
	}
	return in
}

// person finds out the truth.
func (w *world) person(step int64) Input {
	found := w.effects[w.state.step(step).Request.OperationID] > 0
	return OutcomeDecided{Step: step, Found: found, Result: "fine"}
}

func (w *world) tool(e CallTool) Input {
	if e.Tool == "w" {
		return w.write(e)
	}
	if e.Tool == "b" && w.state.tool("b").Effect == "idempotent" {
		return w.idem(e)
	}
	in := ToolFinished{Step: e.Step, Attempt: e.Attempt}
	switch w.pick(6) {
	case 0:
		in.Fault = "trap"
	case 1:
		in.Output = abi.ToolOutput{Status: abi.ToolFailed, Result: "bad", Class: abi.ClassConflict}
	default:
		in.Output = abi.ToolOutput{Status: abi.ToolOK, Result: "fine"}
	}
	return in
}

func (w *world) feed(in Input) {
	events, err := Decide(w.state, w.now, in)
	require.NoError(w.t, err)
	phase := PhaseAfter(w.state, events)
	for _, e := range events {
		record, err := event.Encode(e)
		require.NoError(w.t, err)
		back, err := event.Decode(e.Task, e.Seq, record)
		require.NoError(w.t, err)
		w.log = append(w.log, back)
		require.NoError(w.t, Evolve(w.state, e))
	}
	require.Equal(w.t, phase, w.state.Phase())
	folded := New()
	for _, e := range w.log {
		require.NoError(w.t, Evolve(folded, e))
	}
	require.True(w.t, reflect.DeepEqual(folded, w.state), "the state is not the fold over its log")
	rests := w.state.Stop() != nil || w.state.Outcome() != nil
	require.Equal(w.t, rests, len(Pending(w.state)) == 0)
	if w.state.Conversation().Stage().Action() == conv.Done && w.state.cancel == nil {
		require.NotNil(w.t, w.state.Outcome(), "the conversation is over, the task is not")
	}
	w.requirePaired()
	w.requireLeases()
}

// acquire lets the resources that something waits for be free.
func (w *world) acquire(e AcquireLeases) {
	w.now = max(w.now, e.Due)
	before := w.state.Seq()
	in := LeasesFree{Step: e.Step, Attempt: e.Attempt}
	for i := range w.state.steps {
		for _, l := range w.state.steps[i].Leases {
			for _, r := range e.Resources {
				if r == l.Resource && w.state.steps[i].ID != e.Step && l.Expires > w.now {
					if len(Pending(w.state)) == 1 {
						w.t.Fatalf("DEADLOCK: step %d waits for the lease of step %d, which is %s; pending %v", e.Step, w.state.steps[i].ID, w.state.steps[i].State, Pending(w.state))
					}
					return
				}
			}
		}
	}
	for _, name := range e.Resources {
		w.fence++
		in.Leases = append(in.Leases, Lease{Resource: name, Fence: w.fence})
	}
	w.feed(in)
	require.Greater(w.t, w.state.Seq(), before, "what it waited for is there, and it does not start")
}

// requireLeases: a step has the resources that it may change to itself exactly while it is not known what it did, over the
// attempts of one that is made again under the same id.
func (w *world) requireLeases() {
	for i := range w.state.steps {
		step, want := &w.state.steps[i], 0
		if step.State.Unsure() || w.state.toRepeat(step) {
			want = len(w.state.leased(step))
		}
		require.Len(w.t, step.Leases, want, "step %d is %s", step.ID, step.State)
	}
	for i := range w.state.undos {
		u, want := &w.state.undos[i], 0
		if u.State == task.UndoExecuting || (u.State == task.UndoWaiting && u.Unknown) {
			want = len(w.state.undoResources(u))
		}
		require.Len(w.t, u.Leases, want, "undoing %d is %s", u.ID, u.State)
	}
}

// requirePaired holds what the model would be sent now against what a strict endpoint asks.
func (w *world) requirePaired() {
	if w.state.Outcome() != nil || w.state.cancel != nil || len(w.state.steps) > 0 {
		return // nothing is sent
	}
	var open []event.ToolCall
	for _, m := range w.state.Conversation().Prompt() {
		if m.Role == event.RoleTool {
			require.NotEmpty(w.t, open, "a result without its call")
			require.Equal(w.t, open[0].ID, m.ToolCallID, "a result out of order")
			open = open[1:]
			continue
		}
		require.Empty(w.t, open, "a call without its result")
		open = m.ToolCalls
	}
	require.Empty(w.t, open, "a call without its result")
}
