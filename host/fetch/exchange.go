package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
)

// exchange sends one request over a connection of its own and reads the answer; of a redirect that is followed,
// the header alone.
func (c *Client) exchange(ctx context.Context, q *query) (*Response, error) {
	h := &hop{client: c, target: q.target, phase: PhaseResolve}
	conn, err := h.connect(ctx)
	if err != nil {
		return nil, err
	}
	// It waits for nothing: what is still being written or read is cut off.
	defer conn.Close()

	req := q.request(ctx)
	h.phase = PhaseAnswer
	if ctx.Err() != nil {
		return nil, h.failure(ctx, false, 0, ctx.Err())
	}
	h.wire.arm()
	answer, err := conn.RoundTrip(req)
	if err != nil {
		return nil, h.failure(ctx, h.wire.seal(), 0, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return nil, h.failure(ctx, true, answer.StatusCode, errors.New("the server changes the protocol, which nobody asked for"))
	}
	resp := &Response{Status: answer.StatusCode, Header: answer.Header, URL: q.target.url.String()}
	if q.follows(resp) {
		return resp, nil
	}
	h.phase = PhaseBody
	resp.Body, err = c.read(answer)
	if err != nil {
		return nil, h.failure(ctx, true, answer.StatusCode, err)
	}
	return resp, nil
}

func (q *query) request(ctx context.Context) *http.Request {
	req := &http.Request{
		Method: q.method,
		URL:    q.target.url,
		Header: q.header.Clone(),
		Host:   q.target.url.Host,
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(q.body)),
	}
	if len(q.body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(q.body))
	}
	return req.WithContext(ctx)
}

// read reads a body within the bound. Where its length is known to be over it, it reads nothing.
func (c *Client) read(answer *http.Response) ([]byte, error) {
	if answer.ContentLength > c.maxResponse && answer.Request.Method != http.MethodHead {
		return nil, &TooLargeError{Limit: c.maxResponse}
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, c.maxResponse+1))
	if int64(len(body)) > c.maxResponse {
		return nil, &TooLargeError{Limit: c.maxResponse}
	}
	return body, err
}

// hop is the way of one request. Its fields are the goroutine's that runs the exchange.
type hop struct {
	client *Client
	target *target
	phase  Phase
	wire   *wire
}

// connect makes the connection, up to the end of the TLS handshake. The transport is there for this connection
// alone: its pool, its retries and its second dial are never reached.
func (h *hop) connect(ctx context.Context) (*http.ClientConn, error) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	transport := &http.Transport{
		Proxy:                  nil, // and so none that the environment names
		DialContext:            h.dial,
		TLSClientConfig:        h.client.tls.Clone(),
		Protocols:              protocols,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxAnswerHeader,
	}
	conn, err := transport.NewClientConn(ctx, h.target.url.Scheme, h.target.address())
	if err != nil {
		// The request was not handed over yet.
		return nil, h.failure(ctx, false, 0, err)
	}
	return conn, nil
}

// dial resolves the name, checks the addresses, and connects to one of those that it checked. The address that
// net/http hands over is the target's own and holds the name: it is not looked at.
func (h *hop) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	addrs, err := h.addresses(ctx)
	if err != nil {
		return nil, err
	}
	h.phase = PhaseConnect
	for i, addr := range addrs {
		conn, failed := h.dialOne(ctx, network, addr, i == len(addrs)-1)
		if failed == nil {
			h.phase = PhaseTLS
			h.wire = &wire{Conn: conn}
			return h.wire, nil
		}
		// The first is the resolver's preference, and says most.
		if err == nil {
			err = failed
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

func (h *hop) dialOne(ctx context.Context, network string, addr netip.Addr, last bool) (net.Conn, error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialTimeout)
		defer cancel()
	}
	return h.client.dial(ctx, network, net.JoinHostPort(addr.String(), strconv.Itoa(int(h.target.port))))
}

// addresses are those that the request may go to.
func (h *hop) addresses(ctx context.Context) ([]netip.Addr, error) {
	switch {
	case h.target.host.addr.IsValid():
		return []netip.Addr{h.target.host.addr}, nil
	case h.target.host == localhost:
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	found, err := h.client.resolver.LookupNetIP(ctx, "ip", h.target.host.name)
	if err != nil {
		return nil, err
	}
	open, err := h.target.reachable(found)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return nil, errors.New("the name has no address")
	}
	return open[:min(len(open), maxAddresses)], nil
}

// failure turns what broke a request off into the error that the caller sees.
func (h *hop) failure(ctx context.Context, sent bool, status int, err error) error {
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		return denied
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the server closed the connection without an answer: %w", io.ErrUnexpectedEOF)
	}
	return &TransportError{Host: h.target.String(), Phase: h.phase, Sent: sent, Status: status, Cause: err}
}
