package ledgertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxBody bounds a request's body. A test that needs more means another service.
const maxBody = 1 << 20

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /entries", s.entries(s.post))
	mux.HandleFunc("GET /entries", s.entries(s.get))
	mux.HandleFunc("DELETE /entries/{id}", s.entries(s.void))
	mux.HandleFunc("PUT /fences/{key}", s.entries(s.fence))
	mux.HandleFunc("GET /accounts/{account}", s.entries(s.getAccount))
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) { send(w, reply{http.StatusOK, s.Stats()}) })
	mux.HandleFunc("POST /faults", s.postFaults)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			panic(http.ErrAbortHandler)
		}
		defer s.running.Done()
		mux.ServeHTTP(w, r)
	})
}

// reply is an answer: a status and what its JSON is made of.
type reply struct {
	status int
	value  any
}

func refuse(status int, format string, args ...any) reply {
	return reply{status, map[string]string{"error": fmt.Sprintf(format, args...)}}
}

// call is one request to /entries, /accounts or /fences.
type call struct {
	method, id, key string
	account         string
	header          http.Header
	raw             bool
	lookup          bool // GET of a key
	body            []byte
	fault           Fault
}

// entries reads a request, deals it its fault, has it done by do, and answers as the fault wants.
func (s *Server) entries(do func(c *call) reply) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{method: r.Method, id: r.PathValue("id"), key: r.Header.Get("Idempotency-Key"), account: r.PathValue("account"), header: r.Header}
		c.raw = s.options.Raw || r.URL.Query().Get("mode") == "raw"
		switch r.Method {
		case http.MethodGet:
			c.key, c.lookup = r.URL.Query().Get("key"), r.URL.Query().Has("key")
		case http.MethodPut:
			c.key = r.PathValue("key")
		}
		var err error
		if c.body, err = readBody(r); err != nil {
			send(w, refuse(http.StatusBadRequest, "the body: %v", err))
			return
		}
		s.receive(c)
		if s.options.OnRequest != nil {
			s.options.OnRequest(c.method, c.key)
		}
		if !s.before(w, c) {
			return
		}
		s.after(w, r, c, do(c))
	}
}

// receive counts a request and deals its fault.
func (s *Server) receive(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.method == http.MethodPost:
		s.stats.Posts++
	case c.method == http.MethodDelete:
		s.stats.Deletes++
	case c.method == http.MethodPut:
		s.stats.Puts++
	case c.lookup:
		s.stats.Lookups++
	}
	c.fault = s.faults.next(c.method, c.lookup, c.method == http.MethodGet)
}

// before has the troubles that come before the effect. It says whether there will be one.
func (s *Server) before(w http.ResponseWriter, c *call) bool {
	switch f := c.fault; f.Trouble {
	case LoseRequest:
		panic(http.ErrAbortHandler) // closes the connection, and net/http logs nothing
	case DelayBefore:
		s.wait(f.Delay)
	case FailBefore:
		send(w, f.failure())
		return false
	case RateLimit:
		w.Header().Set("Retry-After", f.retryAfter(time.Now()))
		send(w, refuse(http.StatusTooManyRequests, "too many requests"))
		return false
	case Forget:
		send(w, refuse(http.StatusNotFound, "no entry has the key %q", c.key))
		return false
	case Inconclusive:
		send(w, refuse(http.StatusServiceUnavailable, "the ledger does not know yet"))
		return false
	}
	return true
}

// after answers, with the troubles that come after the effect.
func (s *Server) after(w http.ResponseWriter, r *http.Request, c *call, answer reply) {
	switch f := c.fault; f.Trouble {
	case LoseReply:
		panic(http.ErrAbortHandler)
	case DelayAfter:
		s.wait(f.Delay)
	case FailAfter:
		answer = f.failure()
	case Trickle:
		s.trickle(w, r, f.Delay, answer)
		return
	}
	if s.ended() {
		panic(http.ErrAbortHandler) // a delay that Close cut short has no answer
	}
	send(w, answer)
}

func (f Fault) failure() reply {
	status := f.Status
	if status == 0 {
		status = http.StatusInternalServerError
	}
	return refuse(status, "%s", http.StatusText(status))
}

func (f Fault) retryAfter(now time.Time) string {
	if !f.Date {
		return strconv.Itoa(f.RetryAfter)
	}
	return now.Add(time.Duration(f.RetryAfter) * time.Second).UTC().Format(http.TimeFormat)
}

// wait ends with the server at the latest. A client that is gone does not end it: what it asked for still happens.
func (s *Server) wait(d Millis) {
	timer := time.NewTimer(d.Duration())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.closing:
	}
}

func (s *Server) trickle(w http.ResponseWriter, r *http.Request, pause Millis, answer reply) {
	text := encode(w, answer)
	w.WriteHeader(answer.status)
	for i := range text {
		if r.Context().Err() != nil || s.ended() {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(text[i : i+1])
		_ = http.NewResponseController(w).Flush()
		s.wait(pause)
	}
}

func send(w http.ResponseWriter, answer reply) {
	text := encode(w, answer)
	w.WriteHeader(answer.status)
	_, _ = w.Write(text)
}

// encode writes the header of a JSON answer but for its status, and returns its body.
func encode(w http.ResponseWriter, answer reply) []byte {
	text, err := json.Marshal(answer.value)
	if err != nil {
		panic(err) // all values are this package's own
	}
	text = append(text, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	if a, ok := answer.value.(Account); ok {
		w.Header().Set("ETag", strconv.Quote(strconv.Itoa(a.Version)))
	}
	return text
}

func (s *Server) postFaults(w http.ResponseWriter, r *http.Request) {
	var set struct {
		Seed   uint64  `json:"seed"`
		Faults []Fault `json:"faults"`
	}
	body, err := readBody(r)
	if err == nil {
		err = decode(body, &set)
	}
	if err == nil {
		err = s.setFaults(set.Seed, set.Faults)
	}
	if err != nil {
		send(w, refuse(http.StatusBadRequest, "%v", err))
		return
	}
	send(w, reply{http.StatusOK, set})
}

// readBody reads a body within the bound. http.MaxBytesReader would let the connection linger for half a second.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if len(body) > maxBody {
		return nil, fmt.Errorf("it has more than %d bytes", maxBody)
	}
	return body, err
}

// decode reads one JSON value, and nothing that nobody knows.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}
