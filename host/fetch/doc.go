// Package fetch performs HTTP requests for code that is not trusted: the operation http.fetch/1 of guests. It
// goes to hosts that were granted and nowhere else, whatever the URL, the resolver or a redirect says, and it
// tells whether anything of a request that failed reached the wire.
//
// It refuses, before anything is sent and with a *DeniedError that names the grant that would allow it: schemes
// other than http and https, user and password in a URL, hosts and ports without a grant, and names that
// resolve to an address inside (loopback, private, link-local and cloud metadata, multicast, reserved, and the
// IPv6 forms that hold such an IPv4 address). It refuses headers that belong to the connection. It has no
// proxy, no cookies, no decompression and no pool. It never sends a request twice.
//
// Invariants: the address that was checked is the address that is dialed, there is no second look-up between
// the two. One connection carries one request. A *TransportError with Sent false is certain: no byte of the
// request was handed to the network, and none will be. Time, header and body of an answer are bounded; a body
// over the bound is an error and never a shorter body. No error shows a path, a query or a header's value.
//
// It knows nothing of plugins, events and tasks, imports only the standard library, and is safe for concurrent
// use.
package fetch
