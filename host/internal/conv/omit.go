package conv

import (
	"iter"

	"github.com/axishost/axishost/host/internal/event"
)

// omittedText stands in for a tool result that is not shown any more.
const omittedText = "[tool result omitted to save tokens]"

// cutoff gives the place in w before which tool results are shown to the model only as left out: all but
// the latest keep_tool_result are. 0 where none is.
func (s *State) cutoff(w *window) int {
	left := s.config.KeepToolResults
	if left < 0 {
		return 0
	}
	for i := w.len() - 1; i >= 0; i-- {
		if w.at(i).message.Role != event.RoleTool {
			continue
		}
		if left == 0 {
			return i + 1
		}
		left--
	}
	return 0
}

// rendered gives what is visible in w as the model is shown it.
func (s *State) rendered(w *window) iter.Seq[*event.Message] {
	cut := s.cutoff(w)
	if cut == 0 {
		return w.all(0)
	}
	return func(yield func(*event.Message) bool) {
		for i := range w.len() {
			m := w.at(i).message
			if i < cut && m.Role == event.RoleTool {
				m = &event.Message{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID, Content: omittedText}
			}
			if !yield(m) {
				return
			}
		}
	}
}
