package conv

import (
	"iter"

	"github.com/axishost/axishost/host/internal/event"
)

// notRun stands in for the result of a call that was never run.
const notRun = "This call was not run."

// Prompt gives the messages to be sent to the model: what is visible, with a result put in for each call
// that has none. Such calls stay visible where a reply was cut off, and endpoints refuse them; the log is
// not changed.
func (s *State) Prompt() iter.Seq[event.Message] {
	return func(yield func(event.Message) bool) {
		var open []event.ToolCall // calls that the next messages must answer, in order
		for m := range s.Visible() {
			if m.Role == event.RoleTool && len(open) > 0 {
				open = open[1:]
			} else {
				if !yieldNotRun(open, yield) {
					return
				}
				open = m.ToolCalls
			}
			if !yield(*m) {
				return
			}
		}
		yieldNotRun(open, yield)
	}
}

func yieldNotRun(calls []event.ToolCall, yield func(event.Message) bool) bool {
	for _, c := range calls {
		if !yield(event.Message{Role: event.RoleTool, ToolCallID: c.ID, Name: c.Name, Content: notRun}) {
			return false
		}
	}
	return true
}
