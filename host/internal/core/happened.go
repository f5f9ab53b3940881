package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
)

// Happened collects, from the events of a task, the calls that are known to have happened, with what undoing them takes.
// The state of a task has only those of its last batch.
type Happened struct {
	created *event.TaskCreated
	steps   map[int64]*call
}

// call is a step, as far as it may be undone.
type call struct {
	event.CompensatedOperation
	happened bool
	partly   bool   // it failed after it had changed something
	started  uint64 // sequence number of the event that started its last attempt
}

// NewHappened gives a collection before the first event.
func NewHappened() *Happened { return &Happened{steps: map[int64]*call{}} }

// Event takes the next event.
func (h *Happened) Event(e *event.Event) {
	switch p := e.Payload.(type) {
	case *event.TaskCreated:
		h.created = p
		return
	case *event.ToolRequested:
		h.steps[e.Step] = &call{CompensatedOperation: event.CompensatedOperation{
			Step: e.Step, Tool: p.Tool, Arguments: effective(p), OperationID: p.OperationID,
		}}
		return
	}
	c := h.steps[e.Step]
	if c == nil {
		return
	}
	switch p := e.Payload.(type) {
	case *event.ToolStarted:
		c.started = e.Seq
	case *event.HostOperation:
		c.partly = c.partly || (p.Write && p.State == event.OperationDone)
	case *event.ToolSucceeded:
		c.happened, c.Result, c.Evidence = true, p.Result, p.Evidence
	case *event.OperationFound:
		c.happened, c.Result, c.Evidence = true, p.Result, p.Evidence
	case *event.CancelAcknowledged:
		if p.Result != nil {
			c.happened, c.Result, c.Evidence = true, *p.Result, p.Evidence
		}
	}
}

// Kept is a call that changed something and is not undone.
type Kept struct {
	Step   int64
	Tool   string
	Reason string
}

// Undoable gives what of the task can be undone, what began last first, and the calls that changed something and cannot.
func (h *Happened) Undoable() (operations []event.CompensatedOperation, kept []Kept) {
	var calls []*call
	for _, c := range h.steps {
		if (c.happened || c.partly) && h.changes(c.Tool) {
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b *call) int { return cmp.Compare(b.started, a.started) })
	for _, c := range calls {
		if reason := h.why(c.Step); reason != "" {
			kept = append(kept, Kept{c.Step, c.Tool, reason})
			continue
		}
		operations = append(operations, c.CompensatedOperation)
	}
	return operations, kept
}

// why says why a step cannot be undone; empty where it can.
func (h *Happened) why(step int64) string {
	c := h.steps[step]
	switch {
	case c == nil:
		return "the task has no such step"
	case h.spec(c.Tool) == nil:
		return "there is no tool " + c.Tool
	case !h.changes(c.Tool):
		return fmt.Sprintf("tool %s changes nothing (%s)", c.Tool, h.spec(c.Tool).Effect)
	case !c.happened && c.partly:
		return "it failed after a request of its had changed something: what is left of that, its tool cannot say"
	case !c.happened:
		return "it is not known to have happened"
	case !h.spec(c.Tool).Compensate:
		return fmt.Sprintf("tool %s has no compensate", c.Tool)
	}
	return ""
}

// Chosen gives those of what can be undone that have one of these steps, and why the others of them cannot be.
func (h *Happened) Chosen(steps []int64) (operations []event.CompensatedOperation, not []Kept) {
	all, _ := h.Undoable()
	for _, op := range all {
		if slices.Contains(steps, op.Step) {
			operations = append(operations, op)
		}
	}
	for _, step := range steps {
		if reason := h.why(step); reason != "" {
			k := Kept{Step: step, Reason: reason}
			if c := h.steps[step]; c != nil {
				k.Tool = c.Tool
			}
			not = append(not, k)
		}
	}
	return operations, not
}

// spec is a tool of the task; nil where it has none of that name.
func (h *Happened) spec(name string) *event.ToolSpec {
	if h.created == nil {
		return nil
	}
	s := State{created: h.created}
	return s.tool(name)
}

// changes tells whether a tool of the task changes something outside.
func (h *Happened) changes(name string) bool {
	spec := h.spec(name)
	return spec != nil && (spec.Effect == string(abi.EffectIdempotent) || spec.Effect == string(abi.EffectWrite))
}
