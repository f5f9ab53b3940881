package guest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

// inTool runs f inside a call of a tool, where fetching is allowed.
func inTool(t *testing.T, s Stub, f func()) {
	t.Helper()
	r := register(t, func() {
		Tool("t", func(Call) Result { f(); return OK("") })
	})
	_, err := s.callTool(r, "t", `{}`)
	require.NoError(t, err)
}

func TestFetch(t *testing.T) {
	var got Request
	s := Stub{Secrets: []string{"TOKEN"}, Fetch: func(r Request) (Response, error) {
		got = r
		return Response{Status: 404, Headers: map[string][]string{"X-Two": {"a", "b"}}, Body: r.Body}, nil
	}}
	for _, body := range []string{"", "text é", "<<<<", "\x00\xff"} {
		in := Request{
			Method: "POST", URL: "https://api.example.com/a", Body: []byte(body), TimeoutMillis: 1000,
			Headers: map[string]string{"Accept": "*/*", "x-empty": ""}, Secrets: map[string]string{"authorization": "TOKEN"},
		}
		inTool(t, s, func() {
			out, err := Fetch(in)
			require.NoError(t, err, "what the other side says is no error")
			assert.Equal(t, 404, out.Status)
			assert.Equal(t, body, string(out.Body))
			assert.Equal(t, "a", out.Header("X-TWO"))
			assert.Empty(t, out.Header("x-none"))
		})
		assert.Equal(t, in, got)
	}
	inTool(t, s, func() {
		_, err := Fetch(Request{URL: "http://a"})
		require.NoError(t, err)
		assert.Equal(t, "GET", got.Method)
	})
}

func TestFetchFails(t *testing.T) {
	fails := func(err error) Stub {
		return Stub{Fetch: func(Request) (Response, error) { return Response{}, err }}
	}
	fine := fails(nil)
	fine.Fetch = func(Request) (Response, error) { return Response{Status: 200}, nil }
	get := Request{URL: "http://a"}
	for name, tt := range map[string]struct {
		stub  Stub
		in    Request
		want  FetchError
		read  abi.FailureClass
		write abi.ToolStatus
	}{
		"not granted":     {Stub{}, get, FetchError{"denied", false, abi.CodeDenied}, abi.ClassPermission, abi.ToolFailed},
		"host denied":     {fails(&FetchError{Code: abi.CodeDenied}), get, FetchError{"denied", false, abi.CodeDenied}, abi.ClassPermission, abi.ToolFailed},
		"timeout":         {fails(&FetchError{Code: abi.CodeTimeout}), get, FetchError{"timeout", true, abi.CodeTimeout}, abi.ClassTransient, abi.ToolUnknown},
		"not sent":        {fails(&FetchError{Text: "no such host"}), get, FetchError{"no such host", false, 0}, abi.ClassTransient, abi.ToolFailed},
		"sent":            {fails(&FetchError{Text: "the connection was lost", Sent: true}), get, FetchError{"the connection was lost", true, 0}, abi.ClassTransient, abi.ToolUnknown},
		"any other error": {fails(assert.AnError), get, FetchError{assert.AnError.Error(), true, 0}, abi.ClassTransient, abi.ToolUnknown},
		"no status":       {fails(nil), get, FetchError{"response without a status", true, 0}, abi.ClassTransient, abi.ToolUnknown},
		"secret": {
			fine, Request{URL: "http://a", Secrets: map[string]string{"authorization": "TOKEN"}},
			FetchError{"denied", false, abi.CodeDenied}, abi.ClassPermission, abi.ToolFailed,
		},
		"bad method": {
			fine, Request{Method: "CONNECT", URL: "http://a"},
			FetchError{`method "CONNECT" must be one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS`, false, abi.CodeInvalid}, abi.ClassPermanent, abi.ToolFailed,
		},
		"too large": {
			fine, Request{URL: "http://a", Body: []byte(strings.Repeat("x", abi.MaxRequestBytes))},
			FetchError{"request of 1048619 bytes is over the limit of 1048576", false, abi.CodeInvalid}, abi.ClassPermanent, abi.ToolFailed,
		},
		"value and secret": {
			fine, Request{URL: "http://a", Headers: map[string]string{"a": ""}, Secrets: map[string]string{"a": "TOKEN"}},
			FetchError{`header "a" has a value and a secret, or a secret without a name`, false, abi.CodeInvalid}, abi.ClassPermanent, abi.ToolFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			inTool(t, tt.stub, func() { _, err = Fetch(tt.in) })
			var fetch *FetchError
			require.ErrorAs(t, err, &fetch)
			assert.Equal(t, tt.want, *fetch)
			assert.EqualError(t, err, "http.fetch/1: "+tt.want.Text)
			assert.Equal(t, tt.want.Code == abi.CodeDenied, errors.Is(err, abi.CodeDenied))

			wrapped := fmt.Errorf("append: %w", err)
			assert.Equal(t, Failed(tt.read, "append: http.fetch/1: %s", tt.want.Text), ReadFailed(wrapped))
			write := WriteFailed(wrapped)
			assert.Equal(t, tt.write, write.Status)
			assert.Equal(t, "append: http.fetch/1: "+tt.want.Text, write.Result)
		})
	}
	assert.Equal(t, abi.ToolUnknown, WriteFailed(assert.AnError).Status, "what is not known to be unsent may have happened")
}

// TestFetchIsForTools: hooks that are pure may not fetch, whatever was granted.
func TestFetchIsForTools(t *testing.T) {
	s := Stub{Fetch: func(Request) (Response, error) { return Response{Status: 200}, nil }}
	var err error
	fetch := func() { _, err = Fetch(Request{URL: "http://a"}) }
	during(t, s, fetch)
	require.ErrorIs(t, err, abi.CodeNotNow)
	r := register(t, func() {
		Tool("t", func(Call) Result { return OK("") }).
			Reconcile(func(Call) Reconciliation { fetch(); return Found("") }).
			Compensate(func(Undo) Result { fetch(); return OK("") }).
			Preview(func(Call) (abi.PreviewOutput, error) {
				fetch()
				return abi.PreviewOutput{Reversible: abi.ReversibleNo}, nil
			}).
			Check(func(Checked) (bool, string) { fetch(); return true, "" })
	})
	for hook, allowed := range map[abi.Hook]bool{
		abi.HookToolReconcile: true, abi.HookToolCompensate: true, abi.HookToolPreview: false, abi.HookToolCheck: false,
	} {
		require.Equal(t, abi.CodeDecided, s.invoke(r, hook, `{"tool":"t"}`).Code)
		assert.Equal(t, allowed, err == nil, string(hook))
	}
}

// TestFetchThroughHandles: the stub's fetch obeys the rules of host_call.
func TestFetchThroughHandles(t *testing.T) {
	s := Stub{Fetch: func(Request) (Response, error) { return Response{Status: 200}, nil }}
	const request = `{"method": "GET", "url": "http://a"}`
	inTool(t, s, func() {
		assert.Equal(t, int64(abi.CodeInvalid), hostCall("http.fetch/1", ""))
		assert.Equal(t, int64(abi.CodeInvalid), hostCall("http.fetch/1", `{"method": "GET"}`))
		for want := range int64(abi.MaxHandles) {
			assert.Equal(t, want+1, hostCall("http.fetch/1", request))
		}
		assert.Equal(t, int64(abi.CodeTooMany), hostCall("http.fetch/1", request))
	})
}
