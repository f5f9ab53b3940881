package fetch

import (
	"errors"
	"fmt"
	"net/http"
)

// query is a request that may be sent.
type query struct {
	target *target
	method string
	header http.Header
	body   []byte
	follow bool // redirects are followed
}

func (q *query) follows(resp *Response) bool {
	return q.follow && isRedirect(resp.Status, resp.Header)
}

func isRedirect(status int, header http.Header) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return header.Get("Location") != ""
	}
	return false
}

// next is the request that a redirect leads to, checked like the first; n redirects were followed so far.
func (c *Client) next(q *query, resp *Response, n int) (*query, error) {
	broken := func(cause error) error {
		return &TransportError{Host: q.target.String(), Phase: PhaseRedirect, Sent: true, Status: resp.Status, Cause: cause}
	}
	if n >= c.maxRedirects {
		return nil, broken(fmt.Errorf("more than %d of them", c.maxRedirects))
	}
	to, err := c.parse(http.Header(resp.Header).Get("Location"))
	if err != nil {
		return nil, broken(errors.New("its address is malformed"))
	}
	to = q.target.url.ResolveReference(to)
	if q.target.url.Scheme == "https" && to.Scheme == "http" {
		return nil, &DeniedError{Host: to.Host, Reason: "the redirect leads from https to http, where anyone can read and change it"}
	}
	t, err := c.check(to)
	if err != nil {
		return nil, err
	}
	following := *q
	following.target = t
	if t.origin() != q.target.origin() {
		following.header = forAnyone(q.header)
	}
	return &following, nil
}

// redirected marks an error of a request that an earlier one, which was sent, led to.
func redirected(err error, yes bool) error {
	if !yes {
		return err
	}
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		denied.Redirected = true
	}
	if transport, ok := errors.AsType[*TransportError](err); ok {
		transport.Sent = true
	}
	return err
}
