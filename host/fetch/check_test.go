package fetch

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestURLsDenied(t *testing.T) {
	w := serve(t, unasked(t))
	c := w.client(t, Options{}, "example.com", "example.com:8443", "*.wild.example", "ported.example:9000", "127.0.0.1:1")
	for text, want := range map[string]struct{ reason, allow string }{
		"ftp://example.com/":             {`scheme is "ftp"`, ""},
		"file:///etc/passwd":             {`scheme is "file"`, ""},
		"gopher://example.com:70/x":      {`scheme is "gopher"`, ""},
		"//example.com/":                 {`scheme is ""`, ""},
		"example.com":                    {`scheme is ""`, ""},
		"http:example.com":               {"no host", ""},
		"http:///path":                   {"no host", ""},
		"https://:443/":                  {"missing", ""},
		"https://user@example.com/":      {"user or password", ""},
		"https://:@example.com/":         {"user or password", ""},
		"https://example.com@other.org/": {"user or password", ""},

		"https://other.example/":                  {"not granted", "http=other.example"},
		"http://other.example:80/":                {"not granted", "http=other.example"},
		"http://other.example:443/":               {"not granted", "http=other.example:443"},
		"https://example.com.evil.org/":           {"not granted", "http=example.com.evil.org"},
		"https://wild.example/":                   {"not granted", "http=wild.example"},
		"https://example.com:444/":                {"port 444", "http=example.com:444"},
		"http://example.com:443/":                 {"port 443", "http=example.com:443"},
		"https://a.wild.example:8443/":            {"port 8443", "http=a.wild.example:8443"},
		"https://ported.example/":                 {"port 443", "http=ported.example"},
		"http://localhost:8080/":                  {"not granted", "http=localhost:8080"},
		"http://127.0.0.1/":                       {"port 80", "http=127.0.0.1"},
		"http://127.0.0.2:1/":                     {"not granted", "http=127.0.0.2:1"},
		"http://169.254.169.254/latest":           {"not granted", "http=169.254.169.254"},
		"http://[::1]:8080/":                      {"not granted", "http=[::1]:8080"},
		"http://[::1]/":                           {"not granted", "http=::1"},
		"http://[fd00:ec2::254]/":                 {"not granted", "http=fd00:ec2::254"},
		"http://[64:ff9b::127.0.0.1]/":            {"not granted", "http=64:ff9b::7f00:1"},
		"http://0.0.0.0/":                         {"unspecified", ""},
		"http://[::]/":                            {"unspecified", ""},
		"http://224.0.0.1/":                       {"multicast", ""},
		"http://255.255.255.255/":                 {"broadcast", ""},
		"http://example.com:0/":                   {"port", ""},
		"http://example.com:65536/":               {"port", ""},
		"http://[fe80::1%25eth0]/":                {"zone", ""},
		"http://[::ffff:127.0.0.1]/":              {"write 127.0.0.1", ""},
		"http://[::ffff:7f00:1]/":                 {"write 127.0.0.1", ""},
		"http://127.1:1/":                         {"four decimal", ""},
		"http://127.0.1:1/":                       {"four decimal", ""},
		"http://2130706433:1/":                    {"four decimal", ""},
		"http://0x7f000001:1/":                    {"four decimal", ""},
		"http://0X7F.1:1/":                        {"four decimal", ""},
		"http://0177.0.0.1:1/":                    {"four decimal", ""},
		"http://017700000001:1/":                  {"four decimal", ""},
		"http://127.0.0.0x1:1/":                   {"four decimal", ""},
		"http://0x.1:1/":                          {"four decimal", ""},
		"http://127.0.0.1.:1x/":                   {}, // malformed
		"http://\uff11.2.3.4:1/":                  {"four decimal", ""},
		"http://%EF%BC%91.2.3.4:1/":               {"four decimal", ""},
		"http://1.2.3.\uff14:1/":                  {"xn--", ""},
		"http://ex\uff41mple.com/":                {"xn--", ""},
		"http://exa%6dple.com/":                   {}, // malformed
		"http://example.com\\@evil.org/":          {}, // malformed
		"http://exam\tple.com/":                   {}, // malformed
		"http://example.com/\r\nHost: x":          {}, // malformed
		"http://[::1/":                            {}, // malformed
		"http://example.com:80:80/":               {}, // malformed
		"http://a/" + strings.Repeat("x", maxURL): {}, // too long
	} {
		_, err := get(t, c, text)
		if want.reason == "" {
			var request *RequestError
			assert.ErrorAs(t, err, &request, text)
			continue
		}
		denied := requireDenied(t, err)
		assert.Contains(t, denied.Reason, want.reason, text)
		assert.Equal(t, want.allow, denied.Allow, text)
		assert.False(t, denied.Redirected)
		if want.allow != "" {
			assert.Contains(t, err.Error(), "--allow "+want.allow+" allows it")
			_, err := ParseGrant(strings.TrimPrefix(want.allow, "http="))
			assert.NoError(t, err, "the grant that %s names", text)
		}
	}
	assert.Empty(t, w.dials())
	assert.Empty(t, w.asked)
}

