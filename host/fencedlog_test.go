package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// fenced is the reference model of a task in a log: a register of its last sequence number and its fence.
type fenced struct{ last, fence uint64 }

// asked is what a worker called: an append of n records, or a read of all (n is 0) after expected.
type asked struct {
	expected, fence uint64
	records         [][]byte // none: a read
}

// answered is what it was told.
type answered struct {
	err   error  // nil, ErrConflict, ErrFenced; errUnsure: it may have happened, or may happen yet; errBesides
	last  uint64 // of a read: the last number that it gave, 0 where there was none
	whole bool   // a read: there was nothing behind it
}

var (
	errUnsure = errors.New("unsure")
	// errBesides: the commit was refused, perhaps for what it had besides this append: a lease.
	errBesides = errors.New("besides")
)

// step is what the model does with a call that was answered so: the states that it can be in then, none where a log may
// not answer so.
func (s fenced) step(in asked, out answered) []any {
	if out.err == errBesides {
		return []any{s}
	}
	if len(in.records) == 0 {
		if out.last == s.last || (out.last == 0 && s.last <= in.expected) || (!out.whole && out.last <= s.last) {
			return []any{s}
		}
		return nil
	}
	next := fenced{in.expected + uint64(len(in.records)), in.fence}
	right := error(nil)
	switch {
	case in.fence < s.fence:
		right = store.ErrFenced
	case in.expected != s.last:
		right = store.ErrConflict
	}
	switch {
	case out.err == errUnsure && right == nil:
		return []any{s, next}
	case out.err == errUnsure || (out.err == right && right != nil):
		return []any{s}
	case out.err == right:
		return []any{next}
	}
	return nil
}

func fencedModel() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init:  func() []any { return []any{fenced{}} },
		Step:  func(s, in, out any) []any { return s.(fenced).step(in.(asked), out.(answered)) },
		Equal: func(a, b any) bool { return a == b },
		DescribeOperation: func(in, out any) string {
			i, o := in.(asked), out.(answered)
			return fmt.Sprintf("%d+%d fence %d: %v, %d", i.expected, len(i.records), i.fence, o.err, o.last)
		},
		DescribeState: func(s any) string { return fmt.Sprint(s) },
	}
	return m.ToModel()
}

// historian writes down what several workers call and are told, task by task. Its clock gives no time twice.
type historian struct {
	clock atomic.Int64
	mu    sync.Mutex
	tasks map[string][]porcupine.Operation
}

func newHistorian() *historian { return &historian{tasks: map[string][]porcupine.Operation{}} }

func (h *historian) note(client int, task string, call int64, in asked, out answered) {
	end := h.clock.Add(1)
	if out.err == errUnsure {
		end = math.MaxInt64 // it may take effect whenever
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks[task] = append(h.tasks[task], porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end})
}

// judge tells whether one log with a fence could have given every answer, and each at an instant within its call.
func (h *historian) judge(task string) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(fencedModel(), h.tasks[task], time.Minute)
}

// requireSound judges every task, and holds what was acknowledged against what is in the log.
func (h *historian) requireSound(t *testing.T, log store.Log) (appends int) {
	t.Helper()
	for task, history := range h.tasks {
		require.Equal(t, porcupine.Ok, h.judge(task), "task %s: %d calls", task, len(history))
		records, err := log.Read(t.Context(), task, 0, 0)
		require.NoError(t, err)
		for _, op := range history {
			in, out := op.Input.(asked), op.Output.(answered)
			if len(in.records) == 0 || out.err != nil {
				continue
			}
			appends++
			for i, r := range in.records {
				require.Equal(t, r, records[in.expected+uint64(i)].Data, "task %s: record %d", task, in.expected+uint64(i)+1)
			}
		}
	}
	return appends
}

// of gives log as one worker has it.
func (h *historian) of(client int, log store.Log) store.Log { return &toldLog{log, h, client} }

// toldLog tells a historian.
type toldLog struct {
	store.Log
	to     *historian
	client int
}

