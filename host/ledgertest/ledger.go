package ledgertest

import (
	"fmt"
	"maps"
	"slices"
)

// Kind is what an effect did.
type Kind string

const (
	Post Kind = "post" // made an entry
	Void Kind = "void" // made it void
	// Fence shut out the attempts of a key up to one, those that are under way too.
	Fence Kind = "fence"
)

// Effect is one change of the ledger. Effects are only ever appended.
type Effect struct {
	Seq     int    `json:"seq"` // from 1
	Kind    Kind   `json:"kind"`
	ID      string `json:"id,omitempty"` // of the entry
	Key     string `json:"key"`
	Account string `json:"account,omitempty"`
	Amount  int64  `json:"amount,omitempty"`
	Text    string `json:"text,omitempty"`
	// Attempt is the attempt that made the entry, or the last one that a fence shuts out.
	Attempt int `json:"attempt,omitempty"`
	// Lease is the fence of the lease under which an entry was made; 0: none.
	Lease uint64 `json:"lease,omitempty"`
	// Raw says that the effect did not ask whether its key was there before.
	Raw bool `json:"raw,omitempty"`
}

// Entry is a line of the ledger as it is answered.
type Entry struct {
	ID      string `json:"id"`
	Key     string `json:"key"`
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
	Text    string `json:"text"`
	Void    bool   `json:"void"`
}

// Account is what is known of an account.
type Account struct {
	Account string `json:"account"`
	Balance int64  `json:"balance"`
	Version int    `json:"version"` // counts the changes

	lease uint64 // the highest under which an entry was made
}

// Stats are counts since the ledger began, or since the process did where they are of requests.
type Stats struct {
	Posts   int `json:"posts"`   // POST /entries received, also those that had no effect
	Deletes int `json:"deletes"` // DELETE received, likewise
	Lookups int `json:"lookups"` // GET /entries?key= received
	Puts    int `json:"puts"`    // PUT /fences received
	Effects int `json:"effects"` // entries made
	Voids   int `json:"voids"`   // entries made void
	Fences  int `json:"fences"`  // fences set
	// Duplicates are the effects of a key beyond its first, by key. Honest mode has none.
	Duplicates map[string]int `json:"duplicates"`
}

// ledger is a fold over effects. It is not safe for concurrent use.
type ledger struct {
	effects []Effect
	entries []Entry
	posted  map[string]int // key of a POST to the index of its first entry
	voided  map[string]int // key of a DELETE to the index of the entry that it made void
	fences  map[string]int // key to the last attempt that is shut out
	// accounts by name.
	accounts map[string]Account
}

func newLedger(effects []Effect) *ledger {
	l := &ledger{posted: map[string]int{}, voided: map[string]int{}, fences: map[string]int{}, accounts: map[string]Account{}}
	for _, e := range effects {
		l.apply(e)
	}
	return l
}

// apply takes an effect up.
func (l *ledger) apply(e Effect) Entry {
	l.effects = append(l.effects, e)
	if e.Kind == Fence {
		l.fences[e.Key] = max(l.fences[e.Key], e.Attempt)
		return Entry{}
	}
	if e.Kind == Void {
		i := l.index(e.ID)
		if !l.entries[i].Void {
			l.book(l.entries[i].Account, -l.entries[i].Amount, 0)
		}
		l.entries[i].Void = true
		remember(l.voided, e.Key, i)
		return l.entries[i]
	}
	l.book(e.Account, e.Amount, e.Lease)
	l.entries = append(l.entries, Entry{ID: e.ID, Key: e.Key, Account: e.Account, Amount: e.Amount, Text: e.Text})
	remember(l.posted, e.Key, len(l.entries)-1)
	return l.entries[len(l.entries)-1]
}

// book changes an account.
func (l *ledger) book(account string, amount int64, lease uint64) {
	a := l.account(account)
	a.Balance, a.Version, a.lease = a.Balance+amount, a.Version+1, max(a.lease, lease)
	l.accounts[account] = a
}

func (l *ledger) account(name string) Account {
	a := l.accounts[name]
	a.Account = name
	return a
}

func remember(first map[string]int, key string, i int) {
	if _, ok := first[key]; !ok && key != "" {
		first[key] = i
	}
}

// next is the number of the next entry. A void was no entry, but has a number of its own: ids stay what they were.
func (l *ledger) next() int { return len(l.effects) - len(Of(Fence, l.effects)) + 1 }

// index is where an entry is, or -1.
func (l *ledger) index(id string) int {
	return slices.IndexFunc(l.entries, func(e Entry) bool { return e.ID == id })
}

// fits says whether an effect may follow those that are there; files come from outside.
func (l *ledger) fits(e Effect) error {
	switch {
	case e.Seq != len(l.effects)+1:
		return fmt.Errorf("effect %d where %d belongs", e.Seq, len(l.effects)+1)
	case e.Kind == Post && l.index(e.ID) < 0, e.Kind == Void && l.index(e.ID) >= 0, e.Kind == Fence && e.Key != "" && e.ID == "":
		return nil
	}
	return fmt.Errorf("effect %d: %q of entry %q", e.Seq, e.Kind, e.ID)
}

// byKey is the entry that the key of a POST made.
func (l *ledger) byKey(key string) (Entry, bool) {
	i, ok := l.posted[key]
	if !ok {
		return Entry{}, false
	}
	return l.entries[i], true
}

// voidedBy is the entry that the key of a DELETE made void.
func (l *ledger) voidedBy(key string) (Entry, bool) {
	i, ok := l.voided[key]
	if !ok {
		return Entry{}, false
	}
	return l.entries[i], true
}

// ago is the ledger as it was n effects ago.
func (l *ledger) ago(n int) *ledger { return newLedger(l.effects[:max(0, len(l.effects)-n)]) }

// Of gives the effects of a kind.
func Of(kind Kind, effects []Effect) []Effect {
	var of []Effect
	for _, e := range effects {
		if e.Kind == kind {
			of = append(of, e)
		}
	}
	return of
}

// Duplicates counts the effects of each key beyond its first, by key. POST and DELETE have keys of their own; an
// effect without a key has no duplicate, and neither has a fence.
func Duplicates(effects []Effect) map[string]int {
	type named struct {
		kind Kind
		key  string
	}
	seen := map[named]bool{}
	duplicates := map[string]int{}
	for _, e := range effects {
		name := named{e.Kind, e.Key}
		if e.Key != "" && e.Kind != Fence && seen[name] {
			duplicates[e.Key]++
		}
		seen[name] = true
	}
	return duplicates
}

// count fills in what follows from effects.
func (s Stats) count(effects []Effect) Stats {
	s.Duplicates = Duplicates(effects)
	s.Effects, s.Voids, s.Fences = len(Of(Post, effects)), len(Of(Void, effects)), len(Of(Fence, effects))
	return s
}

// sum adds up counts by key.
func sum(counts map[string]int) int {
	total := 0
	for n := range maps.Values(counts) {
		total += n
	}
	return total
}
