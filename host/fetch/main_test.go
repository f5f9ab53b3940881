package fetch

import (
	"context"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// somewhere is a public address; no test connects to it.
const somewhere = "93.184.216.34"

// resolver answers from a table; each look-up of a name takes its next answer, and the last one stays.
type resolver struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   []string
}

func (r *resolver) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, name)
	answers, ok := r.answers[name]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if len(answers) > 1 {
		r.answers[name] = answers[1:]
	}
	var addrs []netip.Addr
	for _, text := range answers[0] {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

// world is a network: names that resolve to what a test says, and addresses that all lead to one listener.
type world struct {
	*resolver
	listener string // its address

	mu     sync.Mutex
	dialed []string
}

func newWorld(listener string) *world {
	return &world{
		resolver: &resolver{answers: map[string][][]string{"example.com": {{somewhere}}, "other.example": {{somewhere}}}},
		listener: listener,
	}
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, address)
	w.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, w.listener)
}

func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dialed
}

func (w *world) client(t *testing.T, o Options, grants ...string) *Client {
	t.Helper()
	o.Resolver, o.Dial = w, w.dial
	return newClient(t, o, grants...)
}

func newClient(t *testing.T, o Options, grants ...string) *Client {
	t.Helper()
	var all []Grant
	for _, text := range grants {
		g, err := ParseGrant(text)
		require.NoError(t, err)
		all = append(all, g)
	}
	c, err := New(all, o)
	require.NoError(t, err)
	return c
}

// serve is a world whose listener is a server of HTTP/1.1 without TLS.
func serve(t *testing.T, handler http.HandlerFunc) *world {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return newWorld(server.Listener.Addr().String())
}

// serveTLS is one with TLS, whose certificate is for example.com.
func serveTLS(t *testing.T, http2 bool, handler http.HandlerFunc) (*world, *x509.CertPool) {
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return newWorld(server.Listener.Addr().String()), pool
}

// raw is a world whose listener gives each connection to handle and counts them.
func raw(t *testing.T, handle func(net.Conn)) *world {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return newWorld(l.Addr().String())
}

// within keeps a test that hangs from taking the whole run along.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func get(t *testing.T, c *Client, url string) (*Response, error) {
	t.Helper()
	return c.Do(within(t), Request{URL: url})
}

func requireDenied(t *testing.T, err error) *DeniedError {
	t.Helper()
	var denied *DeniedError
	require.ErrorAs(t, err, &denied)
	return denied
}

func requireTransport(t *testing.T, err error) *TransportError {
	t.Helper()
	var transport *TransportError
	require.ErrorAs(t, err, &transport)
	return transport
}

// body is a handler that answers with a text.
func body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

// unasked is a handler that nobody may reach.
func unasked(t *testing.T) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) { assert.Fail(t, "a request came through", r.URL.String()) }
}
