package ledgertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// Trouble is what goes wrong.
type Trouble string

const (
	// LoseRequest closes the connection before the effect.
	LoseRequest Trouble = "lose_request"
	// LoseReply closes the connection after the effect, with no byte of the answer sent.
	LoseReply Trouble = "lose_reply"
	// DelayBefore waits Delay before the effect, which then happens whether the client still waits or not.
	DelayBefore Trouble = "delay_before"
	// DelayAfter waits Delay between the effect and the answer.
	DelayAfter Trouble = "delay_after"
	// FailBefore answers Status, and there is no effect.
	FailBefore Trouble = "fail_before"
	// FailAfter answers Status though there was the effect.
	FailAfter Trouble = "fail_after"
	// RateLimit answers 429 with Retry-After, and there is no effect.
	RateLimit Trouble = "rate_limit"
	// Trickle sends the answer's body byte by byte, Delay between two of them.
	Trickle Trouble = "trickle"

	// Forget answers a look-up with 404, whatever the ledger holds.
	Forget Trouble = "forget"
	// Inconclusive answers a look-up with 503.
	Inconclusive Trouble = "inconclusive"
	// Stale answers a look-up or a list from the ledger as it was Lag effects ago.
	Stale Trouble = "stale"
)

// Fault is one trouble and whom it meets. A request meets the first fault of the list that fits it.
type Fault struct {
	Trouble Trouble `json:"trouble"`
	// Method is GET, POST, DELETE or PUT; empty is any. Only requests to /entries and /fences meet faults.
	Method string `json:"method,omitempty"`
	// Nth is which request of the method it meets, from 1 and counted from when the faults were set; with Count more
	// than one, those after it too. 0 is whichever come next.
	Nth int `json:"nth,omitempty"`
	// Probability is the chance of each request to meet it, drawn from the seed; 0 is certainty. Nth does not go with it.
	Probability float64 `json:"probability,omitempty"`
	// Count is how many requests it meets before it is used up. 0 is one, and with a probability all.
	Count int `json:"count,omitempty"`

	Delay  Millis `json:"delay_ms,omitempty"`
	Status int    `json:"status,omitempty"` // of FailBefore and FailAfter; 0 is 500
	// RetryAfter is the wait that RateLimit asks for, in whole seconds; Date says it as an HTTP date.
	RetryAfter int  `json:"retry_after,omitempty"`
	Date       bool `json:"date,omitempty"`
	Lag        int  `json:"lag,omitempty"` // 0 is 1
}

// Millis is a time in whole milliseconds.
type Millis int64

// Duration is m as a duration.
func (m Millis) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Validate reports every problem of a fault at once.
func (f Fault) Validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	switch f.Trouble {
	case LoseRequest, LoseReply, DelayBefore, DelayAfter, FailBefore, FailAfter, RateLimit, Trickle:
	case Forget, Inconclusive, Stale:
		if f.Method != "" && f.Method != http.MethodGet {
			add("%s meets GET, not %s", f.Trouble, f.Method)
		}
	default:
		add("unknown trouble %q", f.Trouble)
	}
	switch f.Method {
	case "", http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodPut:
	default:
		add("no method %q meets faults", f.Method)
	}
	if f.Nth < 0 || f.Count < 0 || f.Delay < 0 || f.RetryAfter < 0 || f.Lag < 0 {
		add("a number is negative")
	}
	if f.Probability < 0 || f.Probability > 1 {
		add("the probability is %v", f.Probability)
	}
	if f.Probability > 0 && f.Nth > 0 {
		add("nth and a probability exclude each other")
	}
	if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
		add("status %d is no failure", f.Status)
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("fault %q: %w", f.Trouble, errors.Join(problems...))
}

// faults deals faults out. It is not safe for concurrent use.
type faults struct {
	list   []Fault
	met    []int          // how many requests each fault met
	counts map[string]int // requests by method
	random *rand.Rand
}

func newFaults(seed uint64, list []Fault) (*faults, error) {
	var problems []error
	for _, f := range list {
		problems = append(problems, f.Validate())
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return &faults{list: list, met: make([]int, len(list)), counts: map[string]int{}, random: rand.New(rand.NewPCG(seed, seed))}, nil
}

// next is the fault that a request meets, with the zero value for none. lookup says that it asks for a key, read
// that it only reads.
func (s *faults) next(method string, lookup, read bool) Fault {
	s.counts[method]++
	n := s.counts[method]
	for i, f := range s.list {
		if f.Method != "" && f.Method != method || !f.concerns(lookup, read) || s.usedUp(i) {
			continue
		}
		switch {
		case f.Probability > 0:
			if s.random.Float64() >= f.Probability {
				continue
			}
		case f.Nth > 0 && (n < f.Nth || n >= f.Nth+max(f.Count, 1)):
			continue
		}
		s.met[i]++
		return f
	}
	return Fault{}
}

func (f Fault) concerns(lookup, read bool) bool {
	switch f.Trouble {
	case Forget, Inconclusive:
		return lookup
	case Stale:
		return read
	}
	return true
}

func (s *faults) usedUp(i int) bool {
	f := s.list[i]
	if f.Count == 0 {
		return f.Probability == 0 && s.met[i] >= 1
	}
	return s.met[i] >= f.Count
}

// left is how many faults can still be met: those with a probability and no count always can.
func (s *faults) left() int {
	n := 0
	for i := range s.list {
		if !s.usedUp(i) {
			n++
		}
	}
	return n
}
