package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
)

// TestCrashAtEveryWriteWithEffects: the machine crashes before each operation that writes, while a task changes a
// ledger that knows no idempotency keys. Whatever of the unsynced data survives, and whether a request that was under
// way still arrives or not: the log and the ledger agree after the crash, and once another host has finished the
// task each entry is there once.
func TestCrashAtEveryWriteWithEffects(t *testing.T) {
	first := together(notes("a"), lists(), appends("cash", 1), appends("bank", 2), appends("cash", 3))
	for name, c := range map[string]*effectCrashes{
		"to the end": {replies: []any{first, appends("cash", 4), lists(), says("done")}, amounts: []int{1, 2, 3, 4}},
		"cancelled": {
			replies: []any{together(lists(), appends("cash", 1), appends("bank", 2)),
				together(appends("cash", 3), appends("bank", 4), appends("fees", 5)), appends("cash", 6), says("done")},
			amounts: []int{1, 2, 3, 4, 5, 6}, cancelAt: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.ledger = newLedger(t, ledgertest.Options{Raw: true, OnEffect: c.effect})
			c.sub = ledgerTask(t, c.ledger)
			c.sub.Tools = append(c.sub.Tools, guest(t, "witness"))
			c.resumed, c.runners = map[[4]int]bool{}, newRunners()
			require.NoError(t, c.shoot())
			require.Greater(t, c.points, 60)
			for n, i := range c.images {
				if raced && !*crashAll && n%25 != 0 && n+1 != len(c.images) {
					continue // no multiple of three: each share survives in its turn
				}
				c.judged++
				c.judge(t, i)
			}
			require.Len(t, c.lines, int(c.told), "no crash came after the last event")
			t.Logf("%d write points, %d clones, %d resumed (%d with requests that arrived after the crash), %d cancelled in the end; duplicates 0, losses 0",
				c.points, c.judged, c.resumptions, c.late, c.cancelled)
		})
	}
}

// effectCrashes is what is known of the crashes of one run that has effects outside.
type effectCrashes struct {
	replies  []any
	amounts  []int // that the whole task writes
	cancelAt int64 // the amount at whose entry the task is cancelled; 0: it is not

	ledger  *ledgertest.Server
	sub     Submission
	runners Runners
	modules sync.Map
	cancel  atomic.Pointer[func()] // what the entry of cancelAt leads to, once

	mu                           sync.Mutex
	images                       []effectImage
	points                       int
	told                         uint64
	lines                        []string
	resumed                      map[[4]int]bool
	judged                       int
	resumptions, late, cancelled int
}

// effectImage is a disk as a crash leaves it, with the ledger as it was then.
type effectImage struct {
	image
	effects []ledgertest.Effect
}

func (c *effectCrashes) effect(e ledgertest.Effect) {
	if e.Amount == c.cancelAt {
		if cancel := c.cancel.Swap(nil); cancel != nil {
			(*cancel)()
		}
	}
}

// shoot runs the task, and takes the pictures. They are looked at when the run is over: there is one ledger.
func (c *effectCrashes) shoot() error {
	w, mem := &world{}, vfs.NewCrashableMem()
	fs := watch(mem, func(errorfs.Op) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.points++
		for _, percent := range unsynced {
			told, executed := w.seen()
			c.images = append(c.images, c.still(func() image {
				return image{c.points, percent, crash(mem, percent, c.points), told, executed}
			}))
		}
		return nil
	})
	log, err := c.open(fs)
	if err != nil {
		return err
	}
	h, err := Open(Options{Log: log, Runners: c.runners, Model: &fakeModel{replies: c.replies}, CacheDir: cacheDir(), Events: w.events()})
	if err != nil {
		return errors.Join(err, log.Close())
	}
	cancelled := make(chan error, 1)
	if c.cancelAt != 0 {
		c.cancel.Store(new(func() { requestCancel(log, c.runners, cancelled) }))
	}
	_, err = h.Run(context.Background(), c.sub)
	if c.cancelAt != 0 {
		err = errors.Join(err, <-cancelled)
	}
	c.told, _ = w.seen()
	return errors.Join(err, log.Close())
}

