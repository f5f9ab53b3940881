package main

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

// stub gives a host whose ledger answers each request so.
func stub(status int, body string, headers map[string][]string) (guest.Stub, *[]guest.Request) {
	var seen []guest.Request
	return guest.Stub{Config: `{"url":"https://ledger/"}`, Fetch: func(r guest.Request) (guest.Response, error) {
		seen = append(seen, r)
		return guest.Response{Status: status, Headers: headers, Body: []byte(body)}, nil
	}}, &seen
}

const aLine = `{"id":"e7","account":"cash","amount":7}`

func TestManifest(t *testing.T) {
	section, err := os.ReadFile("axis.json")
	require.NoError(t, err)
	m, err := abi.ParseManifest(section)
	require.NoError(t, err)
	for _, h := range []abi.Hook{abi.HookToolReconcile, abi.HookToolCompensate, abi.HookToolPreview, abi.HookToolCheck} {
		assert.True(t, m.HasHook(h), h)
	}
}

func TestAppend(t *testing.T) {
	host, seen := stub(201, aLine, nil)
	got, err := host.CallTool("append", `{"account":"cash","amount":7}`)
	require.NoError(t, err)
	assert.Equal(t, abi.ToolOK, got.Status)
	assert.Equal(t, "entry e7: 7 to cash", got.Result)
	assert.JSONEq(t, aLine, string(got.Evidence))
	require.Len(t, *seen, 1)
	assert.Equal(t, "POST", (*seen)[0].Method)
	assert.Equal(t, "https://ledger/entries", (*seen)[0].URL)
	assert.Equal(t, "operation-1", (*seen)[0].Headers["Idempotency-Key"])
	assert.Equal(t, "1", (*seen)[0].Headers["Idempotency-Attempt"])
}

// TestAnswers: each answer of the ledger says what is known of the entry.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		want   abi.ToolStatus
		class  abi.FailureClass
	}{
		{200, aLine, abi.ToolOK, ""}, {201, "created", abi.ToolUnknown, ""},
		{409, `{"error":"taken"}`, abi.ToolFailed, abi.ClassConflict}, {429, "", abi.ToolFailed, abi.ClassRateLimited},
		{403, "", abi.ToolFailed, abi.ClassPermission}, {400, `{"error":"no account"}`, abi.ToolFailed, abi.ClassInvalidArguments},
		{302, "", abi.ToolUnknown, ""}, {500, "", abi.ToolUnknown, ""}, {410, "", abi.ToolFailed, abi.ClassPermanent}, {503, "", abi.ToolUnknown, ""},
	} {
		host, _ := stub(tt.status, tt.body, nil)
		got, err := host.CallTool("append", `{"account":"cash","amount":7}`)
		require.NoError(t, err)
		assert.Equal(t, tt.want, got.Status, tt.status)
		assert.Equal(t, tt.class, got.Class, tt.status)
	}
}

// TestNoAnswer: whether anything was sent decides whether the outcome is known.
func TestNoAnswer(t *testing.T) {
	for sent, want := range map[bool]abi.ToolStatus{true: abi.ToolUnknown, false: abi.ToolFailed} {
		host := guest.Stub{Config: `{"url":"https://ledger"}`, Fetch: func(guest.Request) (guest.Response, error) {
			return guest.Response{}, &guest.FetchError{Text: "reset", Sent: sent}
		}}
		got, err := host.CallTool("append", `{"account":"cash","amount":7}`)
		require.NoError(t, err)
		assert.Equal(t, want, got.Status)
		out, err := host.Reconcile(abi.ReconcileInput{Tool: "append", Arguments: json.RawMessage("{}"), OperationID: "op", Try: 1})
		require.NoError(t, err)
		assert.Equal(t, abi.ReconcileInconclusive, out.Status)
	}
	_, err := guest.Stub{}.CallTool("append", `{"account":"cash","amount":7}`)
	require.NoError(t, err, "a missing configuration is a result")
}

