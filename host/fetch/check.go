package fetch

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURL bounds a URL. Servers refuse longer request lines (nginx and Apache: 8 KiB).
const maxURL = 8 << 10

// target is where a request goes, granted.
type target struct {
	url     *url.URL // its host in the form of grants
	host    host
	port    uint16
	private bool // a name may resolve to an address inside
}

// String is the host, with the port where it is not the scheme's own.
func (t *target) String() string { return hostPort(t.url.Scheme, t.host, t.port) }

func (t *target) address() string {
	return net.JoinHostPort(t.host.String(), strconv.Itoa(int(t.port)))
}

// origin is what credentials belong to.
func (t *target) origin() string { return t.url.Scheme + "://" + t.address() }

func hostPort(scheme string, h host, port uint16) string {
	if port == schemePort(scheme) {
		return h.String()
	}
	return net.JoinHostPort(h.String(), strconv.Itoa(int(port)))
}

func (c *Client) parse(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, badRequest("the URL has more than %d bytes", maxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		// The error of url.Parse shows the whole URL, and with it what may be a secret.
		return nil, badRequest("the URL is malformed: write it as in https://example.com/path?a=b")
	}
	return u, nil
}

// check holds a URL against the grants. Its errors are *DeniedError.
func (c *Client) check(u *url.URL) (*target, error) {
	deny := func(reason string) error { return &DeniedError{Host: u.Host, Reason: reason} }
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, deny("the scheme is " + strconv.Quote(cut(u.Scheme)) + ", only https and http are possible")
	case u.User != nil:
		return nil, deny("the URL holds a user or password: send them in the authorization header")
	case u.Opaque != "" || u.Host == "":
		return nil, deny("the URL has no host: write it as in https://example.com/path")
	}
	h, err := parseHost(u.Hostname())
	if err != nil {
		return nil, deny(err.Error())
	}
	port := schemePort(u.Scheme)
	if text := u.Port(); text != "" {
		if port, err = parsePort(text); err != nil {
			return nil, deny(err.Error())
		}
	}
	private, err := c.granted(u.Scheme, h, port)
	if err != nil {
		return nil, err
	}
	clean := *u
	clean.Host = bracketed(u.Scheme, h, port)
	clean.Fragment, clean.RawFragment = "", ""
	return &target{url: &clean, host: h, port: port, private: private}, nil
}

// bracketed is the host as a URL has it.
func bracketed(scheme string, h host, port uint16) string {
	if h.addr.Is6() && port == schemePort(scheme) {
		return "[" + h.String() + "]"
	}
	return hostPort(scheme, h, port)
}

// granted says whether a grant covers the host and port, and whether one that does is private.
func (c *Client) granted(scheme string, h host, port uint16) (private bool, err error) {
	denied := &DeniedError{Host: hostPort(scheme, h, port)}
	if h.addr.IsValid() {
		if k := classify(h.addr); k.reach == never {
			denied.Reason = "no request can go to this address (" + k.what + ")"
			return false, denied
		}
	}
	granted, other := false, false
	for _, r := range c.rules {
		if !r.covers(h) {
			continue
		}
		if !r.coversPort(scheme, port) {
			other = true
			continue
		}
		granted = true
		private = private || r.private
	}
	if granted {
		return private, nil
	}
	denied.Allow = Grant{Host: denied.Host}.String()
	denied.Reason = "the host is not granted"
	if other {
		denied.Reason = "port " + strconv.Itoa(int(port)) + " of the host is not granted"
	}
	return false, denied
}

// reachable keeps the addresses of a name that its grant opens, in their order. Where it opens none, the error
// is a *DeniedError about the one that a grant could open most easily.
func (t *target) reachable(addrs []netip.Addr) ([]netip.Addr, error) {
	most := public
	if t.private {
		most = inside
	}
	var open []netip.Addr
	var worst class
	var refused netip.Addr
	for _, addr := range addrs {
		addr = addr.Unmap()
		k := classify(addr)
		if k.reach <= most {
			open = append(open, addr)
			continue
		}
		if !refused.IsValid() || k.reach < worst.reach {
			worst, refused = k, addr
		}
	}
	if len(open) > 0 || !refused.IsValid() {
		return open, nil
	}
	denied := &DeniedError{Host: t.String(), Reason: "its address is " + refused.String() + " (" + worst.what + ")"}
	switch worst.reach {
	case inside:
		denied.Allow = Grant{Host: denied.Host, Private: true}.String()
	case literal:
		denied.Reason += ", to which no name may lead: ask for the address itself"
		denied.Allow = Grant{Host: hostPort(t.url.Scheme, host{addr: refused}, t.port)}.String()
	}
	return nil, denied
}

// cut shortens what others wrote.
func cut(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
