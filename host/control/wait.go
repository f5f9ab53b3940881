package control

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// wait is a wait for other processes that have the store, one after the other. The patience is for each of
// them: it begins anew when there is another socket, so that one of very many processes gets its turn. The
// whole is bounded all the same.
type wait struct {
	path           string // of the socket
	patience       time.Duration
	begun, renewed time.Time
	seen           os.FileInfo // the socket; nil before there was one
	pause          time.Duration
}

// waitFactor is how many times the patience a wait can last.
const waitFactor = 30

func (l *Log) newWait() *wait {
	now := time.Now()
	w := &wait{path: filepath.Join(l.opts.Dir, socketName), patience: l.opts.Patience, begun: now, renewed: now, pause: time.Millisecond}
	w.look()
	return w
}

// look says whether there is another socket than before.
func (w *wait) look() bool {
	now, err := os.Lstat(w.path)
	if err != nil {
		return false
	}
	before := w.seen
	w.seen = now
	// A file system gives a new file the number of one that is gone.
	return before != nil && (!os.SameFile(before, now) || !before.ModTime().Equal(now.ModTime()))
}

// over says whether the patience is over.
func (w *wait) over() bool {
	if w.look() {
		w.renewed = time.Now()
	}
	return time.Since(w.renewed) > w.patience || time.Since(w.begun) > waitFactor*w.patience
}

// rest lets some time go by, more each time; its error is that of ctx.
func (w *wait) rest(ctx context.Context) error {
	timer := time.NewTimer(w.pause + rand.N(w.pause))
	defer timer.Stop()
	w.pause = min(2*w.pause, 100*time.Millisecond)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
