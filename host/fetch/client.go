package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

const (
	// DefaultMaxResponse bounds an answer's body: a model reads far less, and a guest's memory holds it
	// several times over while it is decoded.
	DefaultMaxResponse = 4 << 20
	// DefaultMaxRedirects is enough for http to https, a moved name, a trailing slash and a sign of language;
	// longer chains are loops.
	DefaultMaxRedirects = 5
	// DefaultTimeout is how long a request may take that does not say: most services answer within seconds,
	// and a gateway gives up after 30 to 60 of them.
	DefaultTimeout = 30 * time.Second
	// DefaultUserAgent names who asks, so that an operator of a service knows whom to ask.
	DefaultUserAgent = "axishost"
)

const (
	// maxAnswerHeader bounds the header of an answer; the largest of real services (policies, cookies) have 16 KiB.
	maxAnswerHeader = 64 << 10
	// maxAddresses is how many addresses of a name are tried; large services give eight.
	maxAddresses = 8
	// dialTimeout is how long one address is tried while there is another: one family of addresses that leads
	// nowhere must not take the time of the other.
	dialTimeout = 5 * time.Second
)

// Resolver finds the addresses of a name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options has a zero value that works.
type Options struct {
	MaxResponse  int64         // bytes of an answer's body; 0 takes DefaultMaxResponse
	MaxRedirects int           // 0 takes DefaultMaxRedirects, below 0 follows none
	Timeout      time.Duration // of a request that names none; 0 takes DefaultTimeout
	MaxTimeout   time.Duration // over what any request names; 0 leaves it to the caller's context
	UserAgent    string        // of a request that names none; "" takes DefaultUserAgent
	RootCAs      *x509.CertPool
	// Resolver finds addresses; nil takes the system's. It is asked once a connection.
	Resolver Resolver
	// Dial connects to an address that was checked, always an IP address and a port; nil takes a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Validate reports every problem of the options at once.
func (o Options) Validate() error {
	var problems []error
	if o.MaxResponse < 0 {
		problems = append(problems, fmt.Errorf("the bound of answers is %d bytes", o.MaxResponse))
	}
	if o.Timeout < 0 || o.MaxTimeout < 0 {
		problems = append(problems, errors.New("a time is negative"))
	}
	if !isValue(o.UserAgent) {
		problems = append(problems, errors.New("the user agent holds a control character"))
	}
	return errors.Join(problems...)
}

// Client sends requests to the hosts that it was granted. It is safe for concurrent use, and holds nothing open.
type Client struct {
	rules        []rule
	maxResponse  int64
	maxRedirects int
	timeout      time.Duration
	maxTimeout   time.Duration
	agent        string
	tls          *tls.Config
	resolver     Resolver
	dial         func(ctx context.Context, network, address string) (net.Conn, error)
}

// New returns a client for the hosts of grants; without grants it refuses every request.
func New(grants []Grant, o Options) (*Client, error) {
	problems := []error{o.Validate()}
	c := &Client{
		maxResponse:  o.MaxResponse,
		maxRedirects: o.MaxRedirects,
		timeout:      o.Timeout,
		maxTimeout:   o.MaxTimeout,
		agent:        o.UserAgent,
		tls:          &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		resolver:     o.Resolver,
		dial:         o.Dial,
	}
	for _, g := range grants {
		r, err := parseRule(g.Host)
		if err != nil {
			problems = append(problems, fmt.Errorf("grant %.100q: %w", g.Host, err))
			continue
		}
		r.private = g.Private
		c.rules = append(c.rules, r)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	c.setDefaults()
	return c, nil
}

func (c *Client) setDefaults() {
	if c.maxResponse == 0 {
		c.maxResponse = DefaultMaxResponse
	}
	if c.maxRedirects == 0 {
		c.maxRedirects = DefaultMaxRedirects
	}
	if c.timeout == 0 {
		c.timeout = DefaultTimeout
	}
	if c.agent == "" {
		c.agent = DefaultUserAgent
	}
	if c.resolver == nil {
		c.resolver = net.DefaultResolver
	}
	if c.dial == nil {
		c.dial = new(net.Dialer).DialContext
	}
}

// Request is what a guest asks for. Do changes nothing of it, and keeps nothing of it after it returned.
type Request struct {
	Method string // upper case; "" is GET
	URL    string
	Header map[string]string
	Body   []byte
	// Timeout bounds the whole request with its redirects and the body of the answer. 0 takes that of the
	// client; the client's MaxTimeout and the context's end hold as well.
	Timeout time.Duration
}

// Response is a whole answer, of whatever status.
type Response struct {
	Status int
	// Header is the answer's header by canonical name, as the server sent it: values may hold bytes that are
	// not UTF-8.
	Header map[string][]string
	// Body is the body as it was sent: compressed where the request asked for that.
	Body []byte
	// URL is where the answer came from, which a redirect may have changed.
	URL string
}

// Do sends a request, and follows redirects where it is a GET or HEAD without body; for others a redirect is the
// answer. It sends each request at most once.
//
// Its errors are *RequestError (nothing could be sent), *DeniedError (nothing was sent, beyond what led to a
// redirect) and *TransportError, whose cause is that of the context where the context ended.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	q, err := c.prepare(r)
	if err != nil {
		return nil, err
	}
	limit := c.limit(r.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("took longer than %s: %w", limit, context.DeadlineExceeded))
	defer cancel()
	for n := 0; ; n++ {
		resp, err := c.exchange(ctx, q)
		if err != nil {
			return nil, redirected(err, n > 0)
		}
		if !q.follows(resp) {
			return resp, nil
		}
		if q, err = c.next(q, resp, n); err != nil {
			return nil, redirected(err, true)
		}
	}
}

func (c *Client) limit(asked time.Duration) time.Duration {
	if asked == 0 {
		asked = c.timeout
	}
	if c.maxTimeout > 0 {
		return min(asked, c.maxTimeout)
	}
	return asked
}

// prepare checks all of a request that can be checked without the network.
func (c *Client) prepare(r Request) (*query, error) {
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	switch {
	case !isMethod(method):
		return nil, badRequest("method %q is not possible: write GET, POST or another in capitals", cut(method))
	case r.Timeout < 0:
		return nil, badRequest("the timeout is %s", r.Timeout)
	}
	u, err := c.parse(r.URL)
	if err != nil {
		return nil, err
	}
	t, err := c.check(u)
	if err != nil {
		return nil, err
	}
	header, err := c.header(r.Header)
	if err != nil {
		return nil, err
	}
	return &query{
		target: t,
		method: method,
		header: header,
		body:   r.Body,
		follow: c.maxRedirects > 0 && len(r.Body) == 0 && (method == http.MethodGet || method == http.MethodHead),
	}, nil
}