func TestURLsGranted(t *testing.T) {
	c := newClient(t, Options{}, "example.com", "example.com:8443", "*.wild.example", "127.0.0.1:1", "::1", "[::1]:81")
	for text, want := range map[string]string{
		"HTTPS://EXAMPLE.com./a?b=c#d":    "https://example.com/a?b=c",
		"http://example.com":              "http://example.com",
		"http://example.com:80/":          "http://example.com/",
		"http://example.com:/":            "http://example.com/",
		"http://example.com:8443/":        "http://example.com:8443/",
		"https://example.com:08443/":      "https://example.com:8443/",
		"https://a.b.wild.example/":       "https://a.b.wild.example/",
		"http://127.0.0.1.:1/":            "http://127.0.0.1:1/",
		"http://[0:0:0:0:0:0:0:1]/":       "http://[::1]/",
		"http://[::1]:81/":                "http://[::1]:81/",
		"https://example.com/%2e%2e/a%0d": "https://example.com/%2e%2e/a%0d",
	} {
		u, err := c.parse(text)
		require.NoError(t, err)
		target, err := c.check(u)
		require.NoError(t, err, text)
		assert.Equal(t, want, target.url.String())
	}
}

// A grant says nothing about addresses; what a name resolves to decides.
func TestAddressesOfNames(t *testing.T) {
	for _, test := range []struct {
		name    string
		private bool
		addrs   []string
		dialed  string
		allow   string
	}{
		{name: "public", addrs: []string{somewhere}, dialed: somewhere + ":80"},
		{name: "public of IPv6", addrs: []string{"2606:4700::1111"}, dialed: "[2606:4700::1111]:80"},
		{name: "public in IPv6 form", addrs: []string{"::ffff:8.8.8.8"}, dialed: "8.8.8.8:80"},
		{name: "loopback", addrs: []string{"127.0.0.1"}, allow: "http-private=example.com"},
		{name: "loopback of IPv6", addrs: []string{"::1"}, allow: "http-private=example.com"},
		{name: "loopback in IPv6 form", addrs: []string{"::ffff:127.0.0.1"}, allow: "http-private=example.com"},
		{name: "private", addrs: []string{"10.1.2.3"}, allow: "http-private=example.com"},
		{name: "one of two is private", addrs: []string{"10.1.2.3", somewhere}, dialed: somewhere + ":80"},
		{name: "metadata", addrs: []string{"169.254.169.254"}, allow: "http=169.254.169.254"},
		{name: "metadata of IPv6", addrs: []string{"fd00:ec2::254"}, allow: "http=fd00:ec2::254"},
		{name: "metadata before private", addrs: []string{"169.254.169.254", "10.1.2.3"}, allow: "http-private=example.com"},
		{name: "multicast", addrs: []string{"224.0.0.1"}},
		{name: "unspecified", addrs: []string{"0.0.0.0"}},
		{name: "NAT64 of loopback", addrs: []string{"64:ff9b::7f00:1"}, allow: "http=64:ff9b::7f00:1"},
		{name: "a zone", addrs: []string{"fe80::1%lo"}},

		{name: "private, granted", private: true, addrs: []string{"10.1.2.3"}, dialed: "10.1.2.3:80"},
		{name: "loopback, granted", private: true, addrs: []string{"::1"}, dialed: "[::1]:80"},
		{name: "public, granted as private", private: true, addrs: []string{somewhere}, dialed: somewhere + ":80"},
		{name: "metadata, granted as private", private: true, addrs: []string{"169.254.169.254"}, allow: "http=169.254.169.254"},
		{name: "Azure, granted as private", private: true, addrs: []string{"168.63.129.16"}, allow: "http=168.63.129.16"},
		{name: "unspecified, granted as private", private: true, addrs: []string{"::"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := serve(t, body("ok"))
			w.answers["example.com"] = [][]string{test.addrs}
			c, err := New([]Grant{{Host: "example.com", Private: test.private}}, Options{Resolver: w, Dial: w.dial})
			require.NoError(t, err)
			_, err = get(t, c, "http://example.com/")
			if test.dialed != "" {
				require.NoError(t, err)
				assert.Equal(t, []string{test.dialed}, w.dials())
				return
			}
			assert.Equal(t, test.allow, requireDenied(t, err).Allow)
			assert.Empty(t, w.dials())
		})
	}
}

