package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

var (
	errTimeout = errors.New("the call took too long")
	errIdle    = errors.New("the endpoint fell silent")
	errTooLong = fmt.Errorf("the reply is longer than %d bytes", MaxReplyBytes)
)

// maxErrorBody bounds what is read of an answer that is an error. Its text is shown cut far shorter.
const maxErrorBody = 64 << 10

// exchange is one HTTP round trip. go-openai sees it as its HTTP client; it sends the body that encode made
// and hands go-openai the answer's events one whole JSON value a line.
type exchange struct {
	client  *Client
	body    []byte
	ordinal int
	cancel  context.CancelCauseFunc
	meter   *meter // nil until the answer's header came

	// Of an answer whose status says success; events is nil for others.
	events      *events
	contentType string
}

// Do sends the request. Its errors are *Error, except those that the call's context caused.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	target := *x.client.target
	req.URL = &target
	req.ContentLength = int64(len(x.body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
	req.Body, _ = req.GetBody()
	req.Header.Set("User-Agent", "axishost")
	if x.ordinal > 0 {
		req.Header.Set(OrdinalHeader, strconv.Itoa(x.ordinal))
	}
	resp, err := x.client.http.Do(req)
	if err != nil && req.Context().Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, x.client.unreachable(err)
	}
	x.meter = newMeter(resp.Body, x.client.idle, x.cancel)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer x.meter.Close()
		// A body that breaks off still has the status, which says more.
		body, _ := io.ReadAll(io.LimitReader(x.meter, maxErrorBody))
		return nil, x.client.status(resp, body)
	}
	x.contentType = resp.Header.Get("Content-Type")
	x.events = newEvents(x.meter)
	resp.Body = x.events
	return resp, nil
}

// received is how many bytes of the answer came in.
func (x *exchange) received() int64 {
	if x.meter == nil {
		return 0
	}
	return x.meter.n
}

// meter counts and bounds the bytes of an answer and cancels the call when none come for too long. Only the
// time inside Read counts: a slow reader is not a silent endpoint.
type meter struct {
	body  io.ReadCloser
	n     int64
	idle  time.Duration
	timer *time.Timer
}

func newMeter(body io.ReadCloser, idle time.Duration, cancel context.CancelCauseFunc) *meter {
	m := &meter{body: body, idle: idle, timer: time.AfterFunc(idle, func() { cancel(errIdle) })}
	m.timer.Stop()
	return m
}

func (m *meter) Read(p []byte) (int, error) {
	if m.n > MaxReplyBytes {
		return 0, errTooLong
	}
	m.timer.Reset(m.idle)
	n, err := m.body.Read(p)
	m.timer.Stop()
	m.n += int64(n)
	if m.n > MaxReplyBytes {
		return n, errTooLong
	}
	return n, err
}

func (m *meter) Close() error {
	m.timer.Stop()
	return m.body.Close()
}

// newTransport has no proxy and no compression: a compressed stream arrives in lumps, and its size says
// nothing about what it unpacks to.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		TLSHandshakeTimeout: 15 * time.Second,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
	}
}

// redirectError is a redirect that was not followed.
type redirectError struct{ to string }

func (e *redirectError) Error() string { return "redirect to " + e.to + " not followed" }

// checkRedirect follows a redirect only where the key and the conversation stay with the configured scheme,
// host and port, and only as the POST that it was.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	same := req.URL.Scheme == first.URL.Scheme && strings.EqualFold(req.URL.Host, first.URL.Host)
	if !same || req.Method != first.Method || len(via) > 3 {
		return &redirectError{to: req.URL.Scheme + "://" + req.URL.Host + req.URL.Path}
	}
	return nil
}

// shown is a URL without user, password, query and fragment.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
