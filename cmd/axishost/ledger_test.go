package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/axishost/axishost/host/ledgertest"
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptLedger is the outside service of a script.
type scriptLedger struct{ server *ledgertest.Server }

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
	server, err := ledgertest.New(ledgertest.Options{Raw: true, Faults: faults})
	ts.Check(err)
	l.server = server
	ts.Defer(func() { _ = server.Close() })
	ts.Setenv("LEDGER", strings.TrimPrefix(server.URL(), "http://"))
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
