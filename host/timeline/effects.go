package timeline

import (
	"fmt"
	"strings"

	"github.com/axishost/axishost/host/internal/event"
)

// effect tells the events by which a call that may have changed the world is followed up.
func (t *Timeline) effect(e *event.Event) []Line {
	switch p := e.Payload.(type) {
	case *event.HostOperation:
		t.send(e.Step, p)
		return []Line{{Detail, "", operation(p)}}
	case *event.LeaseAcquired:
		return []Line{{Routine, "lease", fmt.Sprintf("%s has %s to itself, until it is known what it did or %s have passed", t.tool(e.Step), show(p.Resource), duration(p.Expires-e.Time))}}
	case *event.LeaseReleased:
		if p.Reason == "expired" {
			return []Line{{Notice, "lease", fmt.Sprintf("%s had %s longer than limits.lease_ms: others may have changed it since", t.tool(e.Step), show(p.Resource))}}
		}
	case *event.ToolUnknown:
		t.doubt(e.Step, e.Attempt, p.Reason)
		return []Line{{Notice, "unknown", fmt.Sprintf("%s may have happened (%s): %s", t.call(e.Step), show(p.Class), show(p.Reason))}}
	case *event.ReconcileStarted:
		return t.probed(e.Step, p)
	case *event.OperationFound:
		t.settle(e.Step)
		return []Line{{Plain, "found", t.call(e.Step) + " happened" + by(e) + ": " + show(p.Result)}}
	case *event.OperationAbsent:
		t.settle(e.Step)
		return []Line{{Plain, "absent", t.call(e.Step) + " did not happen" + by(e) + ", and will not" + t.again()}}
	case *event.ReconcileInconclusive:
		t.inconclusive(e.Step, p)
		if p.Next == 0 {
			return []Line{{Notice, "unknown", "nobody can tell whether " + t.call(e.Step) + " happened (" + show(p.Reason) + "): a person has to find out"}}
		}
		return []Line{{Notice, "probe", "not known yet: " + show(p.Reason) + "; asked again in " + duration(p.Next-e.Time)}}
	}
	return nil
}

// probed tells that the tool of a step is asked what became of a call.
func (t *Timeline) probed(step int64, p *event.ReconcileStarted) []Line {
	if d := t.doubts[step]; d != nil {
		d.waits = false
	}
	return []Line{{Plain, "probe", fmt.Sprintf("%s is asked whether operation %s happened%s", t.tool(step), short(p.OperationID), times(p.Try))}}
}

// again tells what becomes of a call that did not happen.
func (t *Timeline) again() string {
	if t.cancelling {
		return ""
	}
	return ": it may be made again"
}

// operation tells what a guest had the host do.
func operation(p *event.HostOperation) string {
	text := show(p.Target)
	switch p.State {
	case event.OperationBegun:
		return text + " is about to be sent"
	case event.OperationDone:
		status, _, _ := strings.Cut(p.Result, " ")
		return fmt.Sprintf("%s answered %s, %d bytes", text, show(status), p.Received)
	}
	text += " failed: " + show(p.Reason)
	if p.Sent == 0 && !strings.Contains(p.Reason, "nothing was sent") {
		return text + "; nothing was sent"
	}
	return text
}

// tool names a step's tool.
func (t *Timeline) tool(step int64) string {
	if r := t.requests[step]; r != nil {
		return show(r.Tool)
	}
	return fmt.Sprintf("the tool of step %d", step)
}

// short is enough of an operation's id to find it by.
func short(id string) string {
	const enough = 8
	return show(id[:min(len(id), enough)])
}

func times(try int64) string {
	if try <= 1 {
		return ""
	}
	return fmt.Sprintf(", question %d", try)
}

// by tells who found out, where it was a person.
func by(e *event.Event) string {
	if e.Actor.Kind != event.ActorUser {
		return ""
	}
	return ", as a person found out"
}

// replans tells why a plan is given up. An answer that was rejected says so itself.
var replans = map[string]string{
	"conflict":    "things are not as the model saw them: it plans anew",
	"plan_failed": "the rest of the plan waits for what failed: the model plans anew",
}

// planned tells what a recipe planned: each item, and what it waits for.
func planned(p *event.PlanProposed) string {
	var items []string
	for _, item := range p.Items {
		text := show(item.ID)
		if item.Text != "" {
			text += " (" + show(item.Text) + ")"
		}
		if len(item.Needs) > 0 {
			text += " after " + show(strings.Join(item.Needs, ", "))
		}
		items = append(items, text)
	}
	return strings.Join(items, "; ")
}
