package conv

import (
	"iter"

	"github.com/axishost/axishost/host/internal/event"
)

// entry is one visible message: At is its place in the full list, or that of the marker that made it.
type entry struct {
	message *event.Message
	at      int
	summary bool
}

// segment is a batch of messages appended together, with the estimate it was given.
type segment struct {
	count  int
	tokens int64
}

// window is what the model sees, with the token estimate of it. A window over a parent shows what would be
// visible after an operation: it takes from the parent's end and adds its own, so a decision costs what it
// changes, and the parent stays as it is.
type window struct {
	parent   *window
	keep     int // messages of the parent that are still visible
	keepSegs int // and segments

	own  []entry
	segs []segment
	raw  int64 // estimate of everything visible, by segments

	calibration
}

// calibration is what observed token counts say of the estimates.
type calibration struct {
	ratio  float64
	anchor anchor
}

// anchor is the last observation: at count messages, estimated at raw, the endpoint counted observed.
type anchor struct {
	set      bool
	count    int
	raw      int64
	observed int64
}

func newWindow() *window { return &window{calibration: calibration{ratio: 1}} }

func (w *window) len() int { return w.keep + len(w.own) }

func (w *window) segCount() int { return w.keepSegs + len(w.segs) }

func (w *window) at(i int) *entry {
	if i < w.keep {
		return w.parent.at(i)
	}
	return &w.own[i-w.keep]
}

func (w *window) seg(i int) segment {
	if i < w.keepSegs {
		return w.parent.seg(i)
	}
	return w.segs[i-w.keepSegs]
}

// all gives the visible messages from i on.
func (w *window) all(i int) iter.Seq[*event.Message] {
	return func(yield func(*event.Message) bool) {
		for ; i < w.len(); i++ {
			if !yield(w.at(i).message) {
				return
			}
		}
	}
}

// push adds one message. joined tells that it belongs to the batch of the one before it.
func (w *window) push(e entry, joined bool, est Estimator) {
	w.own = append(w.own, e)
	if est == nil { // no estimate is kept
		w.segs = append(w.segs, segment{count: 1})
		return
	}
	if one, ok := est.(singly); ok {
		tokens := one.One(e.message)
		w.segs = append(w.segs, segment{1, tokens})
		w.raw += tokens
		return
	}
	if joined && len(w.segs) > 0 {
		last := &w.segs[len(w.segs)-1]
		w.raw -= last.tokens
		last.count++
		last.tokens = est.Estimate(w.all(w.len() - last.count))
		w.raw += last.tokens
		return
	}
	tokens := est.Estimate(w.all(w.len() - 1))
	w.segs = append(w.segs, segment{1, tokens})
	w.raw += tokens
}

// poppable tells how many of the last n messages a rollback would take: it stops before a system message.
func (w *window) poppable(n int64) int {
	took := 0
	for ; int64(took) < n && took < w.len(); took++ {
		if w.at(w.len()-1-took).message.Role == event.RoleSystem {
			break
		}
	}
	return took
}

// pop takes the last n messages away. Whole segments go by their stored estimate; of a partial one a fresh
// estimate of what goes is subtracted.
func (w *window) pop(n int, e Estimator) {
	for left := n; left > 0; {
		last := w.seg(w.segCount() - 1)
		part := min(left, last.count)
		tokens := last.tokens
		if part < last.count && e != nil {
			from := w.len() - (n - left) - part
			tokens = e.Estimate(take(w.all(from), part))
		}
		w.raw -= tokens
		w.dropSeg()
		if part < last.count {
			w.segs = append(w.segs, segment{last.count - part, last.tokens - tokens})
		}
		left -= part
	}
	if own := min(n, len(w.own)); own > 0 {
		w.own = w.own[:len(w.own)-own]
		n -= own
	}
	w.keep -= n
	if w.anchor.set && w.len() < w.anchor.count {
		w.anchor = anchor{}
	}
}

func (w *window) dropSeg() {
	if len(w.segs) > 0 {
		w.segs = w.segs[:len(w.segs)-1]
		return
	}
	w.keepSegs--
}

func take(seq iter.Seq[*event.Message], n int) iter.Seq[*event.Message] {
	return func(yield func(*event.Message) bool) {
		left := n
		for m := range seq {
			if left == 0 || !yield(m) {
				return
			}
			left--
		}
	}
}

// replace puts other messages in place of all: a compaction or a discard. They are one segment, and what
// was observed of the old ones no longer holds.
func (w *window) replace(entries []entry, e Estimator) {
	*w = window{own: entries, calibration: calibration{ratio: w.ratio}}
	if len(entries) > 0 && e == nil {
		w.segs = []segment{{count: len(entries)}}
	} else if len(entries) > 0 {
		w.raw = e.Estimate(w.all(0))
		w.segs = []segment{{len(entries), w.raw}}
	}
}
