package pebblestore

import (
	"bytes"
	"context"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/axishost/axishost/store"
)

// List implements store.Log.
func (l *Log) List(ctx context.Context, q store.Query) ([]store.Head, error) {
	if err := l.enter(ctx); err != nil {
		return nil, err
	}
	defer l.calls.Done()
	lower, upper := bounds(&q)
	if bytes.Compare(lower, upper) >= 0 {
		return nil, nil
	}
	in := func(task string) bool {
		key := headKey(task)
		return bytes.Compare(lower, key) <= 0 && bytes.Compare(key, upper) < 0
	}
	it, prior, err := l.listView(in, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, l.readError("listing", "", 0, err)
	}
	heads, err := l.listHeads(ctx, it, &lister{query: q, prior: prior})
	if err = l.closeView(it, "", err); err != nil {
		return nil, err
	}
	return heads, l.fuse.err()
}

// bounds gives the keys between which the heads are that q can select.
func bounds(q *store.Query) (lower, upper []byte) {
	lower, upper = headKey(q.Prefix), successor(headKey(q.Prefix))
	if from := headKey(q.From); bytes.Compare(from, lower) > 0 {
		lower = from
	}
	if before := headKey(q.Before); q.Before != "" && bytes.Compare(before, upper) < 0 {
		upper = before
	}
	return lower, upper
}

// listHeads gives the heads that the query selects, from the highest id down as far as that is needed.
func (l *Log) listHeads(ctx context.Context, it *pebble.Iterator, to *lister) ([]store.Head, error) {
	for valid := it.Last(); valid; valid = it.Prev() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, l.readError("listing", "", 0, err)
		}
		done, err := to.see(it.Key(), value)
		if err != nil {
			return nil, err
		}
		if done {
			return to.result(), nil
		}
	}
	if err := it.Error(); err != nil {
		return nil, l.readError("listing", "", 0, err)
	}
	return to.result(), nil
}

// lister gathers heads, from the highest id down.
type lister struct {
	query  store.Query
	prior  []store.Head // of tasks that the view may be wrong about, in order of id
	heads  []store.Head
	memory arena
	labels []string // that were seen; there are few
}

// see takes in a head of the view. It is done when the query wants no more.
func (to *lister) see(key, value []byte) (done bool, err error) {
	task := key[1:]
	to.addPrior(task)
	if n := len(to.prior); n > 0 && to.prior[n-1].Task == string(task) {
		return to.full(), nil // the one of the flight is added with the next
	}
	if to.full() {
		return true, nil
	}
	h, label, index, err := parseHead(key, value)
	if err != nil {
		return false, err
	}
	h.Label = to.label(label)
	if len(to.query.Labels) == 0 || slices.Contains(to.query.Labels, h.Label) {
		h.Task = string(task)
		if len(index) > 0 {
			h.Index = to.memory.clone(index, 0)
		}
		to.add(h)
	}
	return to.full(), nil
}

// addPrior adds the heads of flights whose id is above task.
func (to *lister) addPrior(task []byte) {
	for n := len(to.prior); n > 0 && to.prior[n-1].Task > string(task) && !to.full(); n-- {
		h := to.prior[n-1]
		to.prior = to.prior[:n-1]
		if h.Last > 0 && to.query.Matches(h.Task, h.Label) {
			h.Index = bytes.Clone(h.Index) // it is shared with its flight
			to.add(h)
		}
	}
}

// add doubles what is full, since append copies large slices more often.
func (to *lister) add(h store.Head) {
	if len(to.heads) == cap(to.heads) {
		to.heads = slices.Grow(to.heads, max(16, len(to.heads)))
	}
	to.heads = append(to.heads, h)
}

func (to *lister) full() bool { return to.query.Last > 0 && len(to.heads) == to.query.Last }

// result gives the heads in ascending order.
func (to *lister) result() []store.Head {
	to.addPrior(nil)
	slices.Reverse(to.heads)
	return to.heads
}

// label gives a label as a string, one for all that are the same.
func (to *lister) label(b []byte) string {
	for _, known := range to.labels {
		if known == string(b) {
			return known
		}
	}
	if len(to.labels) < 16 {
		to.labels = append(to.labels, string(b))
		return to.labels[len(to.labels)-1]
	}
	return string(b)
}
