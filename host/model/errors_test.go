package model

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStatusErrors(t *testing.T) {
	const json = "application/json"
	tests := []struct {
		name    string
		handler http.HandlerFunc
		class   Class
		retry   bool
		text    string // with U for the endpoint
	}{
		{"401", answer(401, json, `{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}`), ClassAuth, false,
			`the model endpoint U refused the API key (401): set OPENAI_API_KEY; it says "bad key"`},
		{"403", answer(403, json, `{}`), ClassAuth, false,
			`the model endpoint U refused the API key (403): set OPENAI_API_KEY; it says "{}"`},
		{"404 model", answer(404, json, `{"error":{"message":"model \"m\" not found","type":"api_error"}}`), ClassNotFound, false,
			`the model endpoint U has no model "m" or no such path (404): check OPENAI_BASE_URL (should end in /v1) and --model or OPENAI_MODEL; it says "model \"m\" not found"`},
		{"404 path", answer(404, "text/plain", "404 page not found\n"), ClassNotFound, false,
			`the model endpoint U has no model "m" or no such path (404): check OPENAI_BASE_URL (should end in /v1) and --model or OPENAI_MODEL; it says "404 page not found"`},
		{"404 empty", answer(404, "", ""), ClassNotFound, false,
			`the model endpoint U has no model "m" or no such path (404): check OPENAI_BASE_URL (should end in /v1) and --model or OPENAI_MODEL`},
		{"400 model", answer(400, json, `{"error":{"message":"no such model","code":"model_not_found"}}`), ClassNotFound, false,
			`the model endpoint U has no model "m" or no such path (400): check OPENAI_BASE_URL (should end in /v1) and --model or OPENAI_MODEL; it says "no such model"`},
		{"429", answer(429, json, `{"error":{"message":"slow down, try again in 1.5s"}}`), ClassRateLimited, true,
			`the model endpoint U limits the rate of requests (429): wait, or run fewer tasks at a time; it says "slow down, try again in 1.5s"; it asks to wait 1.5s`},
		{"I5 quota", answer(429, json, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`), ClassQuota, false,
			`the model endpoint U says that the quota is used up (429): check the plan and billing of the API key; it says "You exceeded your current quota"`},
		{"402", answer(402, json, `{"error":"Insufficient Balance"}`), ClassQuota, false,
			`the model endpoint U says that the quota is used up (402): check the plan and billing of the API key; it says "Insufficient Balance"`},
		{"500", answer(500, json, `{"detail":"boom"}`), ClassTransient, true,
			`the model endpoint U failed (500 internal server error): try again later; it says "boom"`},
		{"503 page", answer(503, "text/html", `<html>nginx</html>`), ClassTransient, true,
			`the model endpoint U failed (503 service unavailable): try again later`},
		{"I1 context, 400", answer(400, json, `{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000 (a in the messages, b in the completion)"}}`),
			ClassContextLimit, false,
			`the model endpoint U says that the request is too long for the model "m" (400): shorten it or take a model with a larger context; ` +
				`it says "This model's maximum context length is 4096 tokens. However, you requested 5000 (a in the messages, b in the completion)"`},
		{"I1 context, 500", answer(500, json, `{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`), ClassContextLimit, false,
			`the model endpoint U says that the request is too long for the model "m" (500): shorten it or take a model with a larger context; it says "the request exceeds the available context size"`},
		{"I3 parameter", answer(400, json, `{"error":{"message":"Unsupported parameter: 'max_tokens'"}}`), ClassInvalidRequest, false,
			`the model endpoint U refused the request (400); it says "Unsupported parameter: 'max_tokens'"`},
		{"422 list", answer(422, json, `{"detail":[{"loc":["body"],"msg":"field required"}]}`), ClassInvalidRequest, false,
			`the model endpoint U refused the request (422); it says "[{\"loc\":[\"body\"],\"msg\":\"field required\"}]"`},
		{"HTML, 404", answer(404, "text/html; charset=utf-8", `<!doctype html>`), ClassProtocol, false,
			`the model endpoint U answered with HTML (text/html) instead of JSON: OPENAI_BASE_URL is probably not the address of a model endpoint`},
		{"HTML, 200", answer(200, "text/html", "\n<!doctype html>\n<p>Welcome</p>"), ClassProtocol, false,
			`the model endpoint U answered with HTML (text/html) instead of JSON: OPENAI_BASE_URL is probably not the address of a model endpoint`},
		{"HTML, 200, no content type", answer(200, "", "<html>"), ClassProtocol, false,
			`the model endpoint U answered with HTML (no content type) instead of JSON: OPENAI_BASE_URL is probably not the address of a model endpoint`},
		{"text, 200", answer(200, "text/plain", "It works!"), ClassProtocol, false,
			`the model endpoint U answered with something that is no reply of a model: "It works!"; check OPENAI_BASE_URL`},
		{"JSON, 200", answer(200, json, `{"status":"ok"}`), ClassProtocol, false,
			`the model endpoint U answered with something that is no reply of a model: "{\"status\":\"ok\"}"; check OPENAI_BASE_URL`},
		{"nothing, 200", answer(200, "text/event-stream", ""), ClassTransient, true,
			`the model endpoint U broke off: the reply was cut off after 0 bytes; try again`},
		{"304", answer(304, json, ""), ClassProtocol, false,
			`the model endpoint U answered with a status that no model endpoint has (304): check OPENAI_BASE_URL`},
		{"D1 error in the stream", stream(sse(d(`{"content":"hi"}`), `{"error":{"message":"provider down","code":502},"choices":[]}`, done)), ClassTransient, true,
			`the model endpoint U failed (502 bad gateway): try again later; it says "provider down"`},
		{"D1 error after a comment, at the end", stream(": x\n\ndata: {\"error\":{\"message\":\"too many\",\"type\":\"rate_limit_error\"}}"), ClassRateLimited, true,
			`the model endpoint U limits the rate of requests (429): wait, or run fewer tasks at a time; it says "too many"`},
		{"D1 error after the finish", stream(sse(end("stop"), `{"error":"late"}`, done)), ClassTransient, true,
			`the model endpoint U failed: try again later; it says "late"`},
		{"D1 error event", stream(sse(d(`{"content":"hi"}`)) + "event: error\ndata: {\"message\":\"maximum context length exceeded\",\"code\":400}\n\n"), ClassContextLimit, false,
			`the model endpoint U says that the request is too long for the model "m" (400): shorten it or take a model with a larger context; it says "maximum context length exceeded"`},
		{"D1 error object", stream(sse(`{"object":"error","message":"oops","code":400}`)), ClassInvalidRequest, false,
			`the model endpoint U refused the request (400); it says "oops"`},
		{"D1 error without data:", stream(sse(d(`{"content":"hi"}`)) + `{"error":{"message":"died"}}`), ClassTransient, true,
			`the model endpoint U failed: try again later; it says "died"`},
		{"D1 error, status 200, one object", answer(200, json, `{"error":{"message":"model not loaded"}}`), ClassTransient, true,
			`the model endpoint U failed: try again later; it says "model not loaded"`},
		{"D3 malformed chunk", stream(sse(d(`{"content":"hi"}`), `{"choices":}`, end("stop"), done)), ClassTransient, true,
			`the model endpoint U sent an event that is no piece of a reply: "{ \"choices\":}"; try again`},
		{"D3 lost tail", stream(sse(d(`{"content":"hi"}`), `{"choices":[{"del`, end("stop"), done)), ClassTransient, true,
			`the model endpoint U sent an event that is no piece of a reply: "{ \"choices\":[{\"del{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}"; try again`},
		{"no message", stream(sse(`{"choices":[]}`, done)), ClassTransient, true,
			`the model endpoint U ended the reply after 36 bytes without a message in it; try again`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := serve(t, test.handler)
			e := askError(t, c)
			assert.Equal(t, strings.Replace(test.text, "U", c.endpoint, 1), e.Error())
			assert.Equal(t, test.class.String(), e.Class.String())
			assert.Equal(t, test.retry, e.Retryable())
			assert.Equal(t, c.endpoint, e.Endpoint)
		})
	}
}

func TestHTMLWhereTheAddressMissesV1(t *testing.T) {
	server := httptest.NewServer(answer(200, "text/html", "<html>"))
	defer server.Close()
	e := askError(t, client(t, Options{BaseURL: server.URL}))
	assert.Equal(t, "the model endpoint "+server.URL+" answered with HTML (text/html) instead of JSON: OPENAI_BASE_URL probably misses /v1", e.Error())
}

func TestMissingKey(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Empty(t, r.Header.Get("Authorization"))
		w.WriteHeader(401)
	}))
	defer server.Close()
	c, err := New(Options{BaseURL: server.URL, Model: "m"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	e := askError(t, c)
	assert.Equal(t, "the model endpoint "+server.URL+" wants an API key (401): OPENAI_API_KEY is not set", e.Error())
	assert.Equal(t, 401, e.Status)
}

// failing is a transport that gives no answer.
type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

func TestUnreachable(t *testing.T) {
	const u = "cannot reach the model endpoint http://host.invalid:1/v1: "
	tests := []struct {
		name  string
		err   error
		class Class
		text  string
	}{
		{"refused", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, ClassRefusedConnection,
			u + "connection refused; is the server running? set OPENAI_BASE_URL to another"},
		{"no such host", &net.DNSError{Err: "no such host", Name: "host.invalid", IsNotFound: true}, ClassUnknownHost,
			u + `no such host "host.invalid"; check OPENAI_BASE_URL`},
		{"DNS down", &net.DNSError{Err: "server misbehaving", Name: "host.invalid", IsTemporary: true}, ClassTransient,
			u + `looking up the host "host.invalid" did not work; check the network and try again`},
		{"connect timeout", &net.OpError{Op: "dial", Err: context.DeadlineExceeded}, ClassTransient,
			u + "the connection timed out; check the network or set OPENAI_BASE_URL to another"},
		{"reset", &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, ClassTransient,
			u + "the connection broke before an answer came: read tcp: connection reset by peer; try again"},
		{"closed", io.EOF, ClassTransient, u + "the connection broke before an answer came: EOF; try again"},
		{"scheme", http.ErrSchemeMismatch, ClassTLS,
			u + "no secure connection: http: server gave HTTP response to HTTPS client; check OPENAI_BASE_URL (http or https) and the server's certificate"},
		{"not HTTP", errors.New(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "\x15\x03\x01"`), ClassProtocol,
			"the model endpoint http://host.invalid:1/v1 does not answer with HTTP: check OPENAI_BASE_URL (http or https, and the port)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := askError(t, client(t, Options{BaseURL: "http://host.invalid:1/v1", Transport: failing{test.err}}))
			assert.Equal(t, test.text, e.Error())
			assert.Equal(t, test.class.String(), e.Class.String())
			assert.ErrorIs(t, e, test.err)
		})
	}
}

// Real sockets: that the errors of the standard library are still the ones that are recognised.
func TestUnreachableForReal(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	e := askError(t, client(t, Options{BaseURL: "http://" + address + "/v1"}))
	assert.Equal(t, "cannot reach the model endpoint http://"+address+"/v1: connection refused; is the server running? set OPENAI_BASE_URL to another", e.Error())

	secure := httptest.NewUnstartedServer(stream(""))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	e = askError(t, client(t, Options{BaseURL: secure.URL}))
	assert.Equal(t, ClassTLS, e.Class)
	assert.Contains(t, e.Error(), "certificate")

	clear := httptest.NewServer(stream(""))
	defer clear.Close()
	e = askError(t, client(t, Options{BaseURL: "https" + strings.TrimPrefix(clear.URL, "http")}))
	assert.Equal(t, ClassTLS, e.Class)
	assert.Contains(t, e.Error(), "server gave HTTP response to HTTPS client")
}

func TestRetryAfter(t *testing.T) {
	date := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	tests := []struct {
		name string
		h    http.Header
		said string
		want time.Duration
	}{
		{"none", header(), "", 0},
		{"seconds", header("Retry-After", "20"), "", 20 * time.Second},
		{"fraction", header("Retry-After", "0.5"), "", 500 * time.Millisecond},
		{"milliseconds win", header("Retry-After", "20", "retry-after-ms", "250"), "", 250 * time.Millisecond},
		{"date by the endpoint's clock", header("Retry-After", date.Add(90*time.Second).Format(http.TimeFormat), "Date", date.Format(http.TimeFormat)), "", 90 * time.Second},
		{"past date by our clock", header("Retry-After", date.Format(http.TimeFormat)), "", 0},
		{"negative", header("Retry-After", "-3"), "", 0},
		{"endless", header("Retry-After", "1e300"), "", 100 * 365 * 24 * time.Hour},
		{"no number", header("Retry-After", "NaN"), "", 0},
		{"nonsense", header("Retry-After", "soon"), "", 0},
		{"words", header(), "Rate limit. Please try again in 1m2.5s.", 62500 * time.Millisecond},
		{"words in ms", header(), "Please retry after 20ms", 20 * time.Millisecond},
		{"header before words", header("Retry-After", "3"), "try again in 9s", 3 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, retryAfter(test.h, saying{message: test.said}))
		})
	}
	e := askError(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	assert.Equal(t, 7*time.Second, e.RetryAfter)
	assert.Equal(t, http.StatusServiceUnavailable, e.Status)
}

func TestForeignTextIsQuotedAndCut(t *testing.T) {
	e := askError(t, serve(t, answer(400, "text/plain", "\x1b[31mred\x1b[0m\r\nline \u202e two\x00")))
	assert.Contains(t, e.Error(), `it says "\x1b[31mred\x1b[0m\r\nline \u202e two\x00"`)

	e = askError(t, serve(t, answer(400, "text/plain", strings.Repeat("é", 1000))))
	assert.Contains(t, e.Error(), `"`+strings.Repeat("é", 150)+`…"`)
	assert.NotContains(t, e.Error(), strings.Repeat("é", 151))
}

func TestClassNames(t *testing.T) {
	seen := map[string]bool{}
	for c := ClassUnknown; c <= ClassProtocol; c++ {
		require.Regexp(t, "^[a-z_]+$", c.String())
		require.False(t, seen[c.String()], c.String())
		seen[c.String()] = true
	}
	assert.Equal(t, "unknown", Class(200).String())
	assert.Equal(t, "the call of the model endpoint u ended with the error class auth", (&Error{Class: ClassAuth, Endpoint: "u"}).Error())
}

func TestOptions(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"nothing", Options{}, "model options: the model endpoint has no address: set OPENAI_BASE_URL; the model has no name: set --model or OPENAI_MODEL"},
		{"no scheme", Options{BaseURL: "localhost:8080/v1", Model: "m"}, "model options: OPENAI_BASE_URL must look like http://127.0.0.1:8080/v1 or https://host/v1"},
		{"no host", Options{BaseURL: "http:///v1", Model: "m"}, "model options: OPENAI_BASE_URL must look like http://127.0.0.1:8080/v1 or https://host/v1"},
		{"no URL", Options{BaseURL: "http://h:port/", Model: "m"}, `model options: OPENAI_BASE_URL "http://h:port/" is not a URL`},
		{"no URL, password", Options{BaseURL: "http://u:secret@h:port/", Model: "m"}, "model options: OPENAI_BASE_URL is not a URL"},
		{"key from a file", Options{BaseURL: "http://h", Model: "m", APIKey: "secret\n"},
			"model options: the API key holds a space, a line end or another byte that no key has: set OPENAI_API_KEY anew"},
		{"timeout", Options{BaseURL: "http://h", Model: "m", Timeout: -1}, "model options: a timeout is negative"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := New(test.o)
			assert.EqualError(t, err, test.want)
		})
	}
	c := client(t, Options{BaseURL: "http://h/v1/"})
	assert.Equal(t, DefaultTimeout, c.timeout)
	assert.Equal(t, DefaultIdleTimeout, c.idle)
	assert.Equal(t, "http://h/v1", c.endpoint)
}

func TestDefaultTransportUsesNoProxy(t *testing.T) {
	assert.Nil(t, newTransport().Proxy)
}

func TestRedirects(t *testing.T) {
	var leaked []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.URL.Path)
	}))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		e := askError(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/v1/chat/completions?key="+testKey, status)
		}))
		assert.Equal(t, ClassProtocol, e.Class)
		assert.Contains(t, e.Error(), ` redirects to "`+other.URL+`/v1/chat/completions", which is not followed: set OPENAI_BASE_URL to the right address`)
		assert.NotContains(t, e.Error(), testKey)
	}
	assert.Empty(t, leaked)

	reply, err := ask(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/chat/completions" {
			http.Redirect(w, r, "/moved", http.StatusPermanentRedirect)
			return
		}
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Contains(t, string(body), "hello")
		stream(sse(d(`{"content":"hi"}`), end("stop"), done))(w, r)
	}))
	require.NoError(t, err)
	assert.Equal(t, "hi", reply.Message.Content)

	e := askError(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, http.MethodPost, r.Method)
		http.Redirect(w, r, "/moved", http.StatusFound)
	}))
	assert.Contains(t, e.Error(), "which is not followed", "a POST must not become a GET")
}

func TestSecretsStaySecret(t *testing.T) {
	const key, password = `sk-"a&b\c/0123456789`, "pass word+1"
	echo := []string{
		key, password, "Bearer " + key, url.QueryEscape(key), url.QueryEscape(password),
		`{"error":{"message":"Incorrect API key: sk-\"a&b\\c/0123456789 and pass word+1"}}`,
		`{"x":"sk-\"a\u0026b\\c/0123456789"}`, "dXNlcjpwYXNzIHdvcmQrMQ==", "query-secret",
		strings.Repeat("x", maxErrorBody-12) + key,
	}
	check := func(t *testing.T, err error) {
		t.Helper()
		for ; err != nil; err = errors.Unwrap(err) {
			for _, secret := range []string{key, "0123456789", password, "pass+word", "pass%20word", "dXNlcjpwYXNz", "query-secret", "user"} {
				require.NotContains(t, err.Error(), secret)
			}
		}
	}
	for _, body := range echo {
		for _, handler := range []http.HandlerFunc{
			answer(400, "text/plain", body), answer(401, "application/json", body), answer(500, "text/plain", body),
			answer(200, "text/plain", body), stream(sse(body)), stream(sse(`{"error":` + body + `}`)), stream(sse(`{"choices":` + body)),
			func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Location"] = []string{"http://h.invalid/" + url.PathEscape(body)}
				w.WriteHeader(http.StatusTemporaryRedirect)
			},
		} {
			server := httptest.NewServer(handler)
			base := strings.Replace(server.URL, "http://", "http://user:pass%20word+1@", 1) + "/v1?token=query-secret"
			e := askError(t, client(t, Options{BaseURL: base, APIKey: key}))
			check(t, e)
			assert.Equal(t, server.URL+"/v1", e.Endpoint)
			server.Close()
		}
		check(t, askError(t, client(t, Options{
			BaseURL: "http://user:pass%20word+1@h.invalid/v1?token=query-secret", APIKey: key, Transport: failing{errors.New(body)},
		})))
	}
}

func TestASecretCutOffIsHidden(t *testing.T) {
	s := site{secrets: []string{testKey}}
	assert.Equal(t, "key [redacted]", s.redact("key "+testKey[:12]))
	assert.Equal(t, "key sk-test", s.redact("key sk-test"), "what many keys begin with is no secret")
}
