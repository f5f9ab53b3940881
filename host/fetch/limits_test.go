package fetch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBodyIsBounded(t *testing.T) {
	const limit = 1000
	sizes := map[string]int{"/below": limit - 1, "/at": limit, "/above": limit + 1}
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "known" {
			w.Header().Set("Content-Length", fmt.Sprint(sizes[r.URL.Path]))
		} else {
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, strings.Repeat("x", sizes[r.URL.Path]))
	}
	for _, two := range []bool{false, true} {
		w, pool := serveTLS(t, two, handler)
		c := w.client(t, Options{MaxResponse: limit, RootCAs: pool}, "example.com")
		for path, size := range sizes {
			for _, query := range []string{"", "?known"} {
				resp, err := get(t, c, "https://example.com"+path+query)
				if size <= limit {
					require.NoError(t, err)
					assert.Len(t, resp.Body, size)
					continue
				}
				assert.Nil(t, resp)
				var large *TooLargeError
				require.ErrorAs(t, err, &large)
				assert.EqualValues(t, limit, large.Limit)
				assert.Equal(t, http.StatusOK, requireTransport(t, err).Status)
				assert.True(t, requireTransport(t, err).Sent)
			}
		}
		// The length that HEAD tells is of a body that does not come.
		_, err := c.Do(within(t), Request{Method: "HEAD", URL: "https://example.com/above?known"})
		assert.NoError(t, err)
	}
}

// endless writes the same text again and again until the other side has enough of it.
func endless(first, text string) func(net.Conn) {
	return func(c net.Conn) {
		readRequest(c)
		_, err := io.WriteString(c, first)
		for err == nil {
			_, err = io.WriteString(c, text)
		}
	}
}

func TestEndlessAnswers(t *testing.T) {
	for name, handle := range map[string]func(net.Conn){
		"headers":     endless("HTTP/1.1 200 OK\r\n", "X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"),
		"one header":  endless("HTTP/1.1 200 OK\r\nX-Filler: ", strings.Repeat("a", 1000)),
		"status line": endless("HTTP/1.1 200 ", strings.Repeat("a", 1000)),
		"1xx":         endless("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
		"100":         endless("", "HTTP/1.1 100 Continue\r\n\r\n"),
		"body":        endless("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("a", 1000)),
		"chunks":      endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"),
		"extensions":  endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("b", 1000)+"\r\na\r\n"),
		"trailers":    endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-Filler: a\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			w := raw(t, handle)
			_, err := get(t, w.client(t, Options{MaxResponse: 64 << 10}, "example.com"), "http://example.com/")
			assert.True(t, requireTransport(t, err).Sent)
			assert.NotErrorIs(t, err, context.DeadlineExceeded, "a bound must end it, not the time")
		})
	}
}

// A server that sends a little every ten seconds, at each phase: the whole time is what is bounded. The clock is the bubble's.
func TestTricklesAreBounded(t *testing.T) {
	for name, test := range map[string]struct {
		first, text string
		phase       Phase
		status      int
	}{
		"header": {"HTTP/1.1 200 OK\r\nX: ", "a", PhaseAnswer, 0},
		"body":   {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "a", PhaseBody, 200},
		"chunks": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", PhaseBody, 200},
		"1xx":    {"", "HTTP/1.1 102 Processing\r\n\r\n", PhaseAnswer, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running sync.WaitGroup
				defer running.Wait()
				trickle := func(c net.Conn) {
					defer c.Close()
					r, err := http.ReadRequest(bufio.NewReader(c))
					if err == nil {
						_, err = io.Copy(io.Discard, r.Body)
					}
					if err == nil {
						_, err = io.WriteString(c, test.first)
					}
					for err == nil {
						<-time.After(10 * time.Second)
						_, err = io.WriteString(c, test.text)
					}
				}
				dial := func(context.Context, string, string) (net.Conn, error) {
					here, there := net.Pipe()
					running.Go(func() { trickle(there) })
					return here, nil
				}
				c := newClient(t, Options{Dial: dial}, "8.8.8.8")
				for asked, want := range map[time.Duration]time.Duration{0: DefaultTimeout, 45 * time.Second: 45 * time.Second} {
					began := time.Now()
					_, err := c.Do(t.Context(), Request{Method: "POST", URL: "http://8.8.8.8/", Body: []byte("x"), Timeout: asked})
					require.ErrorIs(t, err, context.DeadlineExceeded)
					assert.ErrorContains(t, err, "took longer than "+want.String())
					transport := requireTransport(t, err)
					assert.Equal(t, want, time.Since(began))
					assert.True(t, transport.Sent)
					assert.Equal(t, test.phase, transport.Phase)
					assert.Equal(t, test.status, transport.Status)
				}
			})
		})
	}
}

// One address that leads nowhere does not take the time of the next.
func TestDeadAddressIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := func(ctx context.Context, _, address string) (net.Conn, error) {
			if address == somewhere+":80" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			here, there := net.Pipe()
			go func() {
				defer there.Close()
				answer("HTTP/1.1 204 No Content\r\n\r\n")(there)
			}()
			return here, nil
		}
		r := &resolver{answers: map[string][][]string{"example.com": {{somewhere, "8.8.8.8"}, {somewhere}}}}
		c := newClient(t, Options{Resolver: r, Dial: dial}, "example.com")
		began := time.Now()
		resp, err := c.Do(t.Context(), Request{URL: "http://example.com/"})
		require.NoError(t, err)
		assert.Equal(t, http.StatusNoContent, resp.Status)
		assert.Equal(t, dialTimeout, time.Since(began))

		began = time.Now()
		_, err = c.Do(t.Context(), Request{URL: "http://example.com/"})
		assert.False(t, requireTransport(t, err).Sent)
		assert.Equal(t, PhaseConnect, requireTransport(t, err).Phase)
		assert.Equal(t, DefaultTimeout, time.Since(began))
	})
}
