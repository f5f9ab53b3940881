package ledgertest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

const noKey = "the header Idempotency-Key is missing"

// post makes an entry, or answers with the one that its key made.
func (s *Server) post(c *call) reply {
	var asked struct {
		Account string `json:"account"`
		Amount  int64  `json:"amount"`
		Text    string `json:"text"`
	}
	if err := decode(c.body, &asked); err != nil {
		return refuse(http.StatusBadRequest, "the body: %v", err)
	}
	switch {
	case asked.Account == "":
		return refuse(http.StatusBadRequest, "the account is missing")
	case c.key == "" && !c.raw:
		return refuse(http.StatusBadRequest, noKey)
	}
	said, err := conditionsOf(c)
	if err != nil {
		return refuse(http.StatusBadRequest, "%v", err)
	}
	e := Effect{
		Kind: Post, Key: c.key, Account: asked.Account, Amount: asked.Amount, Text: asked.Text, Raw: c.raw,
		Attempt: said.attempt, Lease: said.lease,
	}
	return s.change(e, func() (reply, bool) {
		old, known := s.ledger.byKey(c.key)
		switch {
		case !known || c.raw:
			return s.admit(c.key, said, s.ledger.account(asked.Account))
		case old.Account != asked.Account || old.Amount != asked.Amount || old.Text != asked.Text:
			return refuse(http.StatusConflict, "the key %q belongs to another body", c.key), false
		}
		return reply{http.StatusOK, old}, false
	})
}

// conditions are those under which an entry is to be made.
type conditions struct {
	attempt int
	version int // -1: any
	lease   uint64
}

// conditionsOf reads the conditions of a request.
func conditionsOf(c *call) (conditions, error) {
	said := conditions{version: -1}
	for _, h := range []struct {
		name string
		set  func(n uint64)
	}{
		{"Idempotency-Attempt", func(n uint64) { said.attempt = int(n) }},
		{"If-Match", func(n uint64) { said.version = int(n) }},
		{"Lease-Fence", func(n uint64) { said.lease = n }},
	} {
		text := strings.Trim(c.header.Get(h.name), `"`)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return said, fmt.Errorf("the header %s: %q is no number", h.name, text)
		}
		h.set(n)
	}
	return said, nil
}

// admit tells whether an entry may be made.
func (s *Server) admit(key string, said conditions, a Account) (reply, bool) {
	last, fenced := s.ledger.fences[key]
	switch {
	case fenced && said.attempt <= last:
		return refuse(http.StatusGone, "attempt %d under the key %q is shut out", said.attempt, key), false
	case said.lease < a.lease && said.lease != 0:
		return refuse(http.StatusPreconditionFailed, "account %s was written to under a later lease", a.Account), false
	case said.version >= 0 && said.version != a.Version:
		return refuse(http.StatusPreconditionFailed, "account %s is at version %d, not %d", a.Account, a.Version, said.version), false
	}
	return reply{status: http.StatusCreated}, true
}

// getAccount answers what an account is at.
func (s *Server) getAccount(c *call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	return reply{http.StatusOK, s.ledger.account(c.account)}
}

// fence shuts out the attempts of a key up to one, unless the key made an entry.
func (s *Server) fence(c *call) reply {
	var asked struct {
		Attempts int `json:"attempts"`
	}
	if err := decode(c.body, &asked); err != nil {
		return refuse(http.StatusBadRequest, "the body: %v", err)
	}
	if asked.Attempts < 1 {
		return refuse(http.StatusBadRequest, "attempts must be 1 or more")
	}
	return s.change(Effect{Kind: Fence, Key: c.key, Attempt: asked.Attempts}, func() (reply, bool) {
		if old, known := s.ledger.byKey(c.key); known {
			return reply{http.StatusOK, old}, false
		}
		return reply{http.StatusCreated, asked}, s.ledger.fences[c.key] < asked.Attempts
	})
}

// void makes an entry void. A void entry stays so, whatever key asks again.
func (s *Server) void(c *call) reply {
	if c.key == "" && !c.raw {
		return refuse(http.StatusBadRequest, noKey)
	}
	return s.change(Effect{Kind: Void, ID: c.id, Key: c.key, Raw: c.raw}, func() (reply, bool) {
		i := s.ledger.index(c.id)
		if i < 0 {
			return refuse(http.StatusNotFound, "there is no entry %q", c.id), false
		}
		old, known := s.ledger.voidedBy(c.key)
		switch {
		case c.raw:
			return reply{status: http.StatusOK}, true
		case known && old.ID != c.id:
			return refuse(http.StatusConflict, "the key %q belongs to another entry", c.key), false
		case s.ledger.entries[i].Void:
			return reply{http.StatusOK, s.ledger.entries[i]}, false
		}
		return reply{status: http.StatusOK}, true
	})
}

// change has an effect where decide, which sees the ledger locked, says that there is one. decide's reply is then
// the status, and the value is the entry unless it gives another.
func (s *Server) change(e Effect, decide func() (reply, bool)) reply {
	answer, happened := s.commit(&e, decide)
	if happened && s.options.OnEffect != nil {
		s.options.OnEffect(e)
	}
	return answer
}

func (s *Server) commit(e *Effect, decide func() (reply, bool)) (reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, happens := decide()
	if !happens {
		return answer, false
	}
	e.Seq = len(s.ledger.effects) + 1
	if e.Kind == Post {
		e.ID = fmt.Sprintf("e%d", s.ledger.next())
	}
	if s.file != nil {
		if err := appendTo(s.file, *e); err != nil {
			return refuse(http.StatusInternalServerError, "the ledger's file: %v", err), false
		}
	}
	if entry := s.ledger.apply(*e); answer.value == nil {
		answer.value = entry
	}
	return answer, true
}

// get answers a look-up or the list.
func (s *Server) get(c *call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.ledger
	if c.fault.Trouble == Stale {
		l = l.ago(max(c.fault.Lag, 1))
	}
	if !c.lookup {
		return reply{http.StatusOK, append([]Entry{}, l.entries...)}
	}
	if entry, ok := l.byKey(c.key); ok {
		return reply{http.StatusOK, entry}
	}
	return refuse(http.StatusNotFound, "no entry has the key %q", c.key)
}
