package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keyed is a write that net/http would like to repeat.
var keyed = Request{
	Method: "POST", URL: "http://example.com/", Body: []byte("x"), Header: map[string]string{"Idempotency-Key": "k", "X-Idempotency-Key": "k"},
}

// readRequest reads one request from a connection.
func readRequest(conn net.Conn) {
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err == nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
}

// What the other side saw decides what Sent must be.
func TestSentIsTrueOnceBytesLeft(t *testing.T) {
	for name, test := range map[string]struct {
		handle func(net.Conn)
		phase  Phase
		status int
	}{
		"closed after the request":   {readRequest, PhaseAnswer, 0},
		"closed after one byte":      {func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }, PhaseAnswer, 0},
		"reset after the request":    {func(c net.Conn) { readRequest(c); _ = c.(*net.TCPConn).SetLinger(0) }, PhaseAnswer, 0},
		"garbage for an answer":      {func(c net.Conn) { readRequest(c); _, _ = c.Write([]byte("hello\r\n\r\n")) }, PhaseAnswer, 0},
		"closed inside the header":   {func(c net.Conn) { readRequest(c); _, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nA: ")) }, PhaseAnswer, 0},
		"closed inside the body":     {answer("HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nab"), PhaseBody, 201},
		"closed inside a chunk":      {answer("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"), PhaseBody, 201},
		"closed before the last one": {answer("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"), PhaseBody, 201},
		"another protocol": {
			answer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), PhaseAnswer, 101,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int64
			w := raw(t, func(c net.Conn) { connections.Add(1); test.handle(c) })
			_, err := w.client(t, Options{}, "example.com").Do(within(t), keyed)
			transport := requireTransport(t, err)
			assert.True(t, transport.Sent)
			assert.Equal(t, test.phase, transport.Phase)
			assert.Equal(t, test.status, transport.Status)
			assert.EqualValues(t, 1, connections.Load(), "it was sent again")
			assert.Len(t, w.dials(), 1)
		})
	}
}

func answer(text string) func(net.Conn) {
	return func(c net.Conn) {
		readRequest(c)
		_, _ = c.Write([]byte(text))
	}
}

func TestSentIsFalseWhereNothingLeft(t *testing.T) {
	silent := raw(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	closing := raw(t, func(net.Conn) {})
	garbage := raw(t, func(c net.Conn) { _, _ = c.Write([]byte("220 smtp.example.com ready\r\n")); readRequest(c) })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())

	for name, test := range map[string]struct {
		world  *world
		scheme string
		host   string
		phase  Phase
	}{
		"no such name":        {silent, "http", "missing.example", PhaseResolve},
		"a name without any":  {silent, "http", "empty.example", PhaseResolve},
		"connection refused":  {newWorld(gone.Addr().String()), "http", "example.com", PhaseConnect},
		"closed before TLS":   {closing, "https", "example.com", PhaseTLS},
		"something else, TLS": {garbage, "https", "example.com", PhaseTLS},
	} {
		t.Run(name, func(t *testing.T) {
			test.world.answers["empty.example"] = [][]string{{}}
			r := keyed
			r.URL = test.scheme + "://" + test.host + "/"
			_, err := test.world.client(t, Options{}, test.host).Do(within(t), r)
			transport := requireTransport(t, err)
			assert.False(t, transport.Sent)
			assert.Equal(t, test.phase, transport.Phase)
			assert.Contains(t, err.Error(), "nothing was sent")
		})
	}
}

// The context ends at each phase, by the hand of whoever sees that the phase is reached.
func TestCancelAtEachPhase(t *testing.T) {
	errStop := errors.New("stop")
	type stop = func(error)
	waiting := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, test := range []struct {
		phase Phase
		sent  bool
		make  func(t *testing.T, stop stop) (w *world, o Options, scheme string)
	}{
		{PhaseResolve, false, func(t *testing.T, stop stop) (*world, Options, string) {
			return nil, Options{Resolver: lookup(func(ctx context.Context) ([]netip.Addr, error) { stop(errStop); return nil, waiting(ctx) })}, "http"
		}},
		{PhaseConnect, false, func(t *testing.T, stop stop) (*world, Options, string) {
			w := newWorld("")
			return w, Options{Resolver: w, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { stop(errStop); return nil, waiting(ctx) }}, "http"
		}},
		{PhaseTLS, false, func(t *testing.T, stop stop) (*world, Options, string) {
			w := raw(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); stop(errStop); _, _ = io.Copy(io.Discard, c) })
			return w, Options{Resolver: w, Dial: w.dial}, "https"
		}},
		{PhaseAnswer, true, func(t *testing.T, stop stop) (*world, Options, string) {
			w := raw(t, func(c net.Conn) { readRequest(c); stop(errStop); _, _ = io.Copy(io.Discard, c) })
			return w, Options{Resolver: w, Dial: w.dial}, "http"
		}},
		// Connected, and ended before the request was handed over.
		{PhaseAnswer, false, func(t *testing.T, stop stop) (*world, Options, string) {
			w := raw(t, func(c net.Conn) {
				n, _ := io.Copy(io.Discard, c)
				assert.Zero(t, n, "bytes of a request that was not sent")
			})
			return w, Options{Resolver: w, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := w.dial(ctx, network, address)
				stop(errStop)
				return conn, err
			}}, "http"
		}},
	} {
		t.Run(string(test.phase), func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(within(t))
			defer cancel(nil)
			_, o, scheme := test.make(t, cancel)
			r := keyed
			r.URL = scheme + "://example.com/"
			_, err := newClient(t, o, "example.com").Do(ctx, r)
			transport := requireTransport(t, err)
			require.ErrorIs(t, err, errStop)
			assert.Equal(t, test.sent, transport.Sent)
			assert.Equal(t, test.phase, transport.Phase)
		})
	}
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	w := raw(t, func(net.Conn) { assert.Fail(t, "a connection") })
	_, err := w.client(t, Options{}, "example.com").Do(ctx, keyed)
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, requireTransport(t, err).Sent)
}