// TestReconcile: absent is said only when the ledger has shut the attempt out.
func TestReconcile(t *testing.T) {
	for _, tt := range []struct {
		look, fence int // answers; 0: it is not asked
		want        abi.ReconcileStatus
	}{
		{200, 0, abi.ReconcileFound}, {500, 0, abi.ReconcileInconclusive}, {503, 0, abi.ReconcileInconclusive},
		{404, 201, abi.ReconcileAbsent}, {404, 200, abi.ReconcileFound}, {404, 404, abi.ReconcileInconclusive},
		{404, 405, abi.ReconcileInconclusive}, {404, 503, abi.ReconcileInconclusive},
	} {
		var seen []guest.Request
		host := guest.Stub{Config: `{"url":"https://ledger/"}`, Fetch: func(r guest.Request) (guest.Response, error) {
			seen = append(seen, r)
			status := tt.look
			if r.Method == "PUT" {
				status = tt.fence
			}
			return guest.Response{Status: status, Headers: map[string][]string{"retry-after": {"3"}}, Body: []byte(aLine)}, nil
		}}
		got, err := host.Reconcile(abi.ReconcileInput{Tool: "append", Arguments: json.RawMessage("{}"), OperationID: "op 1", Attempt: 4, Try: 2})
		require.NoError(t, err)
		assert.Equal(t, tt.want, got.Status, tt)
		assert.Equal(t, tt.want == abi.ReconcileInconclusive, got.RetryAfterMillis == 3000, tt)
		assert.Equal(t, "https://ledger/entries?key=op+1", seen[0].URL)
		if tt.fence == 0 {
			assert.Len(t, seen, 1)
			continue
		}
		require.Len(t, seen, 2)
		assert.Equal(t, "https://ledger/fences/op%201", seen[1].URL)
		assert.Equal(t, `{"attempts":4}`, string(seen[1].Body))
	}
}

func TestCompensate(t *testing.T) {
	host, seen := stub(200, `{"id":"e7","account":"cash","amount":7,"void":true}`, nil)
	got, err := host.Compensate(abi.CompensateInput{Tool: "append", Arguments: json.RawMessage("{}"), OperationID: "op", CompensationID: "undo", Evidence: json.RawMessage(aLine)})
	require.NoError(t, err)
	assert.Equal(t, "entry e7: 7 to cash (void)", got.Result)
	assert.Equal(t, "DELETE", (*seen)[0].Method)
	assert.Equal(t, "undo", (*seen)[0].Headers["Idempotency-Key"])
}

// TestCompensateByOperation: without evidence the entry is looked up by the operation that appended it.
func TestCompensateByOperation(t *testing.T) {
	for status, want := range map[int]guest.Result{
		200: {Status: abi.ToolOK, Result: "entry e7: 7 to cash"},
		404: {Status: abi.ToolFailed, Class: abi.ClassPermanent, Result: "it is not known which entry it was: the ledger answered 404"},
		503: {Status: abi.ToolFailed, Class: abi.ClassTransient, Result: "it is not known which entry it was: the ledger answered 503"},
	} {
		host, seen := stub(status, aLine, nil)
		got, err := host.Compensate(abi.CompensateInput{Tool: "append", Arguments: json.RawMessage("{}"), OperationID: "op", CompensationID: "undo", Evidence: json.RawMessage(`{"ticket":4}`)})
		require.NoError(t, err)
		got.Evidence = nil
		assert.Equal(t, want, got)
		assert.Equal(t, "https://ledger/entries?key=op", (*seen)[0].URL)
		assert.Len(t, *seen, map[bool]int{true: 2, false: 1}[status == 200], "nothing else is voided")
	}
	host := guest.Stub{Config: `{"url":"https://ledger"}`, Fetch: func(guest.Request) (guest.Response, error) { return guest.Response{}, errors.New("reset") }}
	got, err := host.Compensate(abi.CompensateInput{Tool: "append", Arguments: json.RawMessage("{}"), OperationID: "op", CompensationID: "undo"})
	require.NoError(t, err)
	assert.Equal(t, abi.ToolFailed, got.Status)
	assert.Equal(t, abi.ClassTransient, got.Class)
}

