package fetch

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// host is a name or an address in the one form that hosts are compared in.
type host struct {
	name string     // lower case, no dot at its end; empty for an address
	addr netip.Addr // no zone, and IPv4 as IPv4
}

// localhost is not asked of a resolver: it is this machine, whatever a resolver says.
var localhost = host{name: "localhost"}

func (h host) String() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// maxName and maxLabel are the bounds of DNS.
const (
	maxName  = 253
	maxLabel = 63
)

// parseHost reads a host without port and brackets. What C libraries take for an IPv4 address and others for a
// name (127.1, 0x7f000001, 2130706433, 0177.0.0.1) is neither here.
func parseHost(text string) (host, error) {
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	switch {
	case name == "":
		return host{}, errors.New("the host is missing")
	case strings.Contains(name, ":"):
		return parseIPv6(name)
	case endsInNumber(name):
		addr, err := netip.ParseAddr(name)
		if err != nil {
			return host{}, errors.New("this is no IPv4 address in plain form: write four decimal numbers, as in 127.0.0.1")
		}
		return host{addr: addr}, nil
	case len(name) > maxName:
		return host{}, fmt.Errorf("the name has more than %d bytes", maxName)
	}
	for label := range strings.SplitSeq(name, ".") {
		if err := checkLabel(label); err != nil {
			return host{}, err
		}
	}
	return host{name: name}, nil
}

func parseIPv6(text string) (host, error) {
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return host{}, errors.New("this is no IPv6 address: write it as in [2001:db8::1], a port behind the bracket")
	case addr.Zone() != "":
		return host{}, errors.New("addresses with a zone (%) are refused: they mean another host on each machine")
	case addr.Is4In6():
		return host{}, fmt.Errorf("this is an IPv4 address in IPv6 form: write %s", addr.Unmap())
	}
	return host{addr: addr}, nil
}

// endsInNumber is the test by which browsers tell an IPv4 address from a name: no top-level domain is a number.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

func checkLabel(label string) error {
	switch {
	case label == "":
		return errors.New("the name has two dots in a row or begins with one")
	case len(label) > maxLabel:
		return fmt.Errorf("a part of the name has more than %d bytes", maxLabel)
	}
	for _, r := range label {
		switch {
		case r >= 0x80:
			return errors.New("the name is not ASCII: write its xn-- form, which cannot be mistaken for another name")
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_':
		default:
			return fmt.Errorf("a name cannot have %q in it", r)
		}
	}
	return nil
}
