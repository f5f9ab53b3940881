package timeline

import (
	"cmp"
	"slices"

	"github.com/axishost/axishost/host/internal/event"
)

// Question is what a person has to find out: whether a call that may have changed the world happened, where its tool
// cannot tell. Its texts are as they came from outside.
type Question struct {
	Step        int64
	Attempt     int64 // the one of which nobody knows
	Tool        string
	Arguments   string // those that the tool was given
	OperationID string
	Called      int64    // when, in microseconds since the Unix epoch
	Sent        []string // the requests that may have changed something, each once
	Reason      string   // why it is not known what the call did
	Asked       int64    // how often the tool was asked since; 0: it has no way to tell
	Told        string   // why the tool could not tell
}

// Questions are those that wait for a person now, in the order of their steps.
func (t *Timeline) Questions() []Question {
	var out []Question
	for _, d := range t.doubts {
		if d.waits {
			out = append(out, d.Question)
		}
	}
	slices.SortFunc(out, func(a, b Question) int { return cmp.Compare(a.Step, b.Step) })
	return out
}

// doubt is a call of which nobody knows yet what it did.
type doubt struct {
	Question
	waits bool // for a person
}

// begin notes that a call of a step is made.
func (t *Timeline) begin(e *event.Event) {
	t.started[e.Step] = e.Time
	delete(t.sent, e.Step)
}

// send notes a request of a call that may change something. What a tool does to find out is none.
func (t *Timeline) send(step int64, p *event.HostOperation) {
	if p.Write && p.State == event.OperationBegun && t.doubts[step] == nil && !slices.Contains(t.sent[step], p.Target) {
		t.sent[step] = append(t.sent[step], p.Target)
	}
}

// doubt notes that nobody knows what the call of a step did, and why.
func (t *Timeline) doubt(step, attempt int64, why string) {
	q := Question{Step: step, Attempt: attempt, Called: t.started[step], Sent: slices.Clone(t.sent[step]), Reason: why}
	if r := t.requests[step]; r != nil {
		q.Tool, q.Arguments, q.OperationID = r.Tool, cmp.Or(r.Repaired, r.Arguments), r.OperationID
	}
	t.doubts[step] = &doubt{Question: q}
}

// inconclusive notes that the tool of a step could not tell.
func (t *Timeline) inconclusive(step int64, p *event.ReconcileInconclusive) {
	if d := t.doubts[step]; d != nil {
		d.waits, d.Asked, d.Told = p.Next == 0, p.Try, p.Reason
	}
}

// settle notes that it is known what a step did.
func (t *Timeline) settle(step int64) { delete(t.doubts, step) }

// close forgets a step.
func (t *Timeline) close(step int64) {
	delete(t.requests, step)
	delete(t.started, step)
	delete(t.sent, step)
	delete(t.doubts, step)
}