func TestPrivateGrantIsOfItsHostAlone(t *testing.T) {
	w := serve(t, unasked(t))
	w.answers["other.example"] = [][]string{{"10.0.0.1"}}
	c, err := New([]Grant{{Host: "example.com", Private: true}, {Host: "other.example"}, {Host: "other.example:81", Private: true}},
		Options{Resolver: w, Dial: w.dial})
	require.NoError(t, err)
	_, err = get(t, c, "http://other.example/")
	assert.Equal(t, "http-private=other.example", requireDenied(t, err).Allow)
}

// Whoever owns a name can let it resolve to something else with each look-up.
func TestRebinding(t *testing.T) {
	w := serve(t, body("ok"))
	w.answers["example.com"] = [][]string{{somewhere}, {"127.0.0.1"}}
	c := w.client(t, Options{}, "example.com")
	_, err := get(t, c, "http://example.com/")
	require.NoError(t, err)
	assert.Equal(t, []string{"example.com"}, w.asked, "one look-up, whose answer is checked and dialed")
	assert.Equal(t, []string{somewhere + ":80"}, w.dials())
	_, err = get(t, c, "http://example.com/")
	requireDenied(t, err)
	assert.Len(t, w.dials(), 1)
}

func TestLocalhostIsNotLookedUp(t *testing.T) {
	w := serve(t, body("ok"))
	w.answers["localhost"] = [][]string{{"10.0.0.1"}}
	c := w.client(t, Options{}, "localhost:8080")
	_, err := get(t, c, "http://localhost:8080/")
	require.NoError(t, err)
	assert.Empty(t, w.asked)
	assert.Equal(t, []string{"127.0.0.1:8080"}, w.dials())
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"http://example.com/", "http://a@example.com", "http://127.1", "http://[::1]:80", "http://example.com\\.evil", "http://0x7f.1:1/"} {
		f.Add(seed)
	}
	c, err := New([]Grant{{Host: "example.com"}, {Host: "*.wild.example:81"}, {Host: "8.8.8.8"}, {Host: "2606:4700::1111"}}, Options{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		u, err := c.parse(text)
		if err != nil {
			return
		}
		target, err := c.check(u)
		if err != nil {
			requireDenied(t, err)
			return
		}
		// What is sent is read again, as a server or a proxy would.
		again, err := url.Parse(target.url.String())
		require.NoError(t, err)
		require.Nil(t, again.User)
		require.Equal(t, target.url.Host, again.Host)
		name := again.Hostname()
		wild := strings.HasSuffix(name, ".wild.example") && again.Port() == "81"
		known := name == "example.com" || name == "8.8.8.8" || name == "2606:4700::1111"
		require.True(t, wild || known && again.Port() == "", "%q leads to %q", text, again.Host)
		if addr, err := netip.ParseAddr(name); err == nil {
			require.Equal(t, public, classify(addr).reach)
		}
	})
}
