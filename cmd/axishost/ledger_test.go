package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/axishost/axishost/host/ledgertest"
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptLedger is the outside service of a script.
type scriptLedger struct {
	server *ledgertest.Server
	mu     sync.Mutex
	held   chan struct{} // closed: look-ups are answered again; nil: they are not held
}

type ledgerKey struct{}

// ledger starts the service, which ignores idempotency keys, with faults in JSON, and leaves its address in $LEDGER:
// ledger [FAULT...].
func ledger(ts *testscript.TestScript, neg bool, args []string) {
	l := ts.Value(ledgerKey{}).(*scriptLedger)
	var faults []ledgertest.Fault
	for _, arg := range args {
		var f ledgertest.Fault
		ts.Check(json.Unmarshal([]byte(arg), &f))
		faults = append(faults, f)
	}
	if neg {
		ts.Fatalf("usage: ledger [FAULT...]")
	}
	if l.server != nil {
		ts.Check(l.server.SetFaults(faults...))
		return
	}
	server, err := ledgertest.New(ledgertest.Options{Raw: true, Faults: faults, OnRequest: l.request})
	ts.Check(err)
	l.server = server
	ts.Defer(func() {
		l.hold(false)
		_ = server.Close()
	})
	ts.Setenv("LEDGER", strings.TrimPrefix(server.URL(), "http://"))
}

// request waits while look-ups are held.
func (l *scriptLedger) request(method, _ string) {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if method == "GET" && held != nil {
		<-held
	}
}

func (l *scriptLedger) hold(held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
	if held {
		l.held = make(chan struct{})
	}
}

// lookups has the service keep look-ups waiting, or answer them: lookups held|answered.
func lookups(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || (args[0] != "held" && args[0] != "answered") {
		ts.Fatalf("usage: lookups held|answered")
	}
	ts.Value(ledgerKey{}).(*scriptLedger).hold(args[0] == "held")
}

// voids checks which entries were made void, in that order, each once: voids ID...
func voids(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: voids ID...")
	}
	var got []string
	for _, e := range ts.Value(ledgerKey{}).(*scriptLedger).server.Effects() {
		if e.Kind == ledgertest.Void {
			got = append(got, e.ID)
		}
	}
	if !slices.Equal(got, args) {
		ts.Fatalf("entries %v are void, want %v", got, args)
	}
}

// effects checks how many entries the service has, each made once: effects N.
func effects(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: effects N")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := ledgertest.Of(ledgertest.Post, ts.Value(ledgerKey{}).(*scriptLedger).server.Effects())
	if twice := ledgertest.Duplicates(got); len(got) != want || len(twice) > 0 {
		ts.Fatalf("%d effects, want %d; more than once: %v", len(got), want, twice)
	}
}
