package fetch

import (
	"errors"
	"net"
	"sync"
)

var errSealed = errors.New("the request was given up")

// wire is the connection under TLS and HTTP. It knows whether a byte could have left since the request was
// handed to it, and once it was asked, none leaves that it did not tell of.
type wire struct {
	net.Conn

	mu     sync.Mutex
	armed  bool // the request was handed over: what is written now may be of it
	sent   bool
	sealed bool // an unsent request was given up: nothing may be written any more
}

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	if w.sealed {
		w.mu.Unlock()
		return 0, errSealed
	}
	// Before the write: a write that fails may have written.
	w.sent = w.sent || w.armed
	w.mu.Unlock()
	return w.Conn.Write(p)
}

// arm says that the request is handed over now.
func (w *wire) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = true
}

// seal says whether anything was written since arm. Where nothing was, nothing will be: net/http writes in a
// goroutine of its own, which may come to its turn after the request was given up.
func (w *wire) seal() (sent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sealed = !w.sent
	return w.sent
}