func TestCancelInsideTheBody(t *testing.T) {
	ctx, cancel := context.WithCancel(within(t))
	w := raw(t, func(c net.Conn) {
		answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")(c)
		cancel()
		_, _ = io.Copy(io.Discard, c)
	})
	_, err := w.client(t, Options{}, "example.com").Do(ctx, keyed)
	require.ErrorIs(t, err, context.Canceled)
	assert.True(t, requireTransport(t, err).Sent)
}

type lookup func(ctx context.Context) ([]netip.Addr, error)

func (l lookup) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) { return l(ctx) }

// After a request was given up as unsent, nothing of it may leave any more: net/http writes in a goroutine.
func TestWireSeals(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	defer here.Close()
	go func() { _, _ = io.Copy(io.Discard, there) }()
	w := &wire{Conn: here}
	_, err := w.Write([]byte("handshake"))
	require.NoError(t, err)
	w.arm()
	assert.False(t, w.seal())
	_, err = w.Write([]byte("request"))
	require.ErrorIs(t, err, errSealed)
	assert.False(t, w.seal())

	w = &wire{Conn: here}
	w.arm()
	_, err = w.Write([]byte("request"))
	require.NoError(t, err)
	assert.True(t, w.seal())
	_, err = w.Write([]byte("the rest"))
	require.NoError(t, err, "it is sent in part: the rest changes nothing")

	w = &wire{Conn: here}
	w.arm()
	here.Close()
	_, err = w.Write([]byte("request"))
	require.Error(t, err)
	assert.True(t, w.seal(), "a write that fails may have written")
}

// net/http repeats on another connection what a server of HTTP/2 says that it refused, and even what it calls a
// protocol error, whatever the method where the body is empty. Here it is an error.
func TestNothingIsSentTwiceOverHTTP2(t *testing.T) {
	const refusedStream, protocolError = 7, 1
	for _, code := range []uint32{refusedStream, protocolError} {
		for _, method := range []string{"POST", "DELETE", "GET"} {
			var connections, requests atomic.Int64
			cert, pool := certificate(t)
			w := raw(t, func(c net.Conn) {
				connections.Add(1)
				secure := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
				defer secure.Close()
				resetStreams(secure, code, &requests)
			})
			c := w.client(t, Options{RootCAs: pool.RootCAs}, "example.com")
			_, err := c.Do(within(t), Request{Method: method, URL: "https://example.com/", Header: keyed.Header})
			assert.True(t, requireTransport(t, err).Sent)
			assert.EqualValues(t, 1, requests.Load(), method)
			assert.EqualValues(t, 1, connections.Load(), method)
		}
	}
}

// certificate is one for example.com, and what trusts it.
func certificate(t *testing.T) (tls.Certificate, *tls.Config) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	return server.TLS.Certificates[0], server.Client().Transport.(*http.Transport).TLSClientConfig
}

// resetStreams is a server of HTTP/2 that resets each request.
func resetStreams(c net.Conn, code uint32, requests *atomic.Int64) {
	const headers, rstStream, settings = 1, 3, 4
	frame := func(kind byte, stream uint32, payload []byte) {
		head := binary.BigEndian.AppendUint32([]byte{0, 0, byte(len(payload)), kind, 0}, stream)
		_, _ = c.Write(append(head, payload...))
	}
	if _, err := io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	frame(settings, 0, nil)
	for {
		var head [9]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		size := binary.BigEndian.Uint32(head[:4]) >> 8
		if _, err := io.CopyN(io.Discard, c, int64(size)); err != nil {
			return
		}
		if head[3] == headers {
			requests.Add(1)
			frame(rstStream, binary.BigEndian.Uint32(head[5:]), binary.BigEndian.AppendUint32(nil, code))
		}
	}
}

func TestErrorTexts(t *testing.T) {
	assert.Equal(t, `connecting to example.com: no (nothing was sent)`,
		(&TransportError{Host: "example.com", Phase: PhaseConnect, Cause: errors.New("no")}).Error())
	assert.Equal(t, `reading the body of example.com: no (status 201)`,
		(&TransportError{Host: "example.com", Phase: PhaseBody, Sent: true, Status: 201, Cause: errors.New("no")}).Error())
	assert.Equal(t, `request to "a.example:81" denied: the host is not granted; --allow http=a.example:81 allows it`,
		(&DeniedError{Host: "a.example:81", Reason: "the host is not granted", Allow: "http=a.example:81"}).Error())
	assert.Less(t, len((&DeniedError{Host: strings.Repeat("a", 1<<20)}).Error()), 1000)
}
