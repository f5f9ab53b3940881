package host

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/plugins"
	"github.com/stretchr/testify/require"
)

// TestSameRequestForAnyOrder: six calls of one reply, of which some succeed, some fail and some have to be looked for,
// come to their ends in any order, as many at once as chance has it. The next request is the same, byte by byte.
func TestSameRequestForAnyOrder(t *testing.T) {
	rounds := 40
	if raced {
		rounds = 8
	}
	var first string
	seen := map[string]bool{}
	for seed := range rounds {
		request, order := requestAfter(t, rand.New(rand.NewPCG(uint64(seed), 3)))
		if first == "" {
			first = request
		}
		require.Equal(t, first, request, "seed %d, order %v", seed, order)
		seen[fmt.Sprint(order)] = true
	}
	require.Greater(t, len(seen), rounds/2, "the orders do not differ")
	t.Logf("%d orders, one request of %d bytes", len(seen), len(first))
}

// requestAfter runs the calls, has them end in an order of chance's, and gives the request that follows.
func requestAfter(t *testing.T, chance *rand.Rand) (request string, order []string) {
	s := newSlowLedger(t)
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	sub := bare()
	sub.Tools = []*plugins.Inspection{guest(t, "ledger")}
	sub.Config.Tools = map[string]map[string]any{"ledger": {"url": s.URL}}
	sub.Grants = []Grant{{Plugin: "ledger", Capability: GrantHTTP, Limit: u.Host}}
	atOnce := 1 + chance.IntN(6)
	sub.Config.Limits.ParallelTools = int64(atOnce)
	calls := together(appends("fine1", 1), appends("lost1", 2), appends("bad1", 3), appends("fine2", 4), appends("bad2", 5), appends("lost2", 6))
	m := &fakeModel{replies: []any{calls, says("done")}}

	settled := make(chan struct{})
	h := open(t, newLog(t), m, Events{Committed: func(e *Event) {
		if ofType(event.TypeToolSucceeded, event.TypeToolFailed, event.TypeOperationFound)(e) {
			settled <- struct{}{}
		}
	}})
	var running sync.WaitGroup
	running.Go(func() {
		var waiting []string
		for left := 6; left > 0; left-- {
			for len(waiting) < min(atOnce, left) {
				waiting = append(waiting, <-s.arrived)
			}
			i := chance.IntN(len(waiting))
			order = append(order, waiting[i])
			s.release(waiting[i])
			waiting = slices.Delete(waiting, i, i+1)
			<-settled
		}
	})
	_, err = h.Run(t.Context(), sub)
	require.NoError(t, err)
	running.Wait()
	return toJSON(t, m.asked[1]), order
}

// slowLedger answers each entry when it is released, as its account says: fine, bad (refused), or lost (made, and the
// answer is of no use). Its answers do not depend on the order.
type slowLedger struct {
	*httptest.Server
	arrived chan string // accounts

	mu   sync.Mutex
	gone map[string]chan struct{}
	made map[string]string // by key
}

func newSlowLedger(t *testing.T) *slowLedger {
	s := &slowLedger{arrived: make(chan string, 6), gone: map[string]chan struct{}{}, made: map[string]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// gate gives what is closed when an entry of an account is released.
func (s *slowLedger) gate(account string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone[account] == nil {
		s.gone[account] = make(chan struct{})
	}
	return s.gone[account]
}

func (s *slowLedger) release(account string) { close(s.gate(account)) }

func (s *slowLedger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, _ = io.WriteString(w, s.made[r.URL.Query().Get("key")])
		return
	}
	var e struct {
		Account string `json:"account"`
		Amount  int64  `json:"amount"`
		ID      string `json:"id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.arrived <- e.Account
	<-s.gate(e.Account)
	e.ID = "of-" + e.Account
	text, _ := json.Marshal(e) // strings and a number
	s.mu.Lock()
	s.made[r.Header.Get("Idempotency-Key")] = string(text)
	s.mu.Unlock()
	switch e.Account[:3] {
	case "bad":
		w.WriteHeader(http.StatusUnprocessableEntity)
	case "los":
		w.WriteHeader(http.StatusBadGateway)
	default:
		_, _ = w.Write(text)
	}
}
