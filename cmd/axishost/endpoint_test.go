package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// fakeEndpoint is a model endpoint that behaves as its address says: URL/BEHAVIOUR/NAME/v1, where each script
// has a NAME of its own.
type fakeEndpoint struct {
	url string

	mu      sync.Mutex
	count   map[string]int
	arrived map[string]chan struct{} // closed when the first request came
}

func newFakeEndpoint(t *testing.T) *fakeEndpoint {
	e := &fakeEndpoint{count: map[string]int{}, arrived: map[string]chan struct{}{}}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	e.url = server.URL
	return e
}

// told is where it is told that a request for name came.
func (e *fakeEndpoint) told(name string) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.arrived[name] == nil {
		e.arrived[name] = make(chan struct{})
	}
	return e.arrived[name]
}

// requested waits until a request came: requested NAME.
func (e *fakeEndpoint) requested(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: requested NAME")
	}
	select {
	case <-e.told(args[0]):
	case <-time.After(time.Minute):
		ts.Fatalf("no request for %s within a minute", args[0])
	}
}

// modelHeader keeps the model that was asked, which answers under its own name.
const modelHeader = "X-Model"

// foul holds what must not reach a terminal.
const foul = "\x1b]0;owned\x07\x1b[31mred\nfake    line\u202e\u009b2J"

func (e *fakeEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if len(path) < 2 {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body) // the server notices a client that goes away only behind it
	var asked struct{ Model string }
	_ = json.Unmarshal(body, &asked)
	w.Header().Set(modelHeader, asked.Model)
	behaviour, name := path[0], path[1]
	arrived := e.told(name)
	e.mu.Lock()
	e.count[name]++
	first := e.count[name] == 1
	e.mu.Unlock()
	if first {
		close(arrived)
	}
	switch behaviour {
	case "answer":
		stream(w, "from the endpoint")
	case "foul":
		stream(w, foul)
	case "foulerror":
		refuse(w, http.StatusBadRequest, "no "+foul)
	case "unauthorized": // quotes the key, as some do
		refuse(w, http.StatusUnauthorized, "no such key: "+r.Header.Get("Authorization"))
	case "nomodel":
		refuse(w, http.StatusNotFound, "no such model")
	case "page":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><body>Welcome</body></html>")
	case "errorpage":
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<html><body>Bad gateway</body></html>")
	case "cut":
		piece(w, map[string]any{"content": "half of an ans"}, nil)
		panic(http.ErrAbortHandler)
	case "busy": // for ever
		w.Header().Set("Retry-After", "7200")
		refuse(w, http.StatusTooManyRequests, "slow down")
	case "busyonce":
		if first {
			w.Header().Set("Retry-After", "0")
			refuse(w, http.StatusTooManyRequests, "slow down")
			return
		}
		stream(w, "after a wait")
	case "slowonce":
		if first {
			piece(w, map[string]any{"content": "well, "}, nil)
			<-r.Context().Done()
			return
		}
		stream(w, "at last")
	}
}

// stream answers with a text, as an endpoint streams it.
func stream(w http.ResponseWriter, text string) {
	piece(w, map[string]any{"role": "assistant", "content": text}, nil)
	piece(w, map[string]any{}, "stop")
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func piece(w http.ResponseWriter, delta map[string]any, finish any) {
	w.Header().Set("Content-Type", "text/event-stream")
	data, _ := json.Marshal(map[string]any{
		"object": "chat.completion.chunk", "model": w.Header().Get(modelHeader),
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
	})
	fmt.Fprintf(w, "data: %s\n\n", data)
	w.(http.Flusher).Flush()
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message}})
}
