package model

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// site is what errors tell about the endpoint, and the secrets that they must not tell.
type site struct {
	endpoint string
	model    string
	hasKey   bool
	secrets  []string
}

func newSite(base *url.URL, o Options) site {
	s := site{endpoint: shown(base), model: o.Model, hasKey: o.APIKey != ""}
	if s.hasKey {
		s.hide(o.APIKey)
	}
	if password, ok := base.User.Password(); ok && password != "" {
		s.hide(base64.StdEncoding.EncodeToString([]byte(base.User.Username() + ":" + password)))
		s.hide(password)
	}
	for _, values := range base.Query() {
		for _, value := range values {
			if len(value) >= 8 { // a shorter one is a version or a flag
				s.hide(value)
			}
		}
	}
	return s
}

// malformedError is an event that is no chunk.
type malformedError struct {
	raw []byte
	err error
}

func (e *malformedError) Error() string { return e.err.Error() }

// fail makes an Error of this endpoint. format's first %s is the endpoint.
func (s site) fail(class Class, cause error, format string, args ...any) *Error {
	return &Error{
		Class:    class,
		Endpoint: s.endpoint,
		text:     fmt.Sprintf(format, append([]any{s.endpoint}, args...)...),
		cause:    s.clean(cause),
	}
}

// unreachable is the error of a request that got no answer.
func (s site) unreachable(err error) *Error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // what it adds is the URL, which may hold a password or a query
	}
	var redirect *redirectError
	var dns *net.DNSError
	var timeout net.Error
	const reach = "cannot reach the model endpoint %s: "
	switch {
	case errors.As(err, &redirect):
		return s.fail(ClassProtocol, err, "the model endpoint %s redirects to %s, which is not followed: set OPENAI_BASE_URL to the right address",
			s.quote(redirect.to))
	case errors.As(err, &dns) && dns.IsNotFound:
		return s.fail(ClassUnknownHost, err, reach+"no such host %s; check OPENAI_BASE_URL", s.quote(dns.Name))
	case errors.As(err, &dns):
		return s.fail(ClassTransient, err, reach+"looking up the host %s did not work; check the network and try again", s.quote(dns.Name))
	case errors.Is(err, syscall.ECONNREFUSED):
		return s.fail(ClassRefusedConnection, err, reach+"connection refused; is the server running? set OPENAI_BASE_URL to another")
	case errors.Is(err, http.ErrSchemeMismatch) || isTLS(err):
		return s.fail(ClassTLS, err, reach+"no secure connection: %s; check OPENAI_BASE_URL (http or https) and the server's certificate",
			s.plain(err.Error()))
	case errors.As(err, &timeout) && timeout.Timeout():
		return s.fail(ClassTransient, err, reach+"the connection timed out; check the network or set OPENAI_BASE_URL to another")
	case strings.Contains(err.Error(), "malformed HTTP"):
		return s.fail(ClassProtocol, err, "the model endpoint %s does not answer with HTTP: check OPENAI_BASE_URL (http or https, and the port)")
	}
	return s.fail(ClassTransient, err, reach+"the connection broke before an answer came: %s; try again", s.plain(err.Error()))
}

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &verify) ||
		errors.As(err, &authority) || errors.As(err, &hostname) || errors.As(err, &invalid)
}

// status is the error of an answer whose status is not a success.
func (s site) status(resp *http.Response, body []byte) *Error {
	said := parseSaying(body)
	contentType := resp.Header.Get("Content-Type")
	class := said.class(resp.StatusCode)
	html := isHTML(contentType, body)
	if html {
		// A page is for people; it says nothing that the status does not. But where the status speaks of the
		// request, the page shows that this is not the endpoint that was meant.
		said = saying{}
		switch class = said.class(resp.StatusCode); class {
		case ClassNotFound, ClassInvalidRequest, ClassProtocol:
			e := s.html(contentType)
			e.Status = resp.StatusCode
			return e
		}
	}
	e := s.answered(class, resp.StatusCode, said)
	e.RetryAfter = retryAfter(resp.Header, said)
	if e.RetryAfter > 0 {
		e.text += fmt.Sprintf("; it asks to wait %s", e.RetryAfter.Round(time.Millisecond))
	}
	return e
}

// declared is the error that an endpoint put into an answer whose status was a success.
func (s site) declared(said saying) *Error {
	status := said.statusOrGuess()
	class := said.class(status)
	if status == 0 && class == ClassProtocol {
		class = ClassTransient // something broke on the way; nothing says that it was the request
	}
	e := s.answered(class, status, said)
	e.RetryAfter = retryAfter(nil, said)
	return e
}

