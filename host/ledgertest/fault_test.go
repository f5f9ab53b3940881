package ledgertest

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFaultsAroundTheEffect(t *testing.T) {
	for _, test := range []struct {
		fault   Fault
		lost    bool
		status  int
		effects int
		retry   int // the status of the same request again
	}{
		{fault: Fault{Trouble: LoseRequest}, lost: true, effects: 0, retry: 201},
		{fault: Fault{Trouble: LoseReply}, lost: true, effects: 1, retry: 200},
		{fault: Fault{Trouble: FailBefore}, status: 500, effects: 0, retry: 201},
		{fault: Fault{Trouble: FailBefore, Status: 503}, status: 503, effects: 0, retry: 201},
		{fault: Fault{Trouble: FailAfter, Status: 502}, status: 502, effects: 1, retry: 200},
		{fault: Fault{Trouble: RateLimit, RetryAfter: 7}, status: 429, effects: 0, retry: 201},
		{fault: Fault{Trouble: DelayBefore, Delay: 1}, status: 201, effects: 1, retry: 200},
		{fault: Fault{Trouble: DelayAfter, Delay: 1}, status: 201, effects: 1, retry: 200},
		{fault: Fault{Trouble: Trickle}, status: 201, effects: 1, retry: 200},
	} {
		t.Run(string(test.fault.Trouble), func(t *testing.T) {
			s := start(t, Options{Faults: []Fault{test.fault}})
			a, err := ask(t, s.URL(), "POST", "/entries", "k", rent)
			assert.Equal(t, test.lost, err != nil)
			assert.Equal(t, test.status, a.status)
			assert.Len(t, s.Effects(), test.effects)
			if test.status == 201 {
				assert.Equal(t, "e1", a.entry.ID)
			}
			assert.Zero(t, s.FaultsLeft())
			assert.Equal(t, test.retry, must(t, s, "POST", "/entries", "k", rent).status)
			assert.Len(t, s.Effects(), 1)
		})
	}
}

// The blind retry that the raw mode catches.
func TestBlindRetryIsCaught(t *testing.T) {
	s := start(t, Options{Raw: true, Faults: []Fault{{Trouble: LoseReply}}})
	_, err := ask(t, s.URL(), "POST", "/entries", "k", rent)
	require.Error(t, err)
	must(t, s, "POST", "/entries", "k", rent)
	assert.Equal(t, 1, s.Duplicates())
}

func TestFaultsOfVoid(t *testing.T) {
	s := start(t, Options{Faults: []Fault{{Trouble: LoseReply, Method: "DELETE"}}})
	must(t, s, "POST", "/entries", "k", rent)
	_, err := ask(t, s.URL(), "DELETE", "/entries/e1", "v", "")
	require.Error(t, err)
	assert.True(t, must(t, s, "DELETE", "/entries/e1", "v", "").entry.Void)
	assert.Equal(t, 1, s.Stats().Voids)
}

func TestRetryAfter(t *testing.T) {
	s := start(t, Options{Faults: []Fault{{Trouble: RateLimit, RetryAfter: 7}, {Trouble: RateLimit, RetryAfter: 7, Date: true}}})
	assert.Equal(t, "7", must(t, s, "POST", "/entries", "k", rent).header.Get("Retry-After"))
	date, err := http.ParseTime(must(t, s, "POST", "/entries", "k", rent).header.Get("Retry-After"))
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), date, time.Minute)
	assert.Equal(t, "Sun, 06 Nov 1994 08:49:37 GMT",
		Fault{RetryAfter: 7, Date: true}.retryAfter(time.Date(1994, 11, 6, 9, 49, 30, 0, time.FixedZone("", 3600))))
}

func TestFaultsOfReads(t *testing.T) {
	s := start(t, Options{})
	must(t, s, "POST", "/entries", "k1", rent)
	must(t, s, "POST", "/entries", "k2", rent)
	must(t, s, "DELETE", "/entries/e1", "v", "")
	lookup := func(key string) answered { return must(t, s, "GET", "/entries?key="+key, "", "") }
	list := func() int { return strings.Count(must(t, s, "GET", "/entries", "", "").text, `"id"`) }

	require.NoError(t, s.SetFaults(Fault{Trouble: Forget, Count: 2}, Fault{Trouble: Inconclusive}))
	assert.Equal(t, 2, list(), "a list is no look-up")
	assert.Equal(t, []int{404, 404, 503, 200}, []int{lookup("k1").status, lookup("k1").status, lookup("k1").status, lookup("k1").status})

	require.NoError(t, s.SetFaults(Fault{Trouble: Stale}, Fault{Trouble: Stale, Lag: 2, Count: 2}, Fault{Trouble: Stale, Lag: 99}))
	assert.False(t, lookup("k1").entry.Void)
	assert.Equal(t, 404, lookup("k2").status)
	assert.Equal(t, 1, list())
	assert.Equal(t, 0, list())
	assert.True(t, lookup("k1").entry.Void)
	assert.Len(t, s.Effects(), 3)
}

