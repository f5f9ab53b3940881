package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/axishost/axishost/store"
)

// server is the store in this process, served to others.
type server struct {
	store.Log
	runners
	version string
	socket  *socket
	http    *http.Server
	calls   context.Context // ends when the server closes
	stop    context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	closing bool
	serving sync.WaitGroup // requests under way
}

// serve serves inner on dir's socket. Where no socket can be made, others find the store in use, and this
// process works as well as without.
func serve(dir string, inner store.Log, version string) *server {
	s := &server{Log: inner, runners: runners{tasks: map[string]int{}}, version: version, done: make(chan struct{})}
	s.calls, s.stop = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+helloPath, s.hello)
	mux.HandleFunc("POST "+callPath, s.during(s.call))
	mux.HandleFunc("POST "+holdPath, s.during(s.holdTask))
	s.http = &http.Server{
		Handler:     mux,
		BaseContext: func(net.Listener) context.Context { return s.calls },
		// A client sends its request at once; one that does not is broken, and must not keep a connection.
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // what matters reaches the other process as its error
	}
	var err error
	if s.socket, err = listen(dir); err != nil {
		close(s.done)
		return s
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(s.socket)
	}()
	return s
}

// Close stops serving, lets the calls under way end, and closes the store.
func (s *server) Close() error {
	if s.socket != nil {
		s.socket.remove() // who comes now waits for the store's lock
	}
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.stop() // watches and holds end
	served := make(chan struct{})
	go func() {
		s.serving.Wait()
		close(served)
	}()
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-served:
	case <-grace.C: // a process was stopped in the middle of what it sends or reads
	}
	_ = s.http.Close() // which ends that
	<-served
	<-s.done
	return s.Log.Close()
}

// closeGrace is how long others have to take the answers that are under way, once the store is to be closed.
// They take moments; one that does not read keeps nobody longer.
const closeGrace = 2 * time.Second

// bodyPatience is how long a request may take to arrive: the largest takes a second, over memory.
const bodyPatience = 30 * time.Second

// during makes a handler one that Close waits for. What comes after Close is told that the store is closed.
func (s *server) during(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if s.closing {
			s.mu.Unlock()
			send(w, &answer{Failure: failed(store.ErrClosed)})
			return
		}
		s.serving.Add(1)
		s.mu.Unlock()
		defer s.serving.Done()
		handle(w, r)
	}
}

func (s *server) hello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(hello{Protocol: protocol, Version: s.version, PID: os.Getpid()})
}

// receive reads a request; nil after it has answered that it is none.
func receive(w http.ResponseWriter, r *http.Request) *request {
	_, dec := encoding()
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(bodyPatience))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = conn.SetReadDeadline(time.Time{}) // what follows may wait as long as it likes
	req := &request{}
	if err == nil {
		err = dec.Unmarshal(body, req)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil
	}
	return req
}

func send(w http.ResponseWriter, a *answer) {
	enc, _ := encoding()
	body, err := enc.Marshal(a)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	// Whole before the handler returns: Close ends connections as soon as all handlers have.
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
	_ = http.NewResponseController(w).Flush()
}

func (s *server) call(w http.ResponseWriter, r *http.Request) {
	req := receive(w, r)
	if req == nil {
		return
	}
	a, err := s.perform(r.Context(), req)
	if err != nil {
		if s.calls.Err() != nil && errors.Is(err, context.Canceled) {
			err = store.ErrClosed
		}
		a = &answer{Failure: failed(err)}
	}
	send(w, a)
}

func (s *server) perform(ctx context.Context, req *request) (*answer, error) {
	a := &answer{}
	var err error
	switch req.Method {
	case methodCommit:
		// From here on the caller's end is not looked at: it shall not be in doubt for that.
		err = s.Commit(context.WithoutCancel(ctx), req.Commit)
	case methodRead:
		a.Records, err = s.Read(ctx, req.Task, req.Seq, req.Limit)
	case methodBlob:
		a.Blob, err = s.Blob(ctx, req.Task, req.Key)
	case methodHead:
		var h store.Head
		h, err = s.Head(ctx, req.Task)
		a.Heads = []store.Head{h}
	case methodList:
		a.Heads, err = s.List(ctx, req.Query)
	case methodWatch:
		a.Last, err = s.Watch(ctx, req.Task, req.Seq)
	case methodDelete:
		err = s.Delete(context.WithoutCancel(ctx), req.Task, req.Seq)
	case methodCompact:
		err = s.Compact(ctx)
	case methodRunning:
		a.Running, err = s.running(ctx)
	default:
		err = errors.New("unknown method " + string(req.Method))
	}
	return a, err
}

// holdTask registers a task for as long as its request lasts: a process that dies lets go of it.
func (s *server) holdTask(w http.ResponseWriter, r *http.Request) {
	req := receive(w, r)
	if req == nil {
		return
	}
	err := s.hold(r.Context(), req.Task, req.PID, func() {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
	})
	var busy *BusyError
	if errors.As(err, &busy) {
		send(w, &answer{Failure: failed(err)})
	}
}

func (s *server) process() int { return os.Getpid() }