// answered is the error of an answer of which the class is known. status is 0 where the endpoint named none.
func (s site) answered(class Class, status int, said saying) *Error {
	var e *Error
	const at = "the model endpoint %s "
	code := ""
	if status != 0 {
		code = fmt.Sprintf(" (%d)", status)
	}
	switch class {
	case ClassAuth:
		what := "refused the API key%s: set OPENAI_API_KEY"
		if !s.hasKey {
			what = "wants an API key%s: OPENAI_API_KEY is not set"
		}
		e = s.fail(class, nil, at+what, code)
	case ClassQuota:
		e = s.fail(class, nil, at+"says that the quota is used up%s: check the plan and billing of the API key", code)
	case ClassRateLimited:
		e = s.fail(class, nil, at+"limits the rate of requests%s: wait, or run fewer tasks at a time", code)
	case ClassContextLimit:
		e = s.fail(class, nil, at+"says that the request is too long for the model %q%s: shorten it or take a model with a larger context",
			s.model, code)
	case ClassNotFound:
		e = s.fail(class, nil, at+"has no model %q or no such path%s: check OPENAI_BASE_URL (should end in /v1) and --model or OPENAI_MODEL",
			s.model, code)
	case ClassTransient:
		if status != 0 {
			code = fmt.Sprintf(" (%d %s)", status, strings.ToLower(http.StatusText(status)))
		}
		e = s.fail(class, nil, at+"failed%s: try again later", code)
	case ClassProtocol:
		e = s.fail(class, nil, at+"answered with a status that no model endpoint has%s: check OPENAI_BASE_URL", code)
	default:
		e = s.fail(class, nil, at+"refused the request%s", code)
	}
	e.Status = status
	if said.message != "" {
		e.text += "; it says " + s.quote(said.message)
	}
	return e
}

// html is the error of a web page in the place of an answer.
func (s site) html(contentType string) *Error {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = "no content type"
	}
	advice := "OPENAI_BASE_URL probably misses /v1"
	if strings.HasSuffix(s.endpoint, "/v1") {
		advice = "OPENAI_BASE_URL is probably not the address of a model endpoint"
	}
	return s.fail(ClassProtocol, nil, "the model endpoint %s answered with HTML (%s) instead of JSON: %s", kind, advice)
}

// stray is the error of an answer with a status of success that holds something else than events, or nil
// where what came may be the head of a reply.
func (s site) stray(x *exchange) *Error {
	text := bytes.TrimSpace(x.events.stray)
	switch {
	case len(text) == 0:
		return nil
	case !x.events.seen && (isHTML("", text) || isHTML(x.contentType, nil)):
		return s.html(x.contentType)
	case bytes.HasPrefix(text, []byte(`{"error"`)):
		return s.declared(parseSaying(text))
	case x.events.seen || text[0] == '{' || headOfField(text):
		return nil
	}
	return s.noReply(text)
}

// headOfField tells whether a stream that was cut in its first line looks like this.
func headOfField(text []byte) bool {
	for _, field := range []string{"data:", "event:", "id:", "retry:"} {
		if strings.HasPrefix(field, string(text)) {
			return true
		}
	}
	return false
}

func (s site) noReply(text []byte) *Error {
	return s.fail(ClassProtocol, nil, "the model endpoint %s answered with something that is no reply of a model: %s; check OPENAI_BASE_URL",
		s.quote(string(text)))
}

func isHTML(contentType string, body []byte) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "text/html" || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}

func (s site) cut(n int64, err error) *Error {
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return s.fail(ClassTransient, err, "the model endpoint %s broke off: the reply was cut off after %d bytes; try again", n)
}

func (s site) malformed(bad *malformedError) *Error {
	return s.fail(ClassTransient, bad.err, "the model endpoint %s sent an event that is no piece of a reply: %s; try again",
		s.quote(string(bad.raw)))
}

// empty is the error of an answer that ended as it should and holds no message.
func (s site) empty(x *exchange) *Error {
	if x.events.plain {
		return s.noReply(x.events.stray)
	}
	return s.fail(ClassTransient, nil, "the model endpoint %s ended the reply after %d bytes without a message in it; try again", x.received())
}

func (s site) tooLong(err error) *Error {
	return s.fail(ClassProtocol, err, "the model endpoint %s does not come to an end: %s; the reply is refused", err)
}

func (s site) late(limit time.Duration, n int64) *Error {
	return s.fail(ClassTransient, errTimeout, "the model endpoint %s gave no whole reply within %s (%d bytes came): try again, or take a faster model",
		limit, n)
}

func (s site) silent(limit time.Duration, n int64) *Error {
	return s.fail(ClassTransient, errIdle, "the model endpoint %s fell silent for %s after %d bytes of the reply: try again", limit, n)
}

func (s site) unsendable(err error) *Error {
	return s.fail(ClassInvalidRequest, err, "the request to the model endpoint %s cannot be sent: %s", s.plain(err.Error()))
}
