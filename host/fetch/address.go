package fetch

import "net/netip"

// reach says what opens an address.
type reach int

const (
	// public: any grant of a name.
	public reach = iota
	// inside: a name granted with Private, or the address itself.
	inside
	// literal: the address itself. A name never leads there: nobody gives these addresses names, except to
	// lead a client astray.
	literal
	// never: nothing, no host has such an address.
	never
)

// class is what an address is, in words for people.
type class struct {
	reach reach
	what  string
}

// ranges are the registries of special addresses (RFC 6890 and what came after), the more special first. What
// is in none of them is public in IPv4, and in IPv6 where it lies in 2000::/3.
var ranges = []struct {
	prefix netip.Prefix
	class
}{
	// Services of clouds that give credentials to whoever asks.
	{in("169.254.169.254/32"), class{literal, "link-local, cloud metadata"}},
	{in("100.100.100.200/32"), class{literal, "cloud metadata"}},
	{in("168.63.129.16/32"), class{literal, "cloud metadata"}},
	{in("fd00:ec2::/32"), class{literal, "cloud metadata"}},
	{in("fd20:ce::254/128"), class{literal, "cloud metadata"}},

	{in("0.0.0.0/8"), class{never, "unspecified"}},
	{in("10.0.0.0/8"), class{inside, "private"}},
	{in("100.64.0.0/10"), class{inside, "shared, carrier-grade NAT"}},
	{in("127.0.0.0/8"), class{inside, "loopback"}},
	{in("169.254.0.0/16"), class{literal, "link-local"}},
	{in("172.16.0.0/12"), class{inside, "private"}},
	{in("192.0.0.0/24"), class{literal, "reserved for protocols"}},
	{in("192.0.2.0/24"), class{literal, "documentation"}},
	{in("192.88.99.0/24"), class{literal, "6to4 relay"}},
	{in("192.168.0.0/16"), class{inside, "private"}},
	{in("198.18.0.0/15"), class{literal, "benchmarking"}},
	{in("198.51.100.0/24"), class{literal, "documentation"}},
	{in("203.0.113.0/24"), class{literal, "documentation"}},
	{in("224.0.0.0/4"), class{never, "multicast"}},
	{in("255.255.255.255/32"), class{never, "broadcast"}},
	{in("240.0.0.0/4"), class{literal, "reserved"}},

	{in("::/128"), class{never, "unspecified"}},
	{in("::1/128"), class{inside, "loopback"}},
	{in("::/96"), class{literal, "IPv4-compatible"}},
	{in("64:ff9b:1::/48"), class{literal, "local NAT64"}},
	{in("2001::/32"), class{literal, "Teredo"}},
	{in("2001:2::/48"), class{literal, "benchmarking"}},
	{in("2001::/23"), class{literal, "reserved for protocols"}},
	{in("2001:db8::/32"), class{literal, "documentation"}},
	{in("2002::/16"), class{literal, "6to4"}},
	{in("3fff::/20"), class{literal, "documentation"}},
	{in("fc00::/7"), class{inside, "private"}},
	{in("fe80::/10"), class{literal, "link-local"}},
	{in("fec0::/10"), class{literal, "site-local"}},
	{in("ff00::/8"), class{never, "multicast"}},
}

var (
	// global is the only part of IPv6 that is given to hosts.
	global = in("2000::/3")
	// nat64 is how an IPv4 host is reached from a network that has only IPv6: its DNS makes such addresses for
	// every name. The IPv4 address is in the last four bytes.
	nat64 = in("64:ff9b::/96")
)

func in(prefix string) netip.Prefix { return netip.MustParsePrefix(prefix) }

// classify says what an address is. It looks through the forms of IPv6 that lead to an IPv4 address.
func classify(addr netip.Addr) class {
	switch {
	case !addr.IsValid():
		return class{never, "no address"}
	case addr.Zone() != "":
		return class{never, "of a zone of this machine"}
	}
	addr = addr.Unmap()
	if nat64.Contains(addr) {
		b := addr.As16()
		c := classify(netip.AddrFrom4([4]byte(b[12:])))
		if c.reach == public {
			return c
		}
		return class{max(c.reach, literal), "NAT64 of an address that is " + c.what}
	}
	for _, r := range ranges {
		if r.prefix.Contains(addr) {
			return r.class
		}
	}
	if addr.Is6() && !global.Contains(addr) {
		return class{literal, "reserved"}
	}
	return class{public, "public"}
}
