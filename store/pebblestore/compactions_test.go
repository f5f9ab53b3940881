package pebblestore

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/require"
)

// queue is a database with compactions that wait, of which the first is accepted.
type queue struct {
	pebble.DBForCompaction
	waiting   int
	accepted  int
	meanwhile func()
}

func (q *queue) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	found := q.waiting > 0
	if q.meanwhile != nil {
		q.meanwhile()
		q.meanwhile = nil
	}
	return found, pebble.WaitingCompaction{}
}

func (q *queue) Schedule(pebble.CompactionGrantHandle) bool {
	q.waiting--
	q.accepted++
	return true
}

func TestScheduler(t *testing.T) {
	c, db := newCompactions(), &queue{}
	s := newScheduler(c)
	s.Register(2, db)
	take := func(want bool) {
		t.Helper()
		got, _ := s.TrySchedule()
		require.Equal(t, want, got)
	}
	take(false) // the engine is not open yet
	s.Done()
	take(true)
	take(false) // one at a time
	db.waiting = 1
	s.Done() // passes the turn on
	require.Equal(t, 1, db.accepted)
	take(false)
	s.Done()
	take(true)

	// One that is refused while the engine says that none waits is asked for again: it would wait forever.
	db.meanwhile = func() {
		take(false)
		db.waiting = 1
	}
	s.Done()
	require.Equal(t, 2, db.accepted)

	db.waiting = 1
	c.stop(errors.New("damage"))
	s.Done()
	require.Equal(t, 2, db.accepted, "stopped")
	take(false)
	s.Unregister()
}

// After the database has closed it is not called any more.
func TestSchedulerClosed(t *testing.T) {
	db := &queue{waiting: 1}
	s := newScheduler(newCompactions())
	s.Register(2, db)
	db.waiting = 0
	s.Done()
	db.waiting = 1
	started, _ := s.TrySchedule()
	require.True(t, started)
	s.Unregister()
	s.Done()
	require.Zero(t, db.accepted)
	started, _ = s.TrySchedule()
	require.False(t, started)
}
