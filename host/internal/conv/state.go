package conv

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/axishost/axishost/host/internal/event"
)

// roleMarker is the role of markers in the full list. They are never visible.
const roleMarker = "ConversationRuntime"

// State is a conversation. Only Evolve changes it.
type State struct {
	config  Config
	head    event.Head
	stage   Stage
	full    []event.Message // everything ever appended, markers included
	visible []int           // indexes in full of what the model sees
	pending []event.ToolCall
}

// New gives a conversation before its first message. The configuration must be valid.
func New(config Config) *State {
	return &State{config: config, head: event.Head{Stage: NotInitialized.String()}}
}

// Stage is where the conversation stands.
func (s *State) Stage() Stage { return s.stage }

// Head is where the conversation stands, with its counters.
func (s *State) Head() event.Head { return s.head }

// Config is the conversation's configuration.
func (s *State) Config() *Config { return &s.config }

// Pending are the calls that wait for results, in the model's order. A view: not to be changed.
func (s *State) Pending() []event.ToolCall { return s.pending }

// Len is how many messages the model sees.
func (s *State) Len() int { return len(s.visible) }

// Visible gives what the model sees, in order. The messages must not be changed.
func (s *State) Visible() iter.Seq[*event.Message] {
	return func(yield func(*event.Message) bool) {
		for _, i := range s.visible {
			if !yield(&s.full[i]) {
				return
			}
		}
	}
}

// Evolve applies one durable event. A MessageAppended must hold its message. The error means that the log is
// not one of this machine.
func Evolve(s *State, p event.Payload) error {
	switch e := p.(type) {
	case *event.MessageAppended:
		if e.Message == nil {
			return fmt.Errorf("message of event %d is not there", e.Of)
		}
		s.visible = append(s.visible, len(s.full))
		s.full = append(s.full, *e.Message)
	case *event.RollbackMarked:
		s.mark("rollback", map[string]any{"rollback_message_count": e.Count, "reason": e.Reason})
		s.hide(e.Count)
	case *event.FinalizationForced: // said again, with all else, by the Decided that follows
	case *event.Decided:
		return s.decided(e)
	default:
		return fmt.Errorf("event %s is not one of a conversation", p.Type())
	}
	return nil
}

func (s *State) decided(e *event.Decided) error {
	stage, err := ParseStage(e.Head.Stage)
	if err != nil {
		return err
	}
	s.stage, s.head, s.pending = stage, e.Head, nil
	if stage == AwaitTools && len(s.visible) > 0 {
		s.pending = s.full[s.visible[len(s.visible)-1]].ToolCalls
	}
	return nil
}

// mark appends a marker to the full list.
func (s *State) mark(name string, content map[string]any) {
	text, err := json.Marshal(content)
	if err != nil {
		panic(err) // numbers and strings alone
	}
	s.full = append(s.full, event.Message{Role: roleMarker, Name: name, Content: string(text)})
}

// hide removes the last n visible messages, stopping before a system message.
func (s *State) hide(n int64) {
	for ; n > 0 && len(s.visible) > 0; n-- {
		last := len(s.visible) - 1
		if s.full[s.visible[last]].Role == event.RoleSystem {
			return
		}
		s.visible = s.visible[:last]
	}
}
