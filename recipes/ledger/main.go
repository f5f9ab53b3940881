// Command ledger is a tool plugin that writes to the outside world: it appends entries to a ledger over HTTP, each
// under the operation id of its step as idempotency key. It can tell whether an entry was appended (reconcile), void
// one (compensate), say beforehand what a call would do (preview), and which it does not take (check).
package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

func init() {
	guest.Tool("append", appendEntry).Reconcile(find).Compensate(void).Preview(preview).Check(check)
	guest.Tool("balance", balance)
	guest.Tool("entries", list)
}

func main() {}

// arguments are those of append.
type arguments struct {
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
	Text    string `json:"text,omitempty"`
	// IfVersion is what the account has to be at: not for the ledger's body.
	IfVersion *int64 `json:"if_version,omitempty"`
}

// entry is what the ledger knows of one.
type entry struct {
	ID      string `json:"id"`
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
	Void    bool   `json:"void,omitempty"`
}

func (e entry) String() string {
	text := fmt.Sprintf("entry %s: %d to %s", e.ID, e.Amount, e.Account)
	if e.Void {
		text += " (void)"
	}
	return text
}

// send makes a request to the ledger that the configuration names. headers are pairs of name and value.
func send(method, path string, body []byte, headers ...string) (guest.Response, error) {
	var config struct {
		URL string `json:"url"`
	}
	if err := guest.Config(&config); err != nil {
		return guest.Response{}, err
	}
	request := guest.Request{Method: method, URL: strings.TrimSuffix(config.URL, "/") + path, Body: body}
	request.Headers = map[string]string{"Accept": "application/json"}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Headers[headers[i]] = headers[i+1]
	}
	if body != nil {
		request.Headers["Content-Type"] = "application/json"
	}
	return guest.Fetch(request)
}

func appendEntry(call guest.Call) guest.Result {
	var a arguments
	if err := call.Decode(&a); err != nil {
		return guest.Invalid("%v", err)
	}
	headers := []string{"Idempotency-Key", call.OperationID, "Idempotency-Attempt", strconv.FormatInt(call.Attempt, 10)}
	if fence := call.Fence("account:" + a.Account); fence > 0 {
		headers = append(headers, "Lease-Fence", strconv.FormatUint(fence, 10))
	}
	if a.IfVersion != nil {
		headers = append(headers, "If-Match", strconv.Quote(strconv.FormatInt(*a.IfVersion, 10)))
		a.IfVersion = nil
	}
	body, err := json.Marshal(a)
	if err != nil {
		return guest.Invalid("%v", err)
	}
	response, err := send("POST", "/entries", body, headers...)
	if err != nil {
		return guest.WriteFailed(err)
	}
	return outcome(response)
}

// outcome makes the result of a write of what the ledger answered. A 5xx says nothing of whether it happened.
func outcome(r guest.Response) guest.Result {
	switch {
	case r.Status == 200 || r.Status == 201:
		var e entry
		if err := json.Unmarshal(r.Body, &e); err != nil {
			return guest.Unknown("the ledger answered %d, and not with an entry: %v", r.Status, err)
		}
		result := guest.OK(e.String())
		result.Evidence, _ = json.Marshal(e) // strings and a number
		return result
	case r.Status == 409:
		return guest.Failed(abi.ClassConflict, "the ledger has another entry under this operation: %s", reason(r))
	case r.Status == 412:
		return guest.Failed(abi.ClassConflict, "not appended: %s; look at its balance again", reason(r))
	case r.Status == 410:
		return guest.Failed(abi.ClassPermanent, "the ledger was told meanwhile to take this no more")
	case r.Status == 429:
		result := guest.Failed(abi.ClassRateLimited, "the ledger takes no more entries for now")
		result.RetryAfterMillis = retryAfter(r)
		return result
	case r.Status == 401 || r.Status == 403:
		return guest.Failed(abi.ClassPermission, "the ledger refuses: %s", reason(r))
	case r.Status >= 400 && r.Status < 500:
		return guest.Invalid("the ledger refuses the entry: %s", reason(r))
	}
	return guest.Unknown("the ledger answered %d", r.Status)
}

