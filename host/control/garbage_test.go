package control

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
)

// endless writes a text until the other side has had enough.
func endless(w io.Writer, text string) {
	for {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

// TestGarbageOnTheSocket: whatever listens on the socket, a process that can have the store takes it, and one
// that cannot says so in time.
func TestGarbageOnTheSocket(t *testing.T) {
	for name, serve := range map[string]func(c net.Conn){
		"closes at once":   func(net.Conn) {},
		"junk":             func(c net.Conn) { _, _ = io.WriteString(c, "\x00\xff not HTTP\n\n\n") },
		"another's hello":  func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n{}") },
		"an error":         func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 404 Not Found\r\n\r\n{\"protocol\": 9}") },
		"endless junk":     func(c net.Conn) { endless(c, "junk without an end ") },
		"endless headers":  func(c net.Conn) { endless(c, "HTTP/1.1 200 OK\r\nX: y\r\n") },
		"endless body":     func(c net.Conn) { endless(c, "HTTP/1.1 200 OK\r\n\r\n") },
		"endless and void": func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"); endless(c, "      ") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := listen(dir)
			require.NoError(t, err)
			served := make(chan struct{})
			go func() {
				defer close(served)
				for {
					c, err := s.Accept()
					if err != nil {
						return
					}
					go func() { // a request is read, so that the answer arrives
						defer c.Close()
						_, _ = c.Read(make([]byte, 4096))
						serve(c)
					}()
				}
			}()
			held := func() (store.Log, error) { return nil, store.ErrInUse }
			_, err = Open(t.Context(), Options{Dir: dir, Open: held, Patience: 50 * time.Millisecond})
			require.ErrorIs(t, err, store.ErrInUse)
			require.ErrorContains(t, err, "end the axishost that has it, or name another directory")
			require.NotContains(t, err.Error(), "\n")
			require.NoError(t, share(t, dir, memory()).Close())
			require.NoError(t, s.Close())
			<-served
		})
	}
}

// TestAnswersOfNoUse: a process that has the store and says so, and then answers with garbage, is an error that
// names it, for every method and in time.
func TestAnswersOfNoUse(t *testing.T) {
	gone := make(chan struct{})
	const garbled, broken, silent = "answers with what cannot be understood", "breaks off every answer", "does not answer"
	for name, c := range map[string]struct {
		does   string
		answer http.HandlerFunc
	}{
		"junk":   {garbled, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "junk") }},
		"a page": {garbled, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>\n\n</html>", http.StatusTeapot) }},
		"endless": {garbled, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			endless(w, strings.Repeat("junk", 1<<10))
		}},
		"very long": {garbled, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(1<<40))
			endless(w, strings.Repeat("junk", 1<<10))
		}},
		"broken off": {broken, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"silent":     {silent, func(http.ResponseWriter, *http.Request) { <-gone }},
		"silent after its header": {silent, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-gone
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := listen(dir)
			require.NoError(t, err)
			mux := http.NewServeMux()
			mux.HandleFunc("GET "+helloPath, (&server{}).hello)
			mux.HandleFunc("/", c.answer)
			web := &http.Server{Handler: mux}
			go func() { _ = web.Serve(s) }()
			t.Cleanup(func() { _ = web.Close() })
			patience := 250 * time.Millisecond
			if c.does == garbled {
				patience = 10 * time.Second // it does at once
			}
			log, err := Open(t.Context(), Options{Dir: dir, Open: memory(), Patience: patience})
			require.NoError(t, err)
			defer log.Close()
			for method, call := range map[string]func(context.Context) error{
				"list":   func(ctx context.Context) error { _, err := log.List(ctx, store.Query{}); return err },
				"head":   func(ctx context.Context) error { _, err := log.Head(ctx, "t"); return err },
				"commit": func(ctx context.Context) error { return log.Commit(ctx, append1("t", 0, "x")) },
				"hold":   func(ctx context.Context) error { _, err := log.Begin(ctx, "t"); return err },
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				err := call(ctx)
				cancel()
				require.ErrorIs(t, err, store.ErrInUse, method)
				require.EqualError(t, err, fmt.Sprintf("opening the log in %q: store: in use by another process: process %d has it and %s; "+
					"end it (kill -9 %[2]d), or name another directory", dir, os.Getpid(), c.does), method)
			}
		})
	}
	close(gone)
}

// TestPatienceIsForEachProcess: where the store goes from hand to hand, the patience is not over for that.
func TestPatienceIsForEachProcess(t *testing.T) {
	dir, calls := t.TempDir(), 0
	begun := time.Now()
	patience := 50 * time.Millisecond
	log, err := Open(t.Context(), Options{Dir: dir, Patience: patience, Open: func() (store.Log, error) {
		if time.Since(begun) > 5*patience {
			return memstore.New(), nil
		}
		calls++ // another process had it, and left
		fresh := filepath.Join(dir, fmt.Sprint("socket", calls))
		require.NoError(t, os.WriteFile(fresh, nil, 0o600))
		require.NoError(t, os.Rename(fresh, filepath.Join(dir, socketName)))
		return nil, store.ErrInUse
	}})
	require.NoError(t, err, "after %d others", calls)
	require.NoError(t, log.Close())
}

// TestHungDuringALongCall: a process that has the store and hangs is named by calls that may take long, too.
func TestHungDuringALongCall(t *testing.T) {
	for name, call := range map[string]func(log *Log) error{
		"watch": func(log *Log) error {
			_, err := log.Watch(context.Background(), "t", 0)
			return err
		},
		"compact": func(log *Log) error { return log.Compact(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := listen(dir)
			require.NoError(t, err)
			var greeted atomic.Bool
			release := make(chan struct{})
			web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !greeted.Swap(true) { // it says hello, and then nothing any more
					_, _ = io.WriteString(w, `{"protocol": 1, "version": "test", "pid": 12}`)
					return
				}
				<-release
			})}
			go func() { _ = web.Serve(s) }()
			defer web.Close()
			defer close(release)
			log, err := Open(t.Context(), Options{Dir: dir, Open: memory(), Patience: 500 * time.Millisecond})
			require.NoError(t, err)
			err = call(log)
			require.ErrorIs(t, err, store.ErrInUse)
			require.ErrorContains(t, err, "does not answer")
			require.NoError(t, log.Close())
		})
	}
}

// TestCloseIsNotHeldUp: a process that was stopped in the middle of a request does not keep the one that has the
// store from closing it.
func TestCloseIsNotHeldUp(t *testing.T) {
	dir := t.TempDir()
	log := share(t, dir, memory())
	conn, err := net.Dial("unix", filepath.Join(dir, socketName))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /1/call HTTP/1.1\r\nHost: store\r\nContent-Length: 1000\r\n\r\nabc")
	require.NoError(t, err)
	server := log.Own()
	require.NotNil(t, server)
	closed := make(chan error, 1)
	go func() { closed <- log.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		require.Fail(t, "Close is held up")
	}
}
