package conv

import (
	"iter"
	"slices"

	"github.com/axishost/axishost/host/internal/event"
)

// Estimator estimates how many tokens messages are. It is pure: what it counts came in with the messages.
type Estimator interface {
	Estimate(messages iter.Seq[*event.Message]) int64
}

// Counted estimates by the counts that messages carry, and where one has none by its length.
type Counted struct{}

// Estimate implements Estimator: each message by its count, or its length in bytes over three, and four for
// its frame.
func (c Counted) Estimate(messages iter.Seq[*event.Message]) int64 {
	total := int64(0)
	for m := range messages {
		total += c.One(m)
	}
	return total
}

// One implements singly.
func (Counted) One(m *event.Message) int64 {
	if m.Tokens > 0 {
		return m.Tokens
	}
	length := len(m.Content) + len(m.Reasoning)
	for _, c := range m.ToolCalls {
		length += len(c.Name) + len(c.Arguments)
	}
	return int64(length+2)/3 + 4
}

// singly is an Estimator whose estimate of a list is exactly the sum over its messages.
type singly interface{ One(m *event.Message) int64 }

// Environment is what surrounds a conversation besides its configuration.
type Environment struct {
	// MaxOutputTokens is what a reply may use.
	MaxOutputTokens int64
	// Preflight lets the machine check the context window itself, before the endpoint does.
	Preflight bool
	Estimator Estimator
	// Additive tells that the estimate of a list is the sum over its messages, so that it can be kept as
	// the list changes, and calibrated by what endpoints report.
	Additive bool
	// IncludesTools tells that the estimator counts the tools' definitions by itself.
	IncludesTools bool
	// ToolsText stands for the tools' definitions in an estimate; empty without tools.
	ToolsText string
}

// tracks tells whether the estimate is kept by increments.
func (s *State) tracks() bool {
	return s.env.Preflight && s.config.ContextLimit.Window != nil && s.env.Additive && !s.env.IncludesTools
}

// extras are messages that an estimate counts behind what is visible: the announcement of a forced turn, the
// one that stands for the tools' definitions. They are the same for the whole conversation, and so are
// their estimates.
type extras struct {
	messages []*event.Message
	tokens   int64
}

func newExtras(est Estimator, messages ...*event.Message) extras {
	x := extras{}
	for _, m := range messages {
		if m != nil {
			x.messages = append(x.messages, m)
		}
	}
	if len(x.messages) > 0 {
		x.tokens = est.Estimate(slices.Values(x.messages))
	}
	return x
}

// prepare works out what stays the same for the whole conversation.
func (s *State) prepare() {
	if s.env.ToolsText != "" && !s.env.IncludesTools {
		s.plain = newExtras(s.env.Estimator, &event.Message{Role: event.RoleUser, Content: s.env.ToolsText})
	}
	s.final = s.config.finalPrompt()
	s.withFinal = s.plain
	if s.final != nil {
		announcement := []*event.Message{{Role: event.RoleUser, Content: *s.final}}
		s.withFinal = newExtras(s.env.Estimator, append(announcement, s.plain.messages...)...)
	}
}

// estimate gives the prompt tokens of a window with extras behind it.
func (s *State) estimate(w *window, x *extras) int64 {
	if !s.tracks() || s.cutoff(w) > 0 {
		return s.env.Estimator.Estimate(concat(s.rendered(w), x.messages))
	}
	return w.scaled(w.len(), w.raw+x.tokens)
}

// tracked is the estimate of a window where one is kept by increments, else 0.
func (s *State) tracked(w *window) int64 {
	if !s.tracks() {
		return 0
	}
	return s.estimate(w, &s.plain)
}

// Tokens is the estimate of what is visible; 0 where none is kept.
func (s *State) Tokens() int64 { return s.tracked(s.window) }

// scaled corrects a raw estimate by what was observed: from the anchor on by the difference, else whole.
func (c *calibration) scaled(count int, raw int64) int64 {
	if c.anchor.set && count >= c.anchor.count && raw >= c.anchor.raw {
		return max(0, c.anchor.observed+int64(float64(float64(raw-c.anchor.raw)*c.ratio)))
	}
	return max(0, int64(float64(float64(raw)*c.ratio)))
}

// observe takes in how many tokens the endpoint counted for what is visible. The products are rounded one by
// one, so that every machine comes to the same ratio.
func (s *State) observe(w *window, observed int64) {
	if !s.tracks() || observed <= 0 || s.cutoff(w) > 0 {
		return
	}
	raw := w.raw + s.plain.tokens
	if raw <= 0 {
		return
	}
	factor := min(max(float64(observed)/float64(raw), 0.25), 4.0)
	w.ratio = float64(0.8*w.ratio) + float64(0.2*factor)
	w.anchor = anchor{set: true, count: w.len(), raw: raw, observed: observed}
}

func concat(first iter.Seq[*event.Message], then []*event.Message) iter.Seq[*event.Message] {
	return func(yield func(*event.Message) bool) {
		for m := range first {
			if !yield(m) {
				return
			}
		}
		slices.Values(then)(yield)
	}
}
