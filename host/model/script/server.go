package script

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server answers from a script. It is safe for concurrent use.
type Server struct {
	script *Script
	http   *http.Server
	url    string
	stop   context.CancelFunc
	served chan struct{}  // closed when the listener's goroutine ended
	conns  sync.WaitGroup // connections that are not closed

	mu      sync.Mutex
	count   int // requests without an ordinal
	failure error
}

// Serve starts a server for the script on a free port of the loopback address. The caller closes it.
func Serve(s *Script) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve script %s: %w", s.Name, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	server := &Server{
		script: s,
		url:    "http://" + listener.Addr().String() + "/v1",
		stop:   stop,
		served: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", server.complete)
	mux.HandleFunc("GET /v1/models", server.models)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "not_found_error", "no such path here: "+r.Method+" "+r.URL.Path)
	})
	server.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         server.track,
		ErrorLog:          log.New(io.Discard, "", 0), // a client that goes away is no news
	}
	go func() {
		defer close(server.served)
		_ = server.http.Serve(listener) // ends with ErrServerClosed, by Close
	}()
	return server, nil
}

// URL is the base URL for clients. It ends in /v1.
func (s *Server) URL() string { return s.url }

// Failure is the first expectation that was not met, or that the replies ran out; nil if neither happened.
func (s *Server) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// Close cuts the requests being answered off and returns when nothing of the server runs any more.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	<-s.served
	s.conns.Wait() // every connection was counted by the goroutine that has ended
	return err
}

func (s *Server) track(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateClosed:
		s.conns.Done()
	}
}

// next is the ordinal of a request without one.
func (s *Server) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	return s.count
}

func (s *Server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = err
	}
}
