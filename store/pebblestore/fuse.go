package pebblestore

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/axishost/axishost/store"
)

// fuse remembers the first failure of disk or engine. Once blown it stays so. The engine's own answer to a
// failed write is to end the process, or to go on in a state that it calls undefined; so it does not get to
// see one (fusefs.go), and what it has to say otherwise ends here.
//
// Damage that a compaction meets is no failure of the log: see compactions.go.
type fuse struct {
	blown chan struct{} // closed by the first failure
	once  sync.Once
	cause error // set before blown is closed

	compactions *compactions
}

func newFuse() *fuse {
	return &fuse{blown: make(chan struct{}), compactions: newCompactions()}
}

// blow records a failure, unless there was one before.
func (f *fuse) blow(cause error) {
	f.once.Do(func() {
		f.cause = oneLine(cause)
		close(f.blown)
	})
	f.compactions.stop(cause)
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
		return fmt.Errorf("%w: %w%s", store.ErrFailed, cause, recovery(cause))
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

// events are what the engine tells of itself without being asked. Damage that a read meets is not among
// them: the read says so.
func (f *fuse) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			if pebble.IsCorruptionError(err) {
				f.compactions.stop(err)
				return
			}
			f.blow(fmt.Errorf("engine in the background: %w", err))
		},
		DataCorruption: func(pebble.DataCorruptionInfo) {}, // else it is fatal to the engine
	}
}

// fail blows the fuse and gives what the call returns.
func (l *Log) fail(doing string, err error) error {
	l.fuse.blow(fmt.Errorf("%s: %w", doing, err))
	return l.fuse.err()
}

// readError gives what a call returns that could not read something of a task; seq is 0 for what is no record.
// Damage concerns what was asked for, and any other failure the whole log: the next read may be wrong as well.
func (l *Log) readError(doing, task string, seq uint64, err error) error {
	if !pebble.IsCorruptionError(err) {
		return l.fail(doing, err)
	}
	return &store.CorruptError{Task: task, Seq: seq, Detail: damage(err)}
}

// damage words what the engine found, with the file when the engine names it.
func damage(err error) string {
	info := pebble.ExtractDataCorruptionInfo(err)
	if info != nil {
		err = info.Details
	}
	text := strings.TrimSuffix(oneLine(err).Error(), ": "+pebble.ErrCorruption.Error())
	if before, _, ok := strings.Cut(text, " is damaged: "); ok { // by tableFile
		return text[max(0, strings.LastIndex(before, "file ")):]
	}
	if info != nil {
		if strings.Contains(text, "bad magic number") { // followed by its bytes
			text = "its end is not that of a table"
		}
		return fmt.Sprintf("file %s is damaged: %s", path.Base(info.Path), text)
	}
	return text
}
