package fetch

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Grant is the permission to send requests to one host, or to the hosts below one domain.
type Grant struct {
	// Host is HOST, HOST:PORT, *.DOMAIN or *.DOMAIN:PORT, where HOST is a name or an IP address (IPv6 in
	// brackets before a port). *.DOMAIN covers any number of labels, and not DOMAIN itself. Without a port it
	// covers 443 for https and 80 for http. An address, and localhost, is itself the permission to connect to
	// it, wherever it lies.
	Host string
	// Private lets a name resolve to a loopback, private or shared address too. Link-local addresses, and so
	// cloud metadata, stay closed to names.
	Private bool
}

// String is the grant as an option's value: http=HOST or http-private=HOST.
func (g Grant) String() string {
	if g.Private {
		return "http-private=" + g.Host
	}
	return "http=" + g.Host
}

// ParseGrant reads a grant as an operator writes it, and puts Host into the form that it is compared in. Its
// errors say what to write instead. Private is left to the caller.
func ParseGrant(text string) (Grant, error) {
	r, err := parseRule(text)
	if err != nil {
		return Grant{}, fmt.Errorf("grant %.100q: %w", text, err)
	}
	return Grant{Host: r.String()}, nil
}

// rule is a grant that was read.
type rule struct {
	host    host
	below   bool   // the hosts below host, and not host
	port    uint16 // 0 for the port of the scheme
	private bool
}

func (r rule) String() string {
	text := r.host.String()
	if r.port != 0 {
		text = net.JoinHostPort(text, strconv.Itoa(int(r.port)))
	}
	if r.below {
		return "*." + text
	}
	return text
}

func (r rule) covers(h host) bool {
	if r.below {
		return h.name != "" && strings.HasSuffix(h.name, "."+r.host.name)
	}
	return r.host == h
}

func (r rule) coversPort(scheme string, port uint16) bool {
	if r.port == 0 {
		return port == schemePort(scheme)
	}
	return port == r.port
}

func parseRule(text string) (rule, error) {
	if err := notAHost(text); err != nil {
		return rule{}, err
	}
	name, port, err := splitPort(text)
	if err != nil {
		return rule{}, err
	}
	r := rule{port: port}
	name, r.below = strings.CutPrefix(name, "*.")
	if strings.Contains(name, "*") {
		return rule{}, errors.New("a * stands only in front of a domain, as in *.example.com")
	}
	r.host, err = parseHost(name)
	switch {
	case err != nil:
		return rule{}, err
	case r.below && (r.host.name == "" || r.host == localhost):
		return rule{}, fmt.Errorf("nothing is below %s: write %s", r.host, r.host)
	case r.host.addr.IsValid():
		if c := classify(r.host.addr); c.reach == never {
			return rule{}, fmt.Errorf("no request can go to %s (%s): write the address of the host itself", r.host, c.what)
		}
	}
	return r, nil
}

// notAHost finds what people write where a host belongs.
func notAHost(text string) error {
	if _, rest, ok := strings.Cut(text, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		return fmt.Errorf("this is a URL: write its host alone, %.100q", host[strings.LastIndex(host, "@")+1:])
	}
	switch {
	case text == "":
		return errors.New("it is empty: write a host, as in api.example.com")
	case text == "*" || text == "*.":
		return errors.New("it would allow every host: name them, or a domain as in *.example.com")
	case strings.ContainsAny(text, " \t\r\n,;"):
		return errors.New("one grant is one host: write a grant for each")
	case strings.Contains(text, "@"):
		return errors.New("a user or password has no place here: write the host alone")
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		return errors.New("ranges of addresses cannot be granted: write each address, or a name with http-private")
	}
	if host, _, ok := strings.Cut(text, "/"); ok {
		return fmt.Errorf("grants have no path: write %.100q", host)
	}
	return nil
}

// splitPort parts HOST:PORT. An IPv6 address loses its brackets, and has no port without them.
func splitPort(text string) (name string, port uint16, err error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inside, after, closed := strings.Cut(inner, "]")
		if !closed || !strings.Contains(inside, ":") || after != "" && after[0] != ':' {
			return "", 0, errors.New("brackets hold an IPv6 address: write [2001:db8::1] or [2001:db8::1]:8443")
		}
		if after == "" {
			return inside, 0, nil
		}
		name, text = inside, after[1:]
	} else {
		if strings.Count(text, ":") != 1 {
			return text, 0, nil
		}
		name, text, _ = strings.Cut(text, ":")
	}
	port, err = parsePort(text)
	return name, port, err
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '+' {
		return 0, fmt.Errorf("the port is %.20q: write a number from 1 to 65535, or leave the colon out", text)
	}
	return uint16(n), nil
}

// schemePort is the port of a URL that names none.
func schemePort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}
