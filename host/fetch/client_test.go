package fetch

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOptionsReportEveryProblem(t *testing.T) {
	_, err := New([]Grant{{Host: "127.1"}, {Host: "*"}}, Options{MaxResponse: -1, Timeout: -1, UserAgent: "a\nb"})
	for _, want := range []string{"127.1", "every host", "-1 bytes", "time is negative", "user agent"} {
		assert.ErrorContains(t, err, want)
	}
	_, err = New(nil, Options{})
	assert.NoError(t, err)
}

// TestPlainServer goes through the system's resolver and dialer: an address is its own permission.
func TestPlainServer(t *testing.T) {
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		assert.Equal(t, http.Header{
			"User-Agent": {"axishost"}, "Content-Type": {"text/plain"}, "Connection": {"close"}, "Content-Length": {"5"},
		}, r.Header)
		w.Header().Add("X-Twice", "1")
		w.Header().Add("X-Twice", "2")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Host, r.URL, sent)
	})
	c := newClient(t, Options{}, w.listener)
	url := "http://" + w.listener + "/a?b=c#d"
	resp, err := c.Do(within(t), Request{Method: "POST", URL: url, Header: map[string]string{"content-type": "text/plain"}, Body: []byte("hello")})
	require.NoError(t, err)
	assert.Equal(t, http.StatusTeapot, resp.Status)
	assert.Equal(t, []string{"1", "2"}, resp.Header["X-Twice"])
	assert.Equal(t, "POST "+w.listener+" /a?b=c hello", string(resp.Body))
	assert.Equal(t, strings.TrimSuffix(url, "#d"), resp.URL)
}

func TestTLS(t *testing.T) {
	for _, two := range []bool{false, true} {
		w, pool := serveTLS(t, two, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto, " ", r.Host) })
		c := w.client(t, Options{RootCAs: pool}, "example.com", "*.example.org")
		resp, err := get(t, c, "https://example.com/")
		require.NoError(t, err)
		want := "HTTP/1.1 example.com"
		if two {
			want = "HTTP/2.0 example.com"
		}
		assert.Equal(t, want, string(resp.Body))

		// The certificate is not for this name, and the system does not know who signed it.
		w.answers["a.example.org"] = [][]string{{somewhere}}
		_, err = get(t, c, "https://a.example.org/")
		assert.False(t, requireTransport(t, err).Sent)
		assert.Equal(t, PhaseTLS, requireTransport(t, err).Phase)
		_, err = get(t, w.client(t, Options{}, "example.com"), "https://example.com/")
		assert.False(t, requireTransport(t, err).Sent)
		assert.ErrorContains(t, err, "certificate")
	}
}

// Methods without a body and with an empty one, over both versions.
func TestMethods(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %q %d %v", r.Method, sent, r.ContentLength, r.TransferEncoding)
	}
	for _, two := range []bool{false, true} {
		w, pool := serveTLS(t, two, echo)
		c := w.client(t, Options{RootCAs: pool}, "example.com")
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "QUERY", "HEAD"} {
			for _, sent := range []string{"", "body"} {
				resp, err := c.Do(within(t), Request{Method: method, URL: "https://example.com/", Body: []byte(sent)})
				require.NoError(t, err, method)
				want := fmt.Sprintf("%s %q %d []", method, sent, len(sent))
				if method == "HEAD" {
					want = ""
				}
				assert.Equal(t, want, string(resp.Body))
			}
		}
	}
}

func TestRequestsRefused(t *testing.T) {
	w := serve(t, unasked(t))
	c := w.client(t, Options{}, "example.com")
	for _, method := range []string{"get", "CONNECT", "TRACE", "PRI", "GET /", "G\r\n", strings.Repeat("A", 21)} {
		_, err := c.Do(within(t), Request{Method: method, URL: "http://example.com/"})
		var request *RequestError
		assert.ErrorAs(t, err, &request, method)
	}
	_, err := c.Do(within(t), Request{URL: "http://example.com/", Timeout: -1})
	assert.ErrorContains(t, err, "timeout")

	for _, h := range []map[string]string{
		{"Host": "internal"}, {"host": "internal"}, {"Connection": "upgrade"}, {"connection": "x"}, {"Keep-Alive": "x"},
		{"Transfer-Encoding": "chunked"}, {"Content-Length": "0"}, {"TE": "trailers"}, {"Trailer": "x"}, {"Upgrade": "h2c"},
		{"HTTP2-Settings": "x"}, {"Expect": "100-continue"}, {"Proxy-Authorization": "x"}, {"proxy-connection": "x"},
		{":authority": "x"}, {"": "x"}, {"a b": "x"}, {"a:": "x"}, {"a\r\nb": "x"}, {"ä": "x"},
		{"X": "a\r\nHost: internal"}, {"X": "a\nb"}, {"X": "a\rb"}, {"X": "a\x00b"}, {"X": "a\x7f"},
		{"X-Twice": "1", "x-twice": "2"}, {"X": strings.Repeat("a", maxHeader)},
	} {
		_, err := c.Do(within(t), Request{URL: "http://example.com/", Header: h})
		var request *RequestError
		if assert.ErrorAs(t, err, &request, "%.100q", h) {
			assert.NotContains(t, err.Error(), "internal")
		}
	}
	assert.Empty(t, w.dials())
}

