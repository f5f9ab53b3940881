package fetch

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hops answers /N with a redirect to /N-1, and /0 with "end".
func hops(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.URL.Path[1:])
	if n == 0 {
		fmt.Fprint(w, "end")
		return
	}
	http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
}

func TestRedirectsAreFollowed(t *testing.T) {
	w := serve(t, hops)
	c := w.client(t, Options{}, "example.com")
	resp, err := get(t, c, "http://example.com/5")
	require.NoError(t, err)
	assert.Equal(t, "end", string(resp.Body))
	assert.Equal(t, "http://example.com/0", resp.URL)
	assert.Len(t, w.dials(), 6)

	_, err = get(t, c, "http://example.com/6")
	transport := requireTransport(t, err)
	assert.Equal(t, TransportError{Host: "example.com", Phase: PhaseRedirect, Sent: true, Status: 302, Cause: transport.Cause}, *transport)
	assert.ErrorContains(t, err, "more than 5")

	_, err = get(t, w.client(t, Options{MaxRedirects: 1}, "example.com"), "http://example.com/2")
	require.Error(t, err)
	resp, err = get(t, w.client(t, Options{MaxRedirects: -1}, "example.com"), "http://example.com/1")
	require.NoError(t, err)
	assert.Equal(t, http.StatusFound, resp.Status)
	assert.NotEmpty(t, resp.Body)
}

func TestWhatIsFollowed(t *testing.T) {
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Path[1:])
		if status == 0 {
			w.Header().Set("X-Method", r.Method)
			return
		}
		if r.URL.RawQuery == "" {
			w.Header().Set("Location", "/")
		}
		w.WriteHeader(status)
	})
	c := w.client(t, Options{}, "example.com")
	status := func(method string, code int, query, body string) int {
		resp, err := c.Do(within(t), Request{Method: method, URL: fmt.Sprintf("http://example.com/%d%s", code, query), Body: []byte(body)})
		require.NoError(t, err)
		if resp.Status == 200 {
			assert.Equal(t, []string{method}, resp.Header["X-Method"])
		}
		return resp.Status
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		assert.Equal(t, 200, status("GET", code, "", ""))
		assert.Equal(t, 200, status("HEAD", code, "", ""))
		assert.Equal(t, code, status("GET", code, "?nowhere", ""))
		assert.Equal(t, code, status("GET", code, "", "a body"))
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			assert.Equal(t, code, status(method, code, "", ""))
		}
	}
	for _, code := range []int{300, 304, 305, 306} {
		assert.Equal(t, code, status("GET", code, "", ""))
	}
}

// Each hop is checked like the first.
func TestRedirectsAreChecked(t *testing.T) {
	for to, want := range map[string]struct{ reason, allow string }{
		"http://other.example/":    {"not granted", "http=other.example"},
		"//other.example/":         {"not granted", "http=other.example"},
		"http://example.com:8080/": {"port 8080", "http=example.com:8080"},
		"http://127.0.0.1/":        {"not granted", "http=127.0.0.1"},
		"http://127.1/":            {"four decimal", ""},
		"http://169.254.169.254/":  {"not granted", "http=169.254.169.254"},
		"http://inside.example/":   {"10.0.0.1 (private)", "http-private=inside.example"},
		"http://a:b@example.com/":  {"user or password", ""},
		"file:///etc/passwd":       {`"file"`, ""},
		"javascript:alert(1)":      {`"javascript"`, ""},
	} {
		w := serve(t, func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "/start", r.URL.Path)
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		w.answers["inside.example"] = [][]string{{"10.0.0.1"}}
		_, err := get(t, w.client(t, Options{}, "example.com", "inside.example"), "http://example.com/start")
		denied := requireDenied(t, err)
		assert.Contains(t, denied.Reason, want.reason, to)
		assert.Equal(t, want.allow, denied.Allow, to)
		assert.True(t, denied.Redirected)
		assert.Contains(t, err.Error(), "that was redirected")
		assert.Len(t, w.dials(), 1)
	}
}

func TestRedirectToRebound(t *testing.T) {
	w := serve(t, hops)
	w.answers["example.com"] = [][]string{{somewhere}, {"192.168.0.1"}}
	_, err := get(t, w.client(t, Options{}, "example.com"), "http://example.com/1")
	assert.Contains(t, requireDenied(t, err).Reason, "192.168.0.1")
	assert.Len(t, w.dials(), 1)
}

func TestRedirectThatIsMalformed(t *testing.T) {
	for _, to := range []string{"http://[::1", "%zz", "http://example.com/" + strings.Repeat("a", maxURL)} {
		w := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		_, err := get(t, w.client(t, Options{}, "example.com"), "http://example.com/")
		transport := requireTransport(t, err)
		assert.True(t, transport.Sent)
		assert.Equal(t, PhaseRedirect, transport.Phase)
	}
}

func TestRedirectFromHTTPSToHTTP(t *testing.T) {
	w, pool := serveTLS(t, false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://example.com/")
		w.WriteHeader(http.StatusFound)
	})
	_, err := get(t, w.client(t, Options{RootCAs: pool}, "example.com"), "https://example.com/")
	assert.Contains(t, requireDenied(t, err).Reason, "from https to http")
	assert.Len(t, w.dials(), 1)
}

// A header with a credential can have any name: only those that are known to hold none go to another origin, and
// what was dropped does not come back.
func TestRedirectDropsHeaders(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]http.Header{}
	next := map[string]string{
		"example.com/1":      "/2",
		"example.com/2":      "http://other.example/3",
		"other.example/3":    "http://example.com/4",
		"example.com/4":      "http://example.com:81/5",
		"example.com:81/5":   "",
		"example.com/same":   "/same2",
		"example.com/port":   "http://example.com:81/port2",
		"example.com/below":  "http://www.example.com/below2",
		"example.com/same80": "http://EXAMPLE.com:80/same3",
	}
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Connection")
		mu.Lock()
		seen[r.Host+r.URL.Path] = r.Header
		mu.Unlock()
		if to := next[r.Host+r.URL.Path]; to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	})
	w.answers["www.example.com"] = w.answers["example.com"]
	c := w.client(t, Options{UserAgent: "ours"}, "example.com", "example.com:81", "*.example.com", "other.example")
	whole := http.Header{"Authorization": {"s"}, "Cookie": {"s"}, "X-Api-Key": {"s"}, "Accept": {"a"}, "Range": {"r"}, "User-Agent": {"ours"}}
	bare := http.Header{"Accept": {"a"}, "Range": {"r"}, "User-Agent": {"ours"}}
	for _, path := range []string{"1", "same", "port", "below", "same80"} {
		_, err := c.Do(within(t), Request{URL: "http://example.com/" + path, Header: map[string]string{
			"authorization": "s", "cookie": "s", "x-api-key": "s", "accept": "a", "range": "r",
		}})
		require.NoError(t, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for where, want := range map[string]http.Header{
		"example.com/1": whole, "example.com/2": whole, "other.example/3": bare, "example.com/4": bare, "example.com:81/5": bare,
		"example.com/same2": whole, "example.com:81/port2": bare, "www.example.com/below2": bare, "example.com/same3": whole,
	} {
		assert.Equal(t, want, seen[where], where)
	}
}
