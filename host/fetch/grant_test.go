package fetch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseGrant(t *testing.T) {
	for text, want := range map[string]string{
		"api.example.com":        "",
		"API.Example.COM.":       "api.example.com",
		"api.example.com:8443":   "",
		"api.example.com:0443":   "api.example.com:443",
		"*.example.com":          "",
		"*.example.com:8080":     "",
		"*.internal":             "",
		"db":                     "",
		"_srv.example.com":       "",
		"xn--mnchen-3ya.de":      "",
		"localhost":              "",
		"localhost:8080":         "",
		"127.0.0.1":              "",
		"127.0.0.1:8080":         "",
		"169.254.169.254":        "",
		"10.0.0.1":               "",
		"::1":                    "",
		"[::1]":                  "::1",
		"[::1]:8080":             "",
		"2001:DB8:0:0::1":        "2001:db8::1",
		"[2001:db8::1]:65535":    "",
		"[64:ff9b::8.8.8.8]:443": "[64:ff9b::808:808]:443",
	} {
		g, err := ParseGrant(text)
		require.NoError(t, err, text)
		if want == "" {
			want = text
		}
		assert.Equal(t, Grant{Host: want}, g)
		again, err := ParseGrant(g.Host)
		require.NoError(t, err, text)
		assert.Equal(t, g, again)
	}
	assert.Equal(t, "http=a.example", Grant{Host: "a.example"}.String())
	assert.Equal(t, "http-private=a.example", Grant{Host: "a.example", Private: true}.String())
}

func TestParseGrantSaysWhatToWrite(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "write a host",
		"*":                                  "every host",
		"*.":                                 "every host",
		"*.*":                                "only in front",
		"api.*.com":                          "only in front",
		"*example.com":                       "only in front",
		"*.localhost":                        "write localhost",
		"*.10.0.0.1":                         "write 10.0.0.1",
		"*.::1":                              "write ::1",
		"https://api.example.com/v1":         `write its host alone, "api.example.com"`,
		"https://user:secret@api.example":    `write its host alone, "api.example"`,
		"api.example.com/v1":                 `write "api.example.com"`,
		"user@api.example.com":               "write the host alone",
		"a.example, b.example":               "a grant for each",
		"a.example b.example":                "a grant for each",
		"10.0.0.0/8":                         "http-private",
		"fd00::/8":                           "http-private",
		"api.example.com:":                   "from 1 to 65535",
		"api.example.com:0":                  "from 1 to 65535",
		"api.example.com:65536":              "from 1 to 65535",
		"api.example.com:+80":                "from 1 to 65535",
		"api.example.com:https":              "from 1 to 65535",
		"[::1":                               "brackets",
		"[::1]8080":                          "brackets",
		"[127.0.0.1]":                        "brackets",
		"[example.com]:80":                   "brackets",
		"::1::2":                             "no IPv6 address",
		"a.example:80:81":                    "no IPv6 address",
		"fe80::1%eth0":                       "zone",
		"[fe80::1%25eth0]:80":                "zone",
		"::ffff:127.0.0.1":                   "write 127.0.0.1",
		"[::ffff:8.8.8.8]:80":                "write 8.8.8.8",
		"127.1":                              "four decimal numbers",
		"2130706433":                         "four decimal numbers",
		"0x7f000001":                         "four decimal numbers",
		"0177.0.0.1":                         "four decimal numbers",
		"127.0.0.01":                         "four decimal numbers",
		"0x7f.0.0.0x1":                       "four decimal numbers",
		"256.0.0.1":                          "four decimal numbers",
		"1.2.3.4.5":                          "four decimal numbers",
		"0.0.0.0":                            "unspecified",
		"::":                                 "unspecified",
		"224.0.0.1":                          "multicast",
		"[ff02::1]:80":                       "multicast",
		"255.255.255.255":                    "broadcast",
		"münchen.de":                         "xn--",
		"1.2.3.\uff14":                       "xn--",
		"a..example":                         "two dots",
		".example.com":                       "two dots",
		"exam\x00ple.com":                    "cannot have",
		"a%41.example":                       "cannot have",
		strings.Repeat("a", 64) + ".example": "63 bytes",
		strings.Repeat("a.", 127) + "aa":     "253 bytes",
	} {
		_, err := ParseGrant(text)
		assert.ErrorContains(t, err, want, text)
	}
	_, err := ParseGrant("https://user:secret@api.example")
	assert.NotContains(t, strings.TrimPrefix(err.Error(), `grant "https://user:secret@api.example"`), "secret")
}

func TestRuleCovers(t *testing.T) {
	for _, test := range []struct {
		grant, host string
		want        bool
	}{
		{"example.com", "example.com", true},
		{"example.com", "www.example.com", false},
		{"*.example.com", "example.com", false},
		{"*.example.com", "www.example.com", true},
		{"*.example.com", "a.b.c.example.com", true},
		{"*.example.com", "badexample.com", false},
		{"*.example.com", "example.com.evil.com", false},
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "localhost", false},
		{"localhost", "127.0.0.1", false},
		{"::1", "0:0:0:0:0:0:0:1", true},
	} {
		r, err := parseRule(test.grant)
		require.NoError(t, err)
		h, err := parseHost(test.host)
		require.NoError(t, err)
		assert.Equal(t, test.want, r.covers(h), "%s covers %s", test.grant, test.host)
	}
}

func FuzzParseGrant(f *testing.F) {
	for _, seed := range []string{"*.example.com:80", "[::1]:8080", "127.1", "https://a@b/c", "[::ffff:1.2.3.4]", "10.0.0.0/8", "fe80::1%1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ParseGrant(text)
		if err != nil {
			assert.Zero(t, g)
			return
		}
		again, err := ParseGrant(g.Host)
		require.NoError(t, err, "%q became %q", text, g.Host)
		assert.Equal(t, g, again)
		_, err = New([]Grant{g}, Options{})
		assert.NoError(t, err)
	})
}
