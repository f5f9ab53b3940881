package ledgertest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// Options has a zero value that works: an honest ledger in memory, without faults.
type Options struct {
	// Raw makes each POST and DELETE an effect, whatever its key.
	Raw bool
	// File keeps the effects; those that it holds already are taken up. One server at a time.
	File   string
	Seed   uint64 // of faults with a probability
	Faults []Fault
	// OnRequest is called for each request to /entries and /fences when its fault is dealt and before its effect; OnEffect when
	// its effect has happened and no byte of the answer was sent. The answer waits until they return, so a test can
	// do there, without sleeping, what has to happen at this very moment. They are called concurrently.
	OnRequest func(method, key string)
	OnEffect  func(Effect)
}

// Server is a ledger that is served. It is safe for concurrent use.
type Server struct {
	options Options
	http    *http.Server
	url     string
	closing chan struct{} // ends waiting
	running sync.WaitGroup
	once    sync.Once
	closed  error

	mu     sync.Mutex
	ledger *ledger
	faults *faults
	file   *os.File
	stats  Stats
}

// New serves a ledger on a free port of this machine, until Close.
func New(o Options) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s, err := newServer(o)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s.url = "http://" + l.Addr().String()
	s.running.Go(func() { _ = s.http.Serve(l) })
	return s, nil
}

// Serve serves a ledger until l is closed, which is its proper end and no error.
func Serve(l net.Listener, o Options) error {
	s, err := newServer(o)
	if err != nil {
		return err
	}
	if err := s.http.Serve(l); !errors.Is(err, net.ErrClosed) {
		return errors.Join(err, s.Close())
	}
	return s.Close()
}

func newServer(o Options) (*Server, error) {
	deal, err := newFaults(o.Seed, o.Faults)
	if err != nil {
		return nil, fmt.Errorf("ledgertest: %w", err)
	}
	s := &Server{options: o, closing: make(chan struct{}), faults: deal, ledger: newLedger(nil)}
	if o.File != "" {
		file, effects, err := openFile(o.File)
		if err != nil {
			return nil, fmt.Errorf("ledgertest: %w", err)
		}
		s.file, s.ledger = file, newLedger(effects)
	}
	// The header's time bounds clients that connect and say nothing; a process may run for days.
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute}
	return s, nil
}

// URL is where the ledger is, without a slash at its end. It is empty for a ledger that Serve serves.
func (s *Server) URL() string { return s.url }

// Close ends the server, cuts off what it is answering, and waits for all of it to end: callbacks too.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.mu.Lock()
		close(s.closing)
		s.mu.Unlock()
		err := s.http.Close()
		s.running.Wait()
		if s.file != nil {
			err = errors.Join(err, s.file.Close())
		}
		s.closed = err
	})
	return s.closed
}

// enter counts a request among those that Close waits for, unless Close began to.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended() {
		return false
	}
	s.running.Add(1)
	return true
}

// ended says whether Close began.
func (s *Server) ended() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// Effects are the effects so far, in their order.
func (s *Server) Effects() []Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ledger.effects)
}

// Restore puts the ledger back to where it had these effects, as Effects gave them: the world as a crash found it. A
// ledger with a file is not put back.
func (s *Server) Restore(effects []Effect) error {
	l := newLedger(nil)
	for _, e := range effects {
		if err := l.fits(e); err != nil {
			return fmt.Errorf("ledgertest: %w", err)
		}
		l.apply(e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		return errors.New("ledgertest: the ledger has a file")
	}
	s.ledger = l
	return nil
}

// Duplicates counts the effects that a key had beyond its first, over all keys.
func (s *Server) Duplicates() int { return sum(s.Stats().Duplicates) }

// Stats are the counts so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats.count(s.ledger.effects)
}

// SetFaults replaces the faults. Requests are counted, and chances drawn, from here anew.
func (s *Server) SetFaults(list ...Fault) error { return s.setFaults(s.options.Seed, list) }

// FaultsLeft is how many of the faults can still be met.
func (s *Server) FaultsLeft() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults.left()
}

func (s *Server) setFaults(seed uint64, list []Fault) error {
	deal, err := newFaults(seed, slices.Clone(list))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = deal
	return nil
}