func (l *toldLog) Commit(ctx context.Context, c store.Commit) error {
	call := l.to.clock.Add(1)
	err := l.Log.Commit(ctx, c)
	for _, a := range c.Appends {
		in, out := asked{expected: a.Expected, fence: a.Fence, records: a.Records}, answered{}
		refused := errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrConflict)
		switch {
		case refused && len(c.Appends) > 1:
			out.err = errBesides
		case errors.Is(err, store.ErrFenced):
			out.err = store.ErrFenced
		case errors.Is(err, store.ErrConflict):
			out.err = store.ErrConflict
		case err != nil:
			out.err = errUnsure
		}
		l.to.note(l.client, a.Task, call, in, out)
	}
	return err
}

func (l *toldLog) Read(ctx context.Context, task string, after uint64, limit int) ([]store.Record, error) {
	call := l.to.clock.Add(1)
	records, err := l.Log.Read(ctx, task, after, limit)
	if err == nil || errors.Is(err, store.ErrNotFound) {
		out := answered{whole: limit <= 0 || len(records) < limit}
		if n := len(records); n > 0 {
			out.last = records[n-1].Seq
		}
		l.to.note(l.client, task, call, asked{expected: after}, out)
	}
	return records, err
}

// brokenLog is a log that is wrong in one way.
type brokenLog struct {
	store.Log
	noFence, noOrder, forgets bool
}

func (l *brokenLog) Commit(ctx context.Context, c store.Commit) error {
	c.Appends = slices.Clone(c.Appends) // the caller's own say what was asked
	a := &c.Appends[0]
	head, err := l.Head(ctx, a.Task)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	switch {
	case l.noFence:
		a.Fence = max(a.Fence, head.Fence)
	case l.noOrder:
		a.Expected = head.Last
	case l.forgets && head.Last > 0:
		return nil
	}
	return l.Log.Commit(ctx, c)
}

// fightOver has workers append to one task at once, each from what it last saw, or from before that, and claim it now and
// then.
func fightOver(t *testing.T, h *historian, log store.Log) {
	var workers sync.WaitGroup
	for w := range 4 {
		own := h.of(w, log)
		workers.Go(func() {
			last, fence := uint64(0), uint64(1)
			for round := range 12 {
				if (round+w)%3 == 0 {
					fence++
				}
				if round%4 == 3 && last > 0 {
					last--
				}
				record := fmt.Appendf(nil, "%d/%d", w, round)
				err := own.Commit(t.Context(), store.Commit{Appends: []store.Append{{Task: "t", Expected: last, Fence: fence, Records: [][]byte{record}}}})
				if last++; err == nil {
					continue
				}
				if errors.Is(err, store.ErrFenced) {
					fence++
				}
				records, err := own.Read(t.Context(), "t", 0, 0)
				if assert.NoError(t, err) {
					last = uint64(len(records))
				}
			}
		})
	}
	workers.Wait()
}

// TestHistoryOfAppends: what a log answers to writers of one task is what a register with a fence could have.
func TestHistoryOfAppends(t *testing.T) {
	for name, log := range map[string]store.Log{"memory": newLog(t), "disk": onDisk(t)} {
		t.Run(name, func(t *testing.T) {
			h := newHistorian()
			fightOver(t, h, log)
			require.NotZero(t, h.requireSound(t, log))
		})
	}
}

// TestBrokenLogIsCaught: the checker refuses the history of a log that ignores fences, of one that ignores numbers, and of
// one that loses what it acknowledged.
func TestBrokenLogIsCaught(t *testing.T) {
	for name, broken := range map[string]*brokenLog{
		"no fence": {noFence: true}, "no order": {noOrder: true}, "forgets": {forgets: true},
	} {
		t.Run(name, func(t *testing.T) {
			broken.Log = newLog(t)
			h := newHistorian()
			fightOver(t, h, broken)
			require.Equal(t, porcupine.Illegal, h.judge("t"))
		})
	}
}
