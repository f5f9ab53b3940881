package pebblestore

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// compactions ends the engine's compactions, once and for all: when one has met damage, or the fuse is
// blown. The engine itself tries a compaction that failed again at once, forever, and then neither Open nor
// Close get anywhere.
type compactions struct {
	stopped chan struct{}
	once    sync.Once
	cause   error // set before stopped is closed
}

func newCompactions() *compactions {
	return &compactions{stopped: make(chan struct{})}
}

// stop lets no further compaction begin.
func (c *compactions) stop(cause error) {
	c.once.Do(func() {
		c.cause = cause
		close(c.stopped)
	})
}

// err gives why there are none any more, or nil.
func (c *compactions) err() error {
	select {
	case <-c.stopped:
		return c.cause
	default:
		return nil
	}
}

// scheduler gives the engine its turns: one compaction at a time, like the engine's own scheduler, and none
// once they are stopped. It has no goroutine.
type scheduler struct {
	compactions *compactions
	db          pebble.DBForCompaction

	mu       sync.Mutex // never held while the engine is called
	idle     *sync.Cond // no call of the engine is under way
	busy     bool       // a compaction runs, or is about to
	missed   bool       // one was refused while another ran: the engine waits to be called
	closed   bool
	granting int // calls of the engine under way
}

// newScheduler makes a scheduler whose turn is taken until Done is called.
func newScheduler(c *compactions) *scheduler {
	s := &scheduler{compactions: c, busy: true}
	s.idle = sync.NewCond(&s.mu)
	return s
}

var (
	_ pebble.CompactionScheduler   = (*scheduler)(nil)
	_ pebble.CompactionGrantHandle = (*scheduler)(nil)
)

// Register implements pebble.CompactionScheduler.
func (s *scheduler) Register(_ int, db pebble.DBForCompaction) { s.db = db }

// Unregister implements pebble.CompactionScheduler: the engine is not called any more once it returns.
func (s *scheduler) Unregister() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for s.granting > 0 {
		s.idle.Wait()
	}
}

// TrySchedule implements pebble.CompactionScheduler.
func (s *scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over():
		return false, nil
	case s.busy:
		s.missed = true
		return false, nil
	}
	s.busy = true
	return true, s
}

// over says that no compaction begins any more. It needs s.mu.
func (s *scheduler) over() bool { return s.closed || s.compactions.err() != nil }

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler: one is allowed, always.
func (s *scheduler) UpdateGetAllowedWithoutPermission() {}

// Started implements pebble.CompactionGrantHandle.
func (s *scheduler) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (s *scheduler) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (s *scheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements pebble.CompactionGrantHandle: the turn goes to a compaction that waits for it.
func (s *scheduler) Done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missed = true
	for s.missed && !s.over() {
		s.missed = false
		if s.grant() {
			return // the turn ends with that compaction
		}
	}
	s.busy = false
}

// grant offers the turn to the engine and says whether it took it. It needs s.mu, and gives it up meanwhile.
func (s *scheduler) grant() bool {
	s.granting++
	s.mu.Unlock()
	waiting, _ := s.db.GetWaitingCompaction()
	taken := waiting && s.db.Schedule(s)
	s.mu.Lock()
	if s.granting--; s.granting == 0 {
		s.idle.Broadcast()
	}
	return taken
}
