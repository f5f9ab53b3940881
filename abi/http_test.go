package abi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

func TestParseHTTPRequest(t *testing.T) {
	url := func(u string) string { return `"method": "GET", "url": "` + u + `"` }
	header := func(h string) string { return url("http://a") + `, "headers": {` + h + `}` }
	badURL := func(u string) string {
		return `url "` + u + `" must begin with http:// or https:// and a host, without user, fragment, spaces or bytes that are not ASCII`
	}
	const form = `not the JSON it should be: a header's value must be a string or {"secret": NAME}`
	var many []string
	for n := range abi.MaxFetchHeaders + 1 {
		many = append(many, fmt.Sprintf(`"x-%d": ""`, n))
	}
	for _, test := range []struct{ fields, want string }{
		{url("https://api.example.com/a?b=c%20d"), ""},
		{url("http://[::1]:8080/"), ""},
		{url("http://a?u=x@y"), ""},
		{url("http://a") + `, "later": 1`, ""},
		{`"method": "POST", "url": "http://a", "body": "text", "timeout_ms": 3600000`, ""},
		{`"method": "POST", "url": "http://a", "body_base64": "AP8="`, ""},
		{header(`"Accept": "*/*", "authorization": {"secret": "API_Key-2"}, "x": "tab\tand é"`), ""},
		{`"url": "http://a"`, `method "" must be one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS`},
		{`"method": "get", "url": "http://a"`, `method "get" must be one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS`},
		{`"method": "CONNECT", "url": "http://a"`, `method "CONNECT" must be one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS`},
		{`"method": "GET"`, badURL("")},
		{url("api.example.com"), badURL("api.example.com")},
		{url("file:///etc/passwd"), badURL("file:///etc/passwd")},
		{url("HTTP://a"), badURL("HTTP://a")},
		{url("http://"), badURL("http://")},
		{url("http:///path"), badURL("http:///path")},
		{url("http://user:pass@a/"), badURL("http://user:pass@a/")},
		{url("http://a/#top"), badURL("http://a/#top")},
		{url("http://a/b c"), badURL("http://a/b c")},
		{url(`http://a/\r\nx: y`), badURL(`http://a/\r\nx: y`)},
		{url(`http://a\\@b`), badURL(`http://a\\@b`)},
		{url("http://é.example"), badURL("http://é.example")},
		{url("http://" + strings.Repeat("a", abi.MaxURLBytes)), "url of 8199 bytes is over the limit of 8192"},
		{url("http://a") + `, "body": "a", "body_base64": "AP8="`, "body and body_base64 are both given"},
		{url("http://a") + `, "body_base64": "?"`, "not the JSON it should be: illegal base64 data at input byte 0"},
		{url("http://a") + `, "timeout_ms": -1`, "timeout_ms must be 0 to 3600000"},
		{url("http://a") + `, "timeout_ms": 3600001`, "timeout_ms must be 0 to 3600000"},
		{header(`"": "x"`), `header "" is not a header's name`},
		{header(`"a b": "x"`), `header "a b" is not a header's name`},
		{header(`"a:": "x"`), `header "a:" is not a header's name`},
		{header(`"a": "x", "A": "y"`), `header "a" is given twice`},
		{header(`"Host": "b"`), `header "host" is the host's own`},
		{header(`"transfer-encoding": {"secret": "A"}`), `header "transfer-encoding" is the host's own`},
		{header(`"a": "x\r\nb: y"`), `header "a": its value has control characters`},
		{header(`"a": "\u0000"`), `header "a": its value has control characters`},
		{header(`"a": {"secret": "no such"}`), `header "a": secret "no such" must be 1 to 64 of a-z A-Z 0-9 _ -`},
		{header(`"a": {"secret": "` + "\u212a" + `"}`), `header "a": secret "` + "\u212a" + `" must be 1 to 64 of a-z A-Z 0-9 _ -`},
		{header(`"a": {"secret": "` + strings.Repeat("s", 65) + `"}`), `header "a": secret "` + strings.Repeat("s", 65) + `" must be 1 to 64 of a-z A-Z 0-9 _ -`},
		{header(`"a": {"secret": ""}`), form},
		{header(`"a": {"secret": "A", "prefix": "Bearer "}`), form},
		{header(`"a": {}`), form},
		{header(`"a": 1`), form},
		{header(`"a": null`), form},
		{header(`"a": ["x"]`), form},
		{header(strings.Join(many, ", ")), "65 headers are over the limit of 64"},
		{header(`"a": "` + strings.Repeat("x", abi.MaxFetchHeaderBytes) + `"`), "headers of 65537 bytes are over the limit of 65536"},
	} {
		t.Run(test.fields[:min(len(test.fields), 60)], func(t *testing.T) {
			_, err := abi.ParseHTTPRequest([]byte("{" + test.fields + "}"))
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			assert.EqualError(t, err, test.want)
		})
	}
	for request, want := range map[string]string{
		"": "not a JSON object", "[]": "not a JSON object", "{\"url\": \"\xff\"}": "text is not UTF-8", `{"url": 1}`: "not the JSON it should be: ",
	} {
		_, err := abi.ParseHTTPRequest([]byte(request))
		assert.ErrorContains(t, err, want)
	}
}

