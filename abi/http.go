package abi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// HTTPRequest is the request of http.fetch/1.
type HTTPRequest struct {
	Method  string                 `json:"method"`
	URL     string                 `json:"url"`
	Headers map[string]HeaderValue `json:"headers,omitempty"`
	// Body is text, BodyBase64 any bytes; at most one of them is given.
	Body       string `json:"body,omitempty"`
	BodyBase64 []byte `json:"body_base64,omitempty"`
	// TimeoutMillis bounds the exchange; 0 leaves it to the call's own time.
	TimeoutMillis int64 `json:"timeout_ms,omitempty"`
}

// HeaderValue is a header's value: a text, or the name of a secret that the host puts in its place. In JSON it is
// a string or {"secret": NAME}.
type HeaderValue struct {
	Text   string
	Secret string
}

// MarshalJSON gives the form of JSON.
func (v HeaderValue) MarshalJSON() ([]byte, error) {
	if v.Secret != "" {
		return json.Marshal(map[string]string{"secret": v.Secret})
	}
	return json.Marshal(v.Text)
}

// UnmarshalJSON reads either form. Other fields beside secret are errors: ignoring one would send another value
// than the one that was meant.
func (v *HeaderValue) UnmarshalJSON(data []byte) error {
	*v = HeaderValue{}
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &v.Text)
	}
	var object map[string]string
	if err := json.Unmarshal(data, &object); err != nil || len(object) != 1 || object["secret"] == "" {
		return errors.New(`a header's value must be a string or {"secret": NAME}`)
	}
	v.Secret = object["secret"]
	return nil
}

// Content gives the body's bytes.
func (r *HTTPRequest) Content() []byte { return content(r.Body, r.BodyBase64) }

// SetContent sets the body, as text where it is UTF-8 and base64 is not the shorter form.
func (r *HTTPRequest) SetContent(body []byte) {
	r.Body, r.BodyBase64 = "", nil
	if utf8.Valid(body) && escapes(body) <= len(body)/3 {
		r.Body = string(body)
		return
	}
	r.BodyBase64 = body
}

// HTTPResponse is the response of http.fetch/1.
type HTTPResponse struct {
	// Status is 0 where no response came; Error then says why.
	Status int `json:"status"`
	// Headers have their names in lower case.
	Headers map[string][]string `json:"headers,omitempty"`
	// Body is the body where it is UTF-8 and has room as text, else BodyBase64 is.
	Body       string     `json:"body,omitempty"`
	BodyBase64 []byte     `json:"body_base64,omitempty"`
	Error      *HTTPError `json:"error,omitempty"`
}

// HTTPError says why no response came.
type HTTPError struct {
	Text string `json:"text"`
	// Sent is false only when certainly nothing of the request reached the other side.
	Sent bool `json:"sent"`
}

// Content gives the body's bytes.
func (r *HTTPResponse) Content() []byte { return content(r.Body, r.BodyBase64) }

// SetContent sets the body, in the form that fits MaxResponseBytes where it is at most MaxFetchBodyBytes.
func (r *HTTPResponse) SetContent(body []byte) {
	r.Body, r.BodyBase64 = "", nil
	if utf8.Valid(body) && len(body)+escapes(body) <= MaxResponseBytes-8*MaxFetchHeaderBytes {
		r.Body = string(body)
		return
	}
	r.BodyBase64 = body
}

// escapes counts at most by how many bytes text grows when it is written as JSON.
func escapes(text []byte) int {
	n := 0
	for _, b := range text {
		switch {
		case b < 0x20 || b == '<' || b == '>' || b == '&' || b == 0xe2: // the last begins U+2028 and U+2029
			n += 5
		case b == '"' || b == '\\':
			n++
		}
	}
	return n
}

func content(text string, encoded []byte) []byte {
	if len(encoded) > 0 {
		return encoded
	}
	return []byte(text)
}

