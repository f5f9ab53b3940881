package control

import (
	"context"
	"math/rand/v2"
	"os"
	"time"
)

// wait is a wait for other processes that have the store, one after the other. The patience is for each of
// them: it begins anew when files in the store's directory come and go, as they do when a process takes the
// store or lets go of it, so that one of very many processes gets its turn. The whole is bounded all the same.
type wait struct {
	dir            string
	patience       time.Duration
	begun, renewed time.Time
	changed        time.Time // when the directory last did
	pause          time.Duration
}

// waitFactor is how many times the patience a wait can last.
const waitFactor = 15

func (l *Log) newWait() *wait {
	now := time.Now()
	w := &wait{dir: l.opts.Dir, patience: l.opts.Patience, begun: now, renewed: now, pause: time.Millisecond}
	w.look()
	return w
}

// look says whether the directory has changed since it was last looked at.
func (w *wait) look() bool {
	info, err := os.Stat(w.dir)
	if err != nil || info.ModTime().Equal(w.changed) {
		return false
	}
	w.changed = info.ModTime()
	return true
}

// over says whether the patience is over.
func (w *wait) over() bool {
	if w.look() {
		w.renewed = time.Now()
	}
	return time.Since(w.renewed) > w.patience || time.Since(w.begun) > waitFactor*w.patience
}

// rest lets some time go by, more each time; its error is that of ctx. Who has waited for long is one of very
// many, which must not keep the machine from the work of the one whose turn it is.
func (w *wait) rest(ctx context.Context) error {
	timer := time.NewTimer(w.pause + rand.N(w.pause))
	defer timer.Stop()
	w.pause = min(2*w.pause, max(100*time.Millisecond, time.Since(w.begun)/8), time.Second)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
