package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// encounter is a moment of a request to the ledger.
type encounter int

const (
	requestCame    encounter = iota // nothing has happened
	replyIsToLeave                  // it has happened, and the client has no byte of the reply
)

// gate stands before a ledger that knows no idempotency keys, and passes requests on to it, whoever asked for them and
// may be dead by then. At encounters that it is armed for it does something.
type gate struct {
	url, ledger string

	mu      sync.Mutex
	idle    *sync.Cond
	passing int
	armed   []*trap
}

// trap is something to be done at an encounter.
type trap struct {
	at   encounter
	left int
	do   func()
}

func newGate(t *testing.T, ledger string) *gate {
	g := &gate{ledger: ledger}
	g.idle = sync.NewCond(&g.mu)
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

// ServeHTTP passes a request on, also where who asked is gone meanwhile.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // it was killed while it sent
	}
	g.enter()
	defer g.leave()
	g.meet(requestCame)
	on, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, g.ledger+r.URL.String(), bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	on.Header = r.Header
	resp, err := http.DefaultTransport.RoundTrip(on)
	if err != nil {
		panic(http.ErrAbortHandler) // as the ledger did
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	g.meet(replyIsToLeave)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer)
}

func (g *gate) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passing++
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passing--
	g.idle.Broadcast()
}

// awaitIdle waits until no request is under way: what is to arrive has arrived.
func (g *gate) awaitIdle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.passing > 0 {
		g.idle.Wait()
	}
}

// arm has something done at the n-th encounter of a kind from now on.
func (g *gate) arm(at encounter, n int, do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed = append(g.armed, &trap{at, n, do})
}

func (g *gate) disarm() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed = nil
}

func (g *gate) meet(at encounter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, trap := range g.armed {
		if trap.at == at {
			if trap.left--; trap.left == 0 {
				trap.do()
			}
		}
	}
}

// TestGate: a request is passed on also where who asked is gone, who waits until all is still waits for it, and traps
// spring once.
func TestGate(t *testing.T) {
	arrived, pass, passed := make(chan struct{}), make(chan struct{}), false
	ledger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-pass
		passed = true
	}))
	defer ledger.Close()
	g := newGate(t, ledger.URL)
	sprung := 0
	g.arm(requestCame, 1, func() { sprung++ })
	ctx, cancel := context.WithCancel(t.Context())
	lost := make(chan error, 1)
	go func() {
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, g.url, http.NoBody)
		_, err := http.DefaultClient.Do(r)
		lost <- err
	}()
	<-arrived
	cancel() // who asked is gone
	require.Error(t, <-lost)
	close(pass)
	g.awaitIdle()
	require.True(t, passed)
	require.Equal(t, 1, sprung)
}