// ParseHTTPRequest decodes a request of http.fetch/1 and validates it: what it refuses is invalid. It does not
// ask whether the request is granted, nor whether the URL can be reached.
func ParseHTTPRequest(request []byte) (*HTTPRequest, error) {
	var r HTTPRequest
	if err := decodes(request, &r); err != nil {
		return nil, err
	}
	return &r, r.Validate()
}

// Validate says what is wrong with a request, the first thing.
func (r *HTTPRequest) Validate() error {
	switch {
	case !slices.Contains(httpMethods(), r.Method):
		return fmt.Errorf("method %q must be one of %s", clip(r.Method), strings.Join(httpMethods(), ", "))
	case len(r.URL) > MaxURLBytes:
		return fmt.Errorf("url of %d bytes is over the limit of %d", len(r.URL), MaxURLBytes)
	case !validURL(r.URL):
		return fmt.Errorf("url %q must begin with http:// or https:// and a host, without user, fragment, spaces or bytes that are not ASCII", clip(r.URL))
	case r.Body != "" && len(r.BodyBase64) > 0:
		return errors.New("body and body_base64 are both given")
	case r.TimeoutMillis < 0 || r.TimeoutMillis > MaxToolMillis:
		return fmt.Errorf("timeout_ms must be 0 to %d", MaxToolMillis)
	}
	return r.validateHeaders()
}

func (r *HTTPRequest) validateHeaders() error {
	if len(r.Headers) > MaxFetchHeaders {
		return fmt.Errorf("%d headers are over the limit of %d", len(r.Headers), MaxFetchHeaders)
	}
	names := make([]string, 0, len(r.Headers))
	for name := range r.Headers {
		names = append(names, name)
	}
	slices.Sort(names) // so that the same request is refused for the same reason
	seen, size := map[string]bool{}, 0
	for _, name := range names {
		lower, value := strings.ToLower(name), r.Headers[name]
		size += len(name) + len(value.Text)
		switch {
		case !validToken(name):
			return fmt.Errorf("header %q is not a header's name", clip(name))
		case seen[lower]:
			return fmt.Errorf("header %q is given twice", clip(lower))
		case slices.Contains(hostHeaders(), lower):
			return fmt.Errorf("header %q is the host's own", lower)
		case value.Secret != "" && !validSecret(value.Secret):
			return fmt.Errorf("header %q: secret %q must be 1 to %d of a-z A-Z 0-9 _ -", clip(name), clip(value.Secret), MaxNameBytes)
		case !validValue(value.Text):
			return fmt.Errorf("header %q: its value has control characters", clip(name))
		}
		seen[lower] = true
	}
	if size > MaxFetchHeaderBytes {
		return fmt.Errorf("headers of %d bytes are over the limit of %d", size, MaxFetchHeaderBytes)
	}
	return nil
}

func httpMethods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
}

// hostHeaders are those that say where a request goes, how it is framed and what becomes of the connection.
func hostHeaders() []string {
	return []string{
		"connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te",
		"trailer", "transfer-encoding", "upgrade",
	}
}

// validURL looks at the form alone; the host parses it.
func validURL(s string) bool {
	scheme, rest, ok := strings.Cut(s, "://")
	authority := rest
	if at := strings.IndexAny(rest, "/?"); at >= 0 {
		authority = rest[:at]
	}
	if !ok || scheme != "http" && scheme != "https" || authority == "" || strings.Contains(authority, "@") {
		return false
	}
	for _, b := range []byte(s) {
		if b <= ' ' || b >= 0x7f || b == '#' || b == '\\' {
			return false
		}
	}
	return true
}

func validToken(s string) bool {
	for _, b := range []byte(s) {
		if b <= ' ' || b >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", b) >= 0 {
			return false
		}
	}
	return s != ""
}

func validValue(s string) bool {
	for _, b := range []byte(s) {
		if b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

func validSecret(s string) bool {
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r) {
			return false
		}
	}
	return s != "" && len(s) <= MaxNameBytes
}
