package wasi

import (
	"bytes"
	"context"
	"math/rand/v2"
)

const (
	// start is the time a guest finds: 2022-01-01T00:00:00Z, in ns. It is the same for every instance, so
	// that what a guest computes does not depend on when it runs.
	start = 1_640_995_200_000_000_000
	// step is how far the clock goes on with each reading, in ns: it never stands still, so that a guest
	// which waits for it does not wait for ever.
	step = 1_000_000
	// keep is how much of what a guest writes is kept: the last part, or, of a Go panic, the first.
	keep = 16 << 10
)

// World is what one instance finds. It is used by one goroutine at a time.
type World struct {
	nanos  int64 // since start
	random rand.ChaCha8
	said   []byte
	dying  bool // its language runtime has begun to explain why it gives up
	marked struct {
		nanos  int64
		random rand.ChaCha8
	}
}

// New makes a world whose random sequence follows from seed.
func New(seed [32]byte) *World { return &World{random: *rand.NewChaCha8(seed)} }

// Mark keeps the world as it is, for Reset, and forgets what was written, as Reset does: the first call after
// it finds what every later one finds.
func (w *World) Mark() {
	w.marked.nanos, w.marked.random = w.nanos, w.random
	w.said, w.dying = w.said[:0], false
}

// Reset puts the world back to its mark, and forgets what was written.
func (w *World) Reset() {
	w.nanos, w.random, w.said, w.dying = w.marked.nanos, w.marked.random, w.said[:0], false
}

// Said is the last part of what the guest wrote to standard output and error: a view until the next call.
func (w *World) Said() []byte { return w.said }

func (w *World) now() int64 {
	w.nanos += step
	return w.nanos
}

// lastWords are what Go's runtime begins its explanation with, in a write of its own.
var lastWords = [][]byte{[]byte("panic: "), []byte("fatal error: ")}

func (w *World) write(b []byte) {
	for _, words := range lastWords {
		if bytes.HasPrefix(b, words) {
			w.said, w.dying = w.said[:0], true
		}
	}
	if w.dying { // the beginning is what matters now: the message stands before the trace
		w.said = append(w.said, b[:min(len(b), keep-len(w.said))]...)
		return
	}
	if len(b) >= keep {
		w.said = append(w.said[:0], b[len(b)-keep:]...)
		return
	}
	if over := len(w.said) + len(b) - keep; over > 0 {
		w.said = append(w.said[:0], w.said[over:]...)
	}
	w.said = append(w.said, b...)
}

type worldKey struct{}

// With gives a context in which the functions of this package act on w.
func With(ctx context.Context, w *World) context.Context {
	return context.WithValue(ctx, worldKey{}, w)
}

func from(ctx context.Context) *World {
	w, _ := ctx.Value(worldKey{}).(*World)
	return w
}
