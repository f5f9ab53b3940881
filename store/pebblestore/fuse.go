package pebblestore

import (
	"fmt"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/axishost/axishost/store"
)

// fuse remembers the first failure of disk or engine. Once blown it stays so. The engine's own answer to a
// failed write is to end the process, or to go on in a state that it calls undefined; so it does not get to
// see one (fusefs.go), and what it has to say otherwise ends here.
type fuse struct {
	blown chan struct{} // closed by the first failure
	once  sync.Once
	cause error // set before blown is closed
}

func newFuse() *fuse {
	return &fuse{blown: make(chan struct{})}
}

// blow records a failure, unless there was one before.
func (f *fuse) blow(cause error) {
	f.once.Do(func() {
		f.cause = oneLine(cause)
		close(f.blown)
	})
}

// isBlown says whether anything has failed.
func (f *fuse) isBlown() bool {
	select {
	case <-f.blown:
		return true
	default:
		return false
	}
}

// first gives the first failure, or nil.
func (f *fuse) first() error {
	if !f.isBlown() {
		return nil
	}
	return f.cause
}

// err gives the first failure as ErrFailed, or nil.
func (f *fuse) err() error {
	if cause := f.first(); cause != nil {
		return fmt.Errorf("%w: %w", store.ErrFailed, cause)
	}
	return nil
}

// engineLog is the engine's logger. What the engine calls fatal blows the fuse; the rest is not kept, since
// an error that matters comes back from a call or as an event.
type engineLog struct{ fuse *fuse }

func (engineLog) Infof(string, ...any)  {}
func (engineLog) Errorf(string, ...any) {}

// Fatalf returns, though the engine does not expect it to: nothing that happens then is written or shown.
func (l engineLog) Fatalf(format string, args ...any) {
	first, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	l.fuse.blow(fmt.Errorf("engine: %s", first))
}

// events are what the engine tells of itself without being asked.
func (f *fuse) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { f.blow(fmt.Errorf("engine in the background: %w", err)) },
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			f.blow(fmt.Errorf("engine: %s is corrupt: %w", info.Path, info.Details))
		},
	}
}
