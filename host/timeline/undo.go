package timeline

import (
	"fmt"
	"strings"

	"github.com/axishost/axishost/host/internal/event"
)

// undo tells the events of a task that undoes what another one did. A step in them is the place of an operation; people
// know it by its step in the first task.
type undo struct {
	operations []event.CompensatedOperation
	started    map[int64]int64
	done       map[int64]bool
	unsure     map[int64]bool
}

func newUndo(c *event.Compensation) *undo {
	return &undo{operations: c.Operations, started: map[int64]int64{}, done: map[int64]bool{}, unsure: map[int64]bool{}}
}

func (u *undo) event(e *event.Event) []Line {
	took := duration(e.Time - u.started[e.Step])
	switch p := e.Payload.(type) {
	case *event.CompensationStarted:
		if u.started[e.Step] = e.Time; e.Attempt > 1 {
			return []Line{{Detail, "", fmt.Sprintf("%s is tried again, attempt %d", u.what(e.Step), e.Attempt)}}
		}
		return []Line{{Plain, "undo", "undoing " + u.what(e.Step) + u.gave(e.Step)}}
	case *event.CompensationSucceeded:
		u.done[e.Step] = true
		delete(u.unsure, e.Step)
		return []Line{{Plain, "undone", u.what(e.Step) + " in " + took + ": " + show(p.Result)}}
	case *event.CompensationFailed:
		if u.unsure[e.Step] = p.Unknown; p.Unknown {
			return []Line{{Notice, "unknown", u.what(e.Step) + " may be undone (" + show(p.Class) + "): " + show(p.Reason)}}
		}
		return []Line{{Notice, "undo", u.what(e.Step) + " is not undone, in " + took + " (" + show(p.Class) + "): " + show(p.Reason)}}
	case *event.HostOperation:
		return []Line{{Detail, "", operation(p)}}
	}
	return nil
}

// what names the operation at a place.
func (u *undo) what(place int64) string {
	if place < 1 || place > int64(len(u.operations)) {
		return fmt.Sprintf("operation %d", place)
	}
	op := &u.operations[place-1]
	return fmt.Sprintf("step %d (%s)", op.Step, show(op.Tool))
}

// gave is what it gave then.
func (u *undo) gave(place int64) string {
	if place < 1 || place > int64(len(u.operations)) || u.operations[place-1].Result == "" {
		return ""
	}
	return ": " + show(u.operations[place-1].Result)
}

// counts says how many are undone, and how many are not.
func (u *undo) counts() string {
	unsure := 0
	for _, may := range u.unsure {
		if may {
			unsure++
		}
	}
	all := []string{fmt.Sprintf("%d undone", len(u.done))}
	if unsure > 0 {
		all = append(all, fmt.Sprintf("%d nobody knows", unsure))
	}
	if not := len(u.operations) - len(u.done) - unsure; not > 0 {
		all = append(all, fmt.Sprintf("%d not", not))
	}
	return strings.Join(all, ", ")
}