// TestConditions: the version that the model saw goes to the ledger as a condition, and not as part of the entry; a ledger
// that is at another one says so, and the model is told to look again.
func TestConditions(t *testing.T) {
	host, seen := stub(412, `{"error":"account cash is at version 4, not 3"}`, nil)
	got, err := host.CallTool("append", `{"account":"cash","amount":7,"if_version":3}`)
	require.NoError(t, err)
	assert.Equal(t, abi.ClassConflict, got.Class)
	assert.Equal(t, "not appended: account cash is at version 4, not 3; look at its balance again", got.Result)
	assert.Equal(t, `"3"`, (*seen)[0].Headers["If-Match"])
	assert.JSONEq(t, `{"account":"cash","amount":7}`, string((*seen)[0].Body))
	assert.NotContains(t, (*seen)[0].Headers, "Lease-Fence")
}

func TestBalance(t *testing.T) {
	host, seen := stub(200, `{"account":"petty cash","balance":7,"version":3}`, nil)
	got, err := host.CallTool("balance", `{"account":"petty cash"}`)
	require.NoError(t, err)
	assert.Equal(t, "petty cash: 7 (version 3)", got.Result)
	assert.Equal(t, "https://ledger/accounts/petty%20cash", (*seen)[0].URL)
	host, _ = stub(503, "", nil)
	got, err = host.CallTool("balance", `{"account":"cash"}`)
	require.NoError(t, err)
	assert.Equal(t, abi.ClassTransient, got.Class)
}

func TestPreviewAndCheck(t *testing.T) {
	p, err := guest.Stub{}.Preview(abi.PreviewInput{Tool: "append", Arguments: json.RawMessage(`{"account":"cash","amount":7}`)})
	require.NoError(t, err)
	assert.Equal(t, abi.ReversibleYes, p.Reversible)
	assert.Contains(t, p.Impact, `appends 7 to account "cash"`)
	for amount, want := range map[string]bool{"7": true, "0": false} {
		c, err := guest.Stub{}.Check(abi.CheckInput{Tool: "append", Stage: abi.CheckBefore, Arguments: json.RawMessage(`{"account":"cash","amount":` + amount + `}`)})
		require.NoError(t, err)
		assert.Equal(t, want, c.OK)
	}
}

func TestEntries(t *testing.T) {
	for body, want := range map[string]string{"[" + aLine + "]": "entry e7: 7 to cash", "[]": "no entries"} {
		host, _ := stub(200, body, nil)
		got, err := host.CallTool("entries", "{}")
		require.NoError(t, err)
		assert.Equal(t, want, got.Result)
	}
	host := guest.Stub{Config: `{"url":"https://ledger"}`, Fetch: func(guest.Request) (guest.Response, error) { return guest.Response{}, errors.New("reset") }}
	got, err := host.CallTool("entries", "{}")
	require.NoError(t, err)
	assert.Equal(t, abi.ClassTransient, got.Class)
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "3": 3000, "-1": 0, "soon": 0, "Mon, 30 Nov 2026 19:00:05 GMT": 5000, "Mon, 30 Nov 2026 18:00:00 GMT": 0,
		"Monday, 30-Nov-26 19:00:05 GMT": 5000, "Mon Nov 30 19:00:05 2026": 5000,
	} {
		r := guest.Response{Headers: map[string][]string{"retry-after": {text}, "date": {"Mon, 30 Nov 2026 19:00:00 GMT"}}}
		assert.Equal(t, want, retryAfter(r), text)
	}
	assert.Zero(t, retryAfter(guest.Response{Headers: map[string][]string{"retry-after": {"Mon, 30 Nov 2026 19:00:05 GMT"}}}), "a guest has no clock")
}