func TestWhomFaultsMeet(t *testing.T) {
	status := func(s *Server, method string) int {
		path := map[string]string{"POST": "/entries", "GET": "/entries?key=x", "DELETE": "/entries/e0"}[method]
		return must(t, s, method, path, "k", rent).status
	}
	s := start(t, Options{Faults: []Fault{
		{Trouble: FailBefore, Status: 502, Method: "POST", Nth: 2, Count: 2},
		{Trouble: FailBefore, Status: 503, Method: "GET"},
		{Trouble: FailBefore, Status: 504},
	}})
	assert.Equal(t, 503, status(s, "GET"))
	assert.Equal(t, 504, status(s, "DELETE"))
	assert.Equal(t, 201, status(s, "POST"))
	assert.Equal(t, 502, status(s, "POST"))
	assert.Equal(t, 404, status(s, "GET"))
	assert.Equal(t, 502, status(s, "POST"))
	assert.Equal(t, 200, status(s, "POST"))
	assert.Zero(t, s.FaultsLeft())

	// Counting begins anew.
	require.NoError(t, s.SetFaults(Fault{Trouble: FailBefore, Method: "POST", Nth: 1}))
	assert.Equal(t, 1, s.FaultsLeft())
	assert.Equal(t, 500, status(s, "POST"))
	require.NoError(t, s.SetFaults())
	assert.Equal(t, 200, status(s, "POST"))
}

func TestChancesAreSeeded(t *testing.T) {
	draw := func(seed uint64, count int) string {
		deal, err := newFaults(seed, []Fault{{Trouble: LoseReply, Probability: 0.5, Count: count}})
		require.NoError(t, err)
		var b strings.Builder
		for range 64 {
			b.WriteString(map[bool]string{true: "x", false: "."}[deal.next("POST", false, false).Trouble == LoseReply])
		}
		return b.String()
	}
	assert.Equal(t, draw(1, 0), draw(1, 0))
	assert.NotEqual(t, draw(1, 0), draw(2, 0))
	assert.Equal(t, 5, strings.Count(draw(1, 5), "x"))
	assert.InDelta(t, 32, strings.Count(draw(1, 0), "x"), 16)
	deal, err := newFaults(1, []Fault{{Trouble: LoseReply, Probability: 1}})
	require.NoError(t, err)
	for range 3 {
		assert.Equal(t, LoseReply, deal.next("POST", false, false).Trouble)
		assert.Equal(t, 1, deal.left())
	}
}

func TestFaultsOverHTTP(t *testing.T) {
	s := start(t, Options{})
	a := must(t, s, "POST", "/faults", "", `{"seed":7,"faults":[{"trouble":"fail_after","method":"POST","nth":1,"status":502,"delay_ms":0}]}`)
	require.Equal(t, 200, a.status, a.text)
	assert.Equal(t, 502, must(t, s, "POST", "/entries", "k", rent).status)
	assert.Equal(t, 200, must(t, s, "POST", "/entries", "k", rent).status)

	for body, want := range map[string]string{
		`x`:                                  "invalid",
		`{"a":1}`:                            "unknown field",
		`{"faults":[{"trouble":"explode"}]}`: "unknown trouble",
		`{"faults":[{"trouble":"forget","method":"POST"}]}`:                    "meets GET",
		`{"faults":[{"trouble":"lose_reply","method":"PATCH"}]}`:               "no method",
		`{"faults":[{"trouble":"lose_reply","nth":-1}]}`:                       "negative",
		`{"faults":[{"trouble":"lose_reply","probability":2}]}`:                "probability is 2",
		`{"faults":[{"trouble":"lose_reply","probability":1,"nth":1}]}`:        "exclude",
		`{"faults":[{"trouble":"fail_after","status":200}]}`:                   "no failure",
		`{"faults":[{"trouble":"lose_reply","nth":-1,"probability":2},{}]}`:    "unknown trouble",
		`{"faults":[{"trouble":"lose_reply","nth":-1},{"trouble":"explode"}]}`: "negative",
	} {
		a := must(t, s, "POST", "/faults", "", body)
		assert.Equal(t, 400, a.status, body)
		assert.Contains(t, a.text, want)
	}
	require.Error(t, s.SetFaults(Fault{}))
}

// Delays by the bubble's clock; no network, since its waiting is none of the bubble's.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{closing: make(chan struct{})}
		began := time.Now()
		s.wait(Millis(90_000))
		assert.Equal(t, 90*time.Second, time.Since(began))
		began = time.Now()
		time.AfterFunc(time.Second, func() { close(s.closing) })
		s.wait(Millis(90_000))
		assert.Equal(t, time.Second, time.Since(began))
	})
}

// Close does not wait for the end of a delay, and what was delayed still happens.
func TestCloseEndsDelays(t *testing.T) {
	entered := make(chan struct{})
	s := start(t, Options{
		Faults:    []Fault{{Trouble: DelayBefore, Delay: 3_600_000}},
		OnRequest: func(string, string) { close(entered) },
	})
	done := make(chan error)
	go func() {
		_, err := ask(t, s.URL(), "POST", "/entries", "k", rent)
		done <- err
	}()
	<-entered
	require.NoError(t, s.Close())
	require.Error(t, <-done)
	assert.Len(t, s.Effects(), 1)
}

// A client that is gone does not stop a slow answer from ending.
func TestTrickleEndsWithTheClient(t *testing.T) {
	s := start(t, Options{Faults: []Fault{{Trouble: Trickle, Delay: 20}}})
	client := &http.Client{Transport: &http.Transport{}}
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL()+"/entries", strings.NewReader(rent))
	require.NoError(t, err)
	r.Header.Set("Idempotency-Key", "k")
	resp, err := client.Do(r)
	require.NoError(t, err)
	first := make([]byte, 1)
	_, err = resp.Body.Read(first)
	require.NoError(t, err)
	assert.Equal(t, "{", string(first))
	require.NoError(t, resp.Body.Close())
	client.CloseIdleConnections()
	assert.Len(t, s.Effects(), 1)
}