// still takes a picture between two effects: a disk and a ledger of one moment.
func (c *effectCrashes) still(take func() image) effectImage {
	for {
		before := c.ledger.Effects()
		i := take()
		if len(c.ledger.Effects()) == len(before) {
			return effectImage{i, before}
		}
	}
}

func (c *effectCrashes) open(fs vfs.FS) (store.Log, error) {
	log, err := pebblestore.Open("dir", pebblestore.Options{FS: fs})
	if err != nil {
		return nil, err
	}
	return &thinLog{log, &c.modules}, nil
}

// judge opens a clone and holds it against the ledger, and has its task finished: once with the ledger as it was, and
// once as it is where the requests under way arrive after all.
func (c *effectCrashes) judge(t *testing.T, i effectImage) {
	fresh := crash(i.fs, 100, i.point) // as it was, for the second time
	events := c.resume(t, i.fs, i, nil)
	var late []ledgertest.Effect
	for _, w := range writings(events) {
		// One that is there is not late, and one that was shut out comes too late.
		if w.known == unsure && !slices.ContainsFunc(i.effects, func(e ledgertest.Effect) bool {
			return e.Key == w.asked.OperationID && (e.Kind == ledgertest.Post || e.Attempt >= w.attempt)
		}) {
			late = append(late, w.effect(t, len(i.effects)+len(late)+1))
		}
	}
	if len(late) > 0 {
		c.resume(t, fresh, i, late)
	}
}

// resume resumes the task of a clone, where it was not resumed from the same log and ledger before, and gives the
// events that the clone had.
func (c *effectCrashes) resume(t *testing.T, fs vfs.FS, i effectImage, late []ledgertest.Effect) []*Event {
	name := fmt.Sprintf("write %d, %d%% survives", i.point, i.percent)
	log, err := c.open(fs)
	require.NoError(t, err, name)
	defer func() { require.NoError(t, log.Close()) }()
	m := &fakeModel{replies: c.replies}
	h := open(t, log, m, Events{})
	before := theHistory(t, h)
	require.GreaterOrEqual(t, len(before), int(i.told), "%s: an event that was told of is lost", name)
	c.requireOneHistory(t, before)
	requireTrue(t, before, i.effects, false)
	key := [4]int{len(before), i.percent, len(i.effects), len(late)}
	if raced {
		key[1] = 0
	}
	if c.resumed[key] && !*crashAll {
		return before
	}
	c.resumed[key] = true
	if c.resumptions++; len(late) > 0 {
		c.late++
	}
	require.NoError(t, c.ledger.Restore(append(slices.Clone(i.effects), late...)))
	c.finish(t, h, before)
	requirePairs(t, m.asked)
	return before
}

// finish has the task finished, and counts.
func (c *effectCrashes) finish(t *testing.T, h *Host, before []*Event) {
	var r *Result
	var err error
	if len(before) == 0 {
		r, err = h.Run(t.Context(), c.sub)
	} else {
		r, err = h.Resume(t.Context(), before[0].Task)
	}
	require.NoError(t, err)
	events := theHistory(t, h)
	requireTrue(t, events, c.ledger.Effects(), true)
	if count(before, event.TypeCancelRequested) > 0 {
		require.Equal(t, "cancelled", r.Phase)
		require.Empty(t, ledgertest.Duplicates(c.ledger.Effects()))
		c.cancelled++
	} else {
		require.Equal(t, "succeeded", r.Phase)
		requireMade(t, c.ledger.Effects(), c.amounts...)
	}
	report, err := h.Check(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, report.Damage)
}

// requireOneHistory: the events of all clones are the beginning of one history.
func (c *effectCrashes) requireOneHistory(t *testing.T, events []*Event) {
	for n, line := range lines(t, events) {
		if n == len(c.lines) {
			c.lines = append(c.lines, line)
		}
		require.Equal(t, c.lines[n], line, "event %d is not what it was", n+1)
	}
}