// find tells whether an entry was appended. That there is none now says nothing of a request that is still under way;
// so the ledger is told to take no attempt up to this one any more, and its answer holds for the time after it.
func find(call guest.Call) guest.Reconciliation {
	response, err := send("GET", "/entries?key="+url.QueryEscape(call.OperationID), nil)
	if err == nil && response.Status == 404 {
		response, err = send("PUT", "/fences/"+url.PathEscape(call.OperationID), fmt.Appendf(nil, `{"attempts":%d}`, call.Attempt))
	}
	if err != nil {
		return guest.Inconclusive("%v", err)
	}
	switch response.Status {
	case 200:
		var e entry
		if err := json.Unmarshal(response.Body, &e); err != nil {
			return guest.Inconclusive("the ledger answered with no entry: %v", err)
		}
		found := guest.Found(e.String())
		found.Evidence, _ = json.Marshal(e)
		return found
	case 201:
		return guest.Absent("the ledger has no entry under this operation, and takes none of attempt %d any more", call.Attempt)
	}
	unsure := guest.Inconclusive("the ledger answered %d", response.Status)
	unsure.RetryAfterMillis = retryAfter(response)
	return unsure
}

// void undoes an entry. A void entry stays so: to void it again, under the same key, changes nothing.
func void(undo guest.Undo) guest.Result {
	var e entry
	if err := json.Unmarshal(undo.Evidence, &e); err != nil || e.ID == "" { // a person found out that it was appended
		var failed *guest.Result
		if e, failed = lookUp(undo.OperationID); failed != nil {
			return *failed
		}
	}
	response, err := send("DELETE", "/entries/"+url.PathEscape(e.ID), nil, "Idempotency-Key", undo.CompensationID)
	if err != nil {
		return guest.WriteFailed(err)
	}
	return outcome(response)
}

// lookUp gives the entry that an operation appended, or why it is not known.
func lookUp(operation string) (e entry, failed *guest.Result) {
	response, err := send("GET", "/entries?key="+url.QueryEscape(operation), nil)
	if err != nil {
		return e, new(guest.ReadFailed(err))
	}
	if response.Status == 200 && json.Unmarshal(response.Body, &e) == nil && e.ID != "" {
		return e, nil
	}
	class := abi.ClassPermanent
	if response.Status == 429 || response.Status >= 500 {
		class = abi.ClassTransient
	}
	return e, new(guest.Failed(class, "it is not known which entry it was: the ledger answered %d", response.Status))
}

// check refuses an entry that books nothing, which no schema of the arguments should have to say.
func check(c guest.Checked) (ok bool, reason string) {
	var a arguments
	if err := c.Decode(&a); err != nil {
		return false, err.Error()
	}
	if c.Stage == abi.CheckBefore && a.Amount == 0 {
		return false, "an entry of 0 books nothing"
	}
	return true, ""
}

func preview(call guest.Call) (abi.PreviewOutput, error) {
	var a arguments
	if err := call.Decode(&a); err != nil {
		return abi.PreviewOutput{}, err
	}
	normal, err := json.Marshal(a)
	return abi.PreviewOutput{
		Arguments: normal, Reversible: abi.ReversibleYes,
		Impact: fmt.Sprintf("appends %d to account %q of the ledger (%q)", a.Amount, a.Account, a.Text),
	}, err
}

func balance(call guest.Call) guest.Result {
	var a struct {
		Account string `json:"account"`
		Balance int64  `json:"balance"`
		Version int64  `json:"version"`
	}
	if err := call.Decode(&a); err != nil {
		return guest.Invalid("%v", err)
	}
	response, err := send("GET", "/accounts/"+url.PathEscape(a.Account), nil)
	switch {
	case err != nil:
		return guest.ReadFailed(err)
	case response.Status != 200:
		return guest.Failed(abi.ClassTransient, "the ledger answered %d", response.Status)
	}
	if err := json.Unmarshal(response.Body, &a); err != nil {
		return guest.Failed(abi.ClassPermanent, "the ledger answered with no account: %v", err)
	}
	return guest.OK(fmt.Sprintf("%s: %d (version %d)", a.Account, a.Balance, a.Version))
}

func list(guest.Call) guest.Result {
	response, err := send("GET", "/entries", nil)
	if err != nil {
		return guest.ReadFailed(err)
	}
	if response.Status != 200 {
		return guest.Failed(abi.ClassTransient, "the ledger answered %d", response.Status)
	}
	var entries []entry
	if err := json.Unmarshal(response.Body, &entries); err != nil {
		return guest.Failed(abi.ClassPermanent, "the ledger answered with no list: %v", err)
	}
	lines := make([]string, len(entries))
	for i, e := range entries {
		lines[i] = e.String()
	}
	if len(lines) == 0 {
		return guest.OK("no entries")
	}
	return guest.OK(strings.Join(lines, "\n"))
}

// reason is what the ledger says is wrong.
func reason(r guest.Response) string {
	var body struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(r.Body, &body) == nil && body.Error != "" {
		return body.Error
	}
	return fmt.Sprintf("status %d", r.Status)
}
