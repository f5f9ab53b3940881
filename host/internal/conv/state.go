package conv

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/axishost/axishost/host/internal/event"
)

// State is a conversation. Only Evolve changes it.
type State struct {
	config  Config
	env     Environment
	head    event.Head
	stage   Stage
	full    []*event.Message // everything ever appended, markers included
	window  *window          // what the model sees
	pending []event.ToolCall

	final            *string // what announces a forced turn; nil for nothing
	plain, withFinal extras
}

// New gives a conversation before its first message. The configuration must be valid.
func New(config Config, env Environment) *State {
	if env.Estimator == nil {
		env.Estimator, env.Additive = Counted{}, true
	}
	s := &State{config: config, env: env}
	s.prepare()
	s.reset()
	return s
}

func (s *State) reset() {
	s.head = event.Head{Stage: NotInitialized.name(), MaxTurns: s.config.MaxTurns}
	s.stage, s.full, s.window, s.pending = NotInitialized, nil, newWindow(), nil
}

// Clone gives an independent copy. Messages are shared: they never change.
func (s *State) Clone() *State {
	c := *s
	w := *s.window
	w.own, w.segs = slices.Clone(w.own), slices.Clone(w.segs)
	c.window, c.full, c.pending = &w, slices.Clone(s.full), slices.Clone(s.pending)
	return &c
}

// Rebuild gives the conversation with its visible list replayed from all its messages and markers, as a
// reader of the messages alone would see it. What was observed of token counts is not in them.
func (s *State) Rebuild() *State {
	c := *s
	c.window, c.full = newWindow(), nil
	for _, m := range s.full {
		if m.Role == roleMarker {
			c.mark(m.Name, m.Content)
		} else {
			c.append(m, false)
		}
	}
	return &c
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
func (s *State) Len() int { return s.window.len() }

// At gives the i-th message that the model sees. It must not be changed.
func (s *State) At(i int) *event.Message { return s.window.at(i).message }

// Visible gives what the model sees, in order. The messages must not be changed.
func (s *State) Visible() iter.Seq[*event.Message] { return s.window.all(0) }

// Evolve applies one durable event. A MessageAppended must hold its message. The error means that the log is
// not one of this machine.
func Evolve(s *State, p event.Payload) error {
	switch e := p.(type) {
	case *event.MessageAppended:
		if e.Message == nil {
			return fmt.Errorf("message of event %d is not there", e.Of)
		}
		s.append(e.Message, e.Joined)
	case *event.RollbackMarked:
		s.mark(markerRollback, rollbackContent(e.Count, e.Reason))
	case *event.MarkerAppended:
		s.mark(e.Name, e.Content)
	case *event.PromptObserved:
		s.observe(s.window, e.Tokens)
	case *event.ConversationReset:
		s.reset()
	case *event.FinalizationForced: // said again, with all else, by the Decided that follows
	case *event.Decided:
		return s.decided(e)
	default:
		return fmt.Errorf("event %s is not one of a conversation", p.Type())
	}
	return nil
}

func (s *State) append(m *event.Message, joined bool) {
	s.window.push(entry{message: m, at: len(s.full)}, joined, s.estimator())
	s.full = append(s.full, m)
}

// estimator is what segments are estimated by; nil where no estimate is kept.
func (s *State) estimator() Estimator {
	if s.tracks() {
		return s.env.Estimator
	}
	return nil
}

func (s *State) decided(e *event.Decided) error {
	stage, err := ParseStage(string(e.Head.Stage))
	if err != nil {
		return err
	}
	s.stage, s.head, s.pending = stage, e.Head, nil
	if stage == AwaitTools && s.window.len() > 0 {
		s.pending = s.window.at(s.window.len() - 1).message.ToolCalls
	}
	return nil
}

// Markers of the full list. A marker is a message of a role of its own, whose content is a JSON object.
const (
	roleMarker       = "ConversationRuntime"
	markerRollback   = "rollback"
	MarkerCompaction = "compaction"
	MarkerDiscardAll = "discard_all"
)

func rollbackContent(count int64, reason string) string {
	text, _ := json.Marshal(reason) // a string
	return fmt.Sprintf(`{"rollback_message_count": %d, "reason": %s}`, count, text)
}

// mark appends a marker to the full list, and does to the visible one what it says. A marker that cannot be
// read, or that does not fit what is visible, does nothing.
func (s *State) mark(name, content string) {
	at := len(s.full)
	s.full = append(s.full, &event.Message{Role: roleMarker, Name: name, Content: content})
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(content), &fields) != nil {
		return
	}
	switch name {
	case markerRollback:
		if n, ok := integer(fields["rollback_message_count"], true); ok && n > 0 {
			s.window.pop(s.window.poppable(n), s.estimator())
		}
	case MarkerCompaction:
		s.compact(fields, at)
	case MarkerDiscardAll:
		if n, ok := integer(fields["prefix_len"], false); ok && n >= 0 && n <= int64(s.window.len()) {
			s.window.replace(s.entries(0, int(n)), s.estimator())
		}
	}
}

func (s *State) compact(fields map[string]json.RawMessage, at int) {
	var summary *string
	prefix, okPrefix := integer(fields["prefix_len"], false)
	count, okCount := integer(fields["compressed_count"], false)
	if json.Unmarshal(fields["summary"], &summary) != nil || summary == nil || !okPrefix || !okCount ||
		prefix < 0 || count <= 0 || count > int64(s.window.len())-prefix {
		return
	}
	entries := s.entries(0, int(prefix))
	entries = append(entries, entry{
		message: &event.Message{Role: event.RoleAssistant, Content: *summary}, at: at, summary: true,
	})
	entries = append(entries, s.entries(int(prefix+count), s.window.len())...)
	s.window.replace(entries, s.estimator())
}

// entries copies the visible entries from i to j.
func (s *State) entries(i, j int) []entry {
	out := make([]entry, 0, j-i+1)
	for ; i < j; i++ {
		out = append(out, *s.window.at(i))
	}
	return out
}

// integer reads a JSON integer: no fraction, no exponent, no text. Where truth is allowed, true is 1: the
// markers of the reference allow it in one place.
func integer(raw json.RawMessage, truth bool) (int64, bool) {
	if truth && string(raw) == "true" {
		return 1, true
	}
	var n json.Number
	if len(raw) == 0 || raw[0] == '"' || json.Unmarshal(raw, &n) != nil {
		return 0, false
	}
	v, err := n.Int64()
	return v, err == nil
}