func TestErrorsShowNoSecrets(t *testing.T) {
	w := raw(t, func(net.Conn) {})
	c := w.client(t, Options{}, "example.com")
	for _, url := range []string{
		"http://example.com/sesame?key=sesame", "http://other.example/sesame?key=sesame", "http://me:sesame@example.com/",
		"http://exa mple.com/sesame", "ftp://example.com/sesame", "http://example.com:x/sesame", "http://[::1/sesame",
	} {
		_, err := c.Do(within(t), Request{URL: url, Header: map[string]string{"Authorization": "sesame"}})
		require.Error(t, err, url)
		assert.NotContains(t, err.Error(), "sesame")
	}
}

func TestNoProxyFromTheEnvironment(t *testing.T) {
	proxy := raw(t, func(net.Conn) { assert.Fail(t, "the proxy was asked") })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://"+proxy.listener)
	}
	w := serve(t, body("ok"))
	_, err := get(t, w.client(t, Options{}, "example.com"), "http://example.com/")
	require.NoError(t, err)
	assert.Equal(t, []string{somewhere + ":80"}, w.dials())
}

func TestNoCookies(t *testing.T) {
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Empty(t, r.Header["Cookie"])
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
		}
	})
	c := w.client(t, Options{}, "example.com")
	for range 2 {
		resp, err := get(t, c, "http://example.com/")
		require.NoError(t, err)
		assert.Equal(t, []string{"a=b"}, resp.Header["Set-Cookie"])
	}
}

// A bomb stays packed.
func TestNoDecompression(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Header.Get("Accept-Encoding"))
		mu.Unlock()
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(make([]byte, 8<<20))
		_ = z.Close()
	})
	c := w.client(t, Options{MaxResponse: 64 << 10}, "example.com")
	for _, h := range []map[string]string{nil, {"Accept-Encoding": "gzip"}} {
		resp, err := c.Do(within(t), Request{URL: "http://example.com/", Header: h})
		require.NoError(t, err)
		assert.Less(t, len(resp.Body), 64<<10)
		assert.Equal(t, []string{"gzip"}, resp.Header["Content-Encoding"])
	}
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, []string{"", "gzip"}, asked)
}

// The second address is tried where the first refuses, and only addresses that were checked are.
func TestNextAddress(t *testing.T) {
	w := serve(t, body("ok"))
	w.answers["example.com"] = [][]string{{"9.9.9.9", "10.0.0.1", somewhere}}
	var tried []string
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		tried = append(tried, address)
		if address == "9.9.9.9:80" {
			return nil, assert.AnError
		}
		return w.dial(ctx, network, address)
	}
	_, err := get(t, newClient(t, Options{Resolver: w, Dial: dial}, "example.com"), "http://example.com/")
	require.NoError(t, err)
	assert.Equal(t, []string{"9.9.9.9:80", somewhere + ":80"}, tried)

	tried = nil
	w.answers["example.com"] = [][]string{strings.Split(strings.Repeat("9.9.9.9 ", 20)+"9.9.9.9", " ")}
	_, err = get(t, newClient(t, Options{Resolver: w, Dial: dial}, "example.com"), "http://example.com/")
	require.ErrorIs(t, err, assert.AnError)
	assert.Len(t, tried, maxAddresses)
	assert.False(t, requireTransport(t, err).Sent)
}

func TestTimeouts(t *testing.T) {
	c := newClient(t, Options{})
	assert.Equal(t, DefaultTimeout, c.limit(0))
	assert.Equal(t, time.Hour, c.limit(time.Hour))
	c = newClient(t, Options{Timeout: time.Second, MaxTimeout: time.Minute})
	assert.Equal(t, time.Second, c.limit(0))
	assert.Equal(t, time.Minute, c.limit(time.Hour))
}

func TestParallelUse(t *testing.T) {
	var requests atomic.Int64
	count := func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path == "/from" {
			http.Redirect(w, r, "/to", http.StatusFound)
			return
		}
		fmt.Fprint(w, r.URL.Path)
	}
	one, two := serve(t, count), newWorld("")
	secure, pool := serveTLS(t, true, count)
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasSuffix(address, ":443") {
			return secure.dial(ctx, network, address)
		}
		return one.dial(ctx, network, address)
	}
	c := newClient(t, Options{Resolver: two, Dial: dial, RootCAs: pool}, "example.com")
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			scheme := []string{"http", "https"}[i%2]
			for range 10 {
				resp, err := c.Do(within(t), Request{URL: scheme + "://example.com/from"})
				if assert.NoError(t, err) {
					assert.Equal(t, "/to", string(resp.Body))
				}
				_, err = c.Do(within(t), Request{URL: "https://other.example/"})
				assert.Error(t, err)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 16*10*2, requests.Load())
}
