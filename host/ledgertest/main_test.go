package ledgertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain is also the processes that tests start: a server, and a client that is killed.
func TestMain(m *testing.M) {
	switch os.Getenv("LEDGERTEST_ROLE") {
	case "server":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			fmt.Println(l.Addr())
			go func() { _, _ = io.Copy(io.Discard, os.Stdin); l.Close() }()
			err = Serve(l, Options{File: os.Getenv("LEDGERTEST_FILE")})
		}
		fmt.Println("end", err)
	case "client":
		r, err := http.NewRequest("POST", os.Getenv("LEDGERTEST_URL")+"/entries", strings.NewReader(rent))
		if err == nil {
			r.Header.Set("Idempotency-Key", "k")
			_, err = http.DefaultClient.Do(r)
		}
		fmt.Println("answered", err)
	default:
		goleak.VerifyTestMain(m)
	}
}

const (
	rent  = `{"account":"a","amount":-700,"text":"rent"}`
	other = `{"account":"a","amount":-701,"text":"rent"}`
)

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// answered is an answer that came whole.
type answered struct {
	status int
	header http.Header
	text   string
	entry  Entry
}

// ask sends a request over a connection of its own; the client must not retry what a fault broke off.
func ask(t *testing.T, base, method, path, key, body string) (answered, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	require.NoError(t, err)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answered{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	a := answered{status: resp.StatusCode, header: resp.Header, text: string(text)}
	_ = json.Unmarshal(text, &a.entry)
	return a, err
}

// must asks for what has to be answered.
func must(t *testing.T, s *Server, method, path, key, body string) answered {
	t.Helper()
	a, err := ask(t, s.URL(), method, path, key, body)
	require.NoError(t, err)
	return a
}
