package fetch

import (
	"net/http"
	"slices"
	"strings"
)

// maxHeader bounds the header of a request, names and values together. Servers refuse longer ones (8 to 64 KiB).
const maxHeader = 64 << 10

// ofConnection are headers that speak about the connection, the framing or the route and not about the request.
// They are the host's alone: with them a request could be made two (smuggling), lead elsewhere, or wait.
var ofConnection = []string{
	"Connection", "Content-Length", "Expect", "Host", "Http2-Settings", "Keep-Alive", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// toAnyone are the headers that a redirect takes along to another origin. All others may hold a credential:
// there is no list of the names that credentials have.
var toAnyone = []string{
	"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "If-Modified-Since",
	"If-None-Match", "If-Range", "Pragma", "Range", "User-Agent",
}

// header makes the header of a request. Names that differ only in case are one name, so two of them are refused:
// which one wins would be chance.
func (c *Client) header(given map[string]string) (http.Header, error) {
	h := http.Header{"User-Agent": {c.agent}}
	size := 0
	seen := make(map[string]bool, len(given))
	for name, value := range given {
		canonical := http.CanonicalHeaderKey(name)
		size += len(name) + len(value)
		switch {
		case !isToken(name):
			return nil, badRequest("header %q is no name of a header", cut(name))
		case slices.Contains(ofConnection, canonical) || strings.HasPrefix(canonical, "Proxy-"):
			return nil, badRequest("header %q is the host's own: leave it out", canonical)
		case !isValue(value):
			return nil, badRequest("header %q has a line end or another control character in its value", canonical)
		case seen[canonical]:
			return nil, badRequest("header %q is there twice", canonical)
		}
		seen[canonical] = true
		h[canonical] = []string{value}
	}
	if size > maxHeader {
		return nil, badRequest("the header has more than %d bytes", maxHeader)
	}
	return h, nil
}

// forAnyone is what of a header may go to another origin.
func forAnyone(h http.Header) http.Header {
	kept := http.Header{}
	for _, name := range toAnyone {
		if values, ok := h[name]; ok {
			kept[name] = values
		}
	}
	return kept
}

// isToken is the token of RFC 9110.
func isToken(text string) bool {
	for i := range len(text) {
		b := text[i]
		if b <= ' ' || b >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, b) >= 0 {
			return false
		}
	}
	return text != ""
}

// isValue takes what RFC 9110 takes in a value, bytes above ASCII included.
func isValue(text string) bool {
	for i := range len(text) {
		if b := text[i]; b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// isMethod takes methods that a server performs. CONNECT makes a tunnel of the connection; TRACE sends back the
// header, with the secrets that the host put there.
func isMethod(text string) bool {
	if text == "" || len(text) > 20 || text == http.MethodConnect || text == http.MethodTrace || text == "PRI" {
		return false
	}
	return strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == ""
}
