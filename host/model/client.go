package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"
)

// OrdinalHeader carries Request.Ordinal, in decimal. An endpoint that does not know it ignores it.
const OrdinalHeader = "X-Axishost-Ordinal"

const (
	// DefaultTimeout bounds a whole call. Long reasoning on a local machine takes minutes; what takes longer
	// than this is stuck or so slow that no task of many turns would end.
	DefaultTimeout = 10 * time.Minute
	// DefaultIdleTimeout bounds the silence inside an answer that has begun. It is above the time that a
	// loaded server takes to read a long prompt, and far below DefaultTimeout, because a connection that is
	// half open says nothing for ever.
	DefaultIdleTimeout = 2 * time.Minute
	// MaxReplyBytes bounds one answer as received. A streamed token costs about 250 bytes, so it leaves room
	// for 250,000 tokens, more than models write, and an endpoint gone mad cannot fill the memory.
	MaxReplyBytes = 64 << 20
)

// Options says which model of which endpoint a Client asks. BaseURL and Model are required.
type Options struct {
	// BaseURL is the endpoint's address up to and without /chat/completions; it usually ends in /v1. User and
	// password in it are sent as basic authorization where APIKey is empty; a query is kept.
	BaseURL string
	// APIKey is sent as bearer token, to BaseURL's own scheme, host and port only. Empty for endpoints that
	// want none.
	APIKey string
	Model  string
	// IdleTimeout bounds the silence between two bytes of an answer, from its header on. 0 takes
	// DefaultIdleTimeout.
	IdleTimeout time.Duration
	// Timeout bounds a whole call, connecting included. 0 takes DefaultTimeout.
	Timeout time.Duration
	// Transport carries the requests. nil takes one that uses no proxy, not even one named by the
	// environment: the requests hold the key and the whole conversation, so a way around must be asked for.
	// A given transport stays the caller's.
	Transport http.RoundTripper
}

// Validate reports every problem of the options at once, in one line.
func (o Options) Validate() error {
	var problems []string
	if _, err := parseBase(o.BaseURL); err != nil {
		problems = append(problems, err.Error())
	}
	if o.Model == "" {
		problems = append(problems, "the model has no name: set --model or OPENAI_MODEL")
	}
	for _, b := range []byte(o.APIKey) {
		if b <= ' ' || b > '~' {
			problems = append(problems, "the API key holds a space, a line end or another byte that no key has: set OPENAI_API_KEY anew")
			break
		}
	}
	if o.IdleTimeout < 0 || o.Timeout < 0 {
		problems = append(problems, "a timeout is negative")
	}
	if len(problems) > 0 {
		return fmt.Errorf("model options: %s", strings.Join(problems, "; "))
	}
	return nil
}

// Client asks one model of one endpoint. It is safe for concurrent use.
type Client struct {
	site
	target        *url.URL
	key           string
	idle, timeout time.Duration
	http          *http.Client
	owned         *http.Transport // nil where the caller gave the transport
}

// New returns a client for the endpoint. It sends nothing yet.
func New(o Options) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	base, err := parseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	target := *base
	target.Path += "/chat/completions"
	c := &Client{
		site:    newSite(base, o),
		target:  &target,
		key:     o.APIKey,
		idle:    o.IdleTimeout,
		timeout: o.Timeout,
	}
	if c.idle == 0 {
		c.idle = DefaultIdleTimeout
	}
	if c.timeout == 0 {
		c.timeout = DefaultTimeout
	}
	transport := o.Transport
	if transport == nil {
		c.owned = newTransport()
		transport = c.owned
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: checkRedirect}
	return c, nil
}

// Close gives back the idle connections. The client stays usable.
func (c *Client) Close() {
	if c.owned != nil {
		c.owned.CloseIdleConnections()
	}
}

// Complete asks for one reply and waits until it is whole. progress may be nil; it is called on the caller's
// goroutine after each piece that arrived.
//
// It returns ctx.Err() where ctx ended, else an *Error where there is no whole reply. It never retries.
func (c *Client) Complete(ctx context.Context, req Request, progress func(Progress)) (*Reply, error) {
	body, err := encode(c.model, req)
	if err != nil {
		return nil, c.unsendable(err)
	}
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	total := time.AfterFunc(c.timeout, func() { cancel(errTimeout) })
	defer total.Stop()

	x := &exchange{client: c, body: body, ordinal: req.Ordinal, cancel: cancel}
	config := openai.DefaultConfig(c.key)
	config.BaseURL = c.endpoint
	config.HTTPClient = x
	stream, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(call, openai.ChatCompletionRequest{})
	if err != nil {
		return nil, c.failure(ctx, call, x, err)
	}
	defer stream.Close()

	var a assembler
	err = c.receive(stream, &a, progress)
	if err == nil && x.events.done && !a.started {
		err = c.empty(x)
	}
	var own *Error
	whole := a.finish != "" || x.events.done && a.started
	// What goes wrong after the finish costs the usage report at most; the reply is paid for and whole. Only
	// an error that the endpoint declares, and the caller's own cancellation, weigh more.
	if whole && !errors.As(err, &own) && (err == nil || ctx.Err() == nil) {
		return c.withoutSecrets(a.reply()), nil
	}
	return nil, c.failure(ctx, call, x, err)
}

// failure turns what broke a call off into the error that the caller sees. err is nil at the end of a stream
// that did not say that it is the end.
func (c *Client) failure(ctx, call context.Context, x *exchange, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var own *Error
	var bad *malformedError
	switch cause := context.Cause(call); {
	case errors.As(err, &own):
		return own
	case errors.Is(cause, errTimeout):
		return c.late(c.timeout, x.received())
	case errors.Is(cause, errIdle):
		return c.silent(c.idle, x.received())
	case errors.As(err, &bad):
		return c.malformed(bad)
	case errors.Is(err, errTooLong):
		return c.tooLong(err)
	case x.events == nil:
		return c.unsendable(err)
	}
	if e := c.stray(x); e != nil {
		return e
	}
	return c.cut(x.received(), err)
}

// receive feeds a with the stream until it ends, properly or not: nil says only that no more comes.
func (c *Client) receive(stream *openai.ChatCompletionStream, a *assembler, progress func(Progress)) error {
	for {
		raw, err := stream.RecvRaw()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var piece chunk
		if err := json.Unmarshal(raw, &piece); err != nil {
			return &malformedError{raw: raw, err: err}
		}
		if said, failed := piece.failure(raw); failed {
			return c.declared(said)
		}
		if err := a.add(piece); err != nil {
			return c.tooLong(err)
		}
		if progress != nil {
			progress(a.progress())
		}
	}
}

// parseBase reads a base URL. Its errors never show a user or a password.
func parseBase(base string) (*url.URL, error) {
	if base == "" {
		return nil, errors.New("the model endpoint has no address: set OPENAI_BASE_URL")
	}
	u, err := url.Parse(base)
	switch {
	case err != nil && strings.Contains(base, "@"):
		return nil, errors.New("OPENAI_BASE_URL is not a URL")
	case err != nil:
		return nil, fmt.Errorf("OPENAI_BASE_URL %.100q is not a URL", base)
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("OPENAI_BASE_URL must look like http://127.0.0.1:8080/v1 or https://host/v1")
	}
	u.Path, u.RawPath, u.Fragment = strings.TrimRight(u.Path, "/"), "", ""
	return u, nil
}
