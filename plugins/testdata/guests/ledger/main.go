// Command ledger is a plugin with a tool that writes, for the tests of package plugins: it adds lines to a ledger
// that is reached by HTTP, finds them again, and strikes them out.
package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

const ledger = "http://ledger.example/lines/"

func init() {
	guest.Tool("append", add).Reconcile(look).Compensate(strike).Preview(describe).Check(check)
}

func main() {}

type arguments struct {
	Text string `json:"text"`
}

// add puts a line under the operation's id, which the ledger takes once.
func add(c guest.Call) guest.Result {
	var in arguments
	if err := c.Decode(&in); err != nil {
		return guest.Invalid("%v", err)
	}
	r, err := guest.Fetch(guest.Request{
		Method: "PUT", URL: ledger + c.OperationID, Body: []byte(in.Text), Headers: map[string]string{"idempotency-key": c.OperationID},
	})
	switch {
	case err != nil:
		return guest.WriteFailed(err)
	case r.Status >= 500:
		return guest.Unknown("the ledger answered %d", r.Status)
	case r.Status != 201:
		return guest.Failed(abi.ClassPermanent, "the ledger answered %d", r.Status)
	}
	out := guest.OK(string(r.Body))
	out.Evidence, _ = json.Marshal(r.Header("etag"))
	return out
}

// look asks for the line. A ledger that has none is told to take none under that id any more, since the first
// request may still be under way.
func look(c guest.Call) guest.Reconciliation {
	r, err := guest.Fetch(guest.Request{URL: ledger + c.OperationID})
	if err == nil && r.Status == 404 {
		r, err = guest.Fetch(guest.Request{Method: "DELETE", URL: ledger + c.OperationID})
	}
	switch {
	case err != nil:
		return guest.Inconclusive("%v", err)
	case r.Status == 200:
		return guest.Found(string(r.Body))
	case r.Status == 410:
		return guest.Absent("the ledger takes no line under %s any more", c.OperationID)
	}
	return guest.Inconclusive("the ledger answered %d", r.Status)
}

func strike(u guest.Undo) guest.Result {
	r, err := guest.Fetch(guest.Request{
		Method: "DELETE", URL: ledger + u.OperationID, Headers: map[string]string{"idempotency-key": u.CompensationID},
	})
	if err != nil {
		return guest.WriteFailed(err)
	}
	return guest.OK(fmt.Sprintf("%s was struck out (%d)", u.Result, r.Status))
}

func describe(c guest.Call) (abi.PreviewOutput, error) {
	var in arguments
	if err := c.Decode(&in); err != nil {
		return abi.PreviewOutput{}, err
	}
	normal, err := json.Marshal(arguments{strings.TrimSpace(in.Text)})
	return abi.PreviewOutput{Arguments: normal, Impact: "Adds a line.", Reversible: abi.ReversibleYes, Resources: []string{"ledger:main"}}, err
}

func check(c guest.Checked) (bool, string) {
	if _, err := guest.Fetch(guest.Request{URL: ledger}); err != nil { // a check may not look
		return c.Stage == abi.CheckAfter, err.Error()
	}
	return true, ""
}