// TestHTTPContent: a body survives its encoding, which fits a response of the host whatever is in it.
func TestHTTPContent(t *testing.T) {
	for name, tt := range map[string]struct {
		body []byte
		text bool
	}{
		"empty":         {nil, true},
		"text":          {[]byte("<p>résumé & \u2028</p>"), true},
		"bytes":         {[]byte{0, 0xff}, false},
		"large page":    {bytes.Repeat([]byte("<p>text</p>"), abi.MaxFetchBodyBytes/11), false},
		"large text":    {bytes.Repeat([]byte("x"), abi.MaxFetchBodyBytes), true},
		"large control": {bytes.Repeat([]byte{1}, abi.MaxFetchBodyBytes), false},
		"large bytes":   {bytes.Repeat([]byte{0xff}, abi.MaxFetchBodyBytes), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := abi.HTTPResponse{Status: 200, Headers: map[string][]string{"x": {strings.Repeat("\x01", abi.MaxFetchHeaderBytes)}}}
			r.SetContent(tt.body)
			assert.Equal(t, tt.text, r.BodyBase64 == nil)
			encoded, err := json.Marshal(r)
			require.NoError(t, err)
			assert.LessOrEqual(t, len(encoded), abi.MaxResponseBytes)
			var decoded abi.HTTPResponse
			require.NoError(t, json.Unmarshal(encoded, &decoded))
			assert.True(t, bytes.Equal(tt.body, decoded.Content()))
		})
	}
}

func TestHTTPRequestContent(t *testing.T) {
	for body, text := range map[string]bool{"": true, "text": true, `{"text": "a long text"}`: true, "\x00\xff": false, "<<<<": false} {
		var r abi.HTTPRequest
		r.SetContent([]byte(body))
		assert.Equal(t, text, r.BodyBase64 == nil, body)
		assert.Equal(t, body, string(r.Content()))
	}
}

// FuzzParseHTTPRequest: what is accepted is accepted again when it is encoded, and means the same.
func FuzzParseHTTPRequest(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "http-request*.json"))
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		seed, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		r, err := abi.ParseHTTPRequest(request)
		if err != nil {
			return
		}
		for name, value := range r.Headers {
			require.NotContains(t, name+value.Text, "\n")
		}
		encoded, err := json.Marshal(r)
		require.NoError(t, err)
		again, err := abi.ParseHTTPRequest(encoded)
		require.NoError(t, err)
		require.Equal(t, r.URL, again.URL)
		require.True(t, maps.Equal(r.Headers, again.Headers))
		require.True(t, bytes.Equal(r.Content(), again.Content()))
	})
}
