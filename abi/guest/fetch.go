package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/axishost/axishost/abi"
)

// Request is an HTTP request.
type Request struct {
	// Method is GET when it is empty.
	Method string
	URL    string
	// Headers are sent as they are. Secrets are headers, too: the host puts the secret of that name in the place
	// of the value, which the plugin never sees.
	Headers map[string]string
	Secrets map[string]string
	Body    []byte
	// TimeoutMillis bounds the exchange. 0 leaves it to the time of the call.
	TimeoutMillis int64
}

// Response is what the other side answered, be it an error of its own.
type Response struct {
	Status int
	// Headers have their names in lower case.
	Headers map[string][]string
	Body    []byte
}

// Header gives the first value of a header, empty when it has none.
func (r Response) Header(name string) string {
	if values := r.Headers[strings.ToLower(name)]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// FetchError says that no response came. ReadFailed and WriteFailed make a tool's result of it.
type FetchError struct {
	// Text is for people.
	Text string
	// Sent is false only when certainly nothing reached the other side. Else what was asked may have happened.
	Sent bool
	// Code is the host's, where it made no exchange: abi.CodeDenied for what the operator did not grant. errors.Is
	// finds it.
	Code abi.Code
}

func (e *FetchError) Error() string { return string(abi.OpHTTPFetch) + ": " + e.Text }

// Unwrap gives the code, where there is one.
func (e *FetchError) Unwrap() error {
	if e.Code == 0 {
		return nil
	}
	return e.Code
}

// Fetch makes an HTTP request. The manifest must name http.fetch/1 under requires or optional, and the operator
// grant the host. Only the functions of a tool that run, reconcile or compensate it may fetch. No redirect is
// followed and nothing is repeated. The error is a *FetchError.
func Fetch(r Request) (Response, error) {
	request, err := r.encode()
	if err != nil {
		return Response{}, &FetchError{Text: err.Error(), Code: abi.CodeInvalid}
	}
	raw, err := call(abi.OpHTTPFetch, string(request))
	if err != nil {
		var code abi.Code
		errors.As(err, &code)
		return Response{}, &FetchError{Text: strings.TrimPrefix(err.Error(), string(abi.OpHTTPFetch)+": "), Sent: !unsent(code), Code: code}
	}
	var response abi.HTTPResponse
	switch err := json.Unmarshal(raw, &response); {
	case err != nil:
		return Response{}, &FetchError{Text: "response: " + err.Error(), Sent: true}
	case response.Status == 0 && response.Error == nil:
		return Response{}, &FetchError{Text: "response without a status", Sent: true}
	case response.Status == 0:
		return Response{}, &FetchError{Text: response.Error.Text, Sent: response.Error.Sent}
	}
	return Response{Status: response.Status, Headers: response.Headers, Body: response.Content()}, nil
}

// unsent tells whether a code says that the host made no exchange.
func unsent(code abi.Code) bool {
	switch code {
	case abi.CodeInvalid, abi.CodeDenied, abi.CodeUnknown, abi.CodeNotNow, abi.CodeTooMany:
		return true
	}
	return false
}

// encode makes a request of the operation, and finds what is wrong with it: the host would only say "invalid".
func (r Request) encode() ([]byte, error) {
	out := abi.HTTPRequest{Method: r.Method, URL: r.URL, TimeoutMillis: r.TimeoutMillis, Headers: map[string]abi.HeaderValue{}}
	if out.Method == "" {
		out.Method = "GET"
	}
	out.SetContent(r.Body)
	for name, value := range r.Headers {
		out.Headers[name] = abi.HeaderValue{Text: value}
	}
	for name, secret := range r.Secrets {
		if _, taken := out.Headers[name]; taken || secret == "" {
			return nil, fmt.Errorf("header %q has a value and a secret, or a secret without a name", name)
		}
		out.Headers[name] = abi.HeaderValue{Secret: secret}
	}
	if err := out.Validate(); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(out)
	if err == nil && len(encoded) > abi.MaxRequestBytes {
		err = fmt.Errorf("request of %d bytes is over the limit of %d", len(encoded), abi.MaxRequestBytes)
	}
	return encoded, err
}

// ReadFailed is the result of a tool that only looks, whose request got no response: asking again may help, unless
// the request was refused.
func ReadFailed(err error) Result {
	switch {
	case errors.Is(err, abi.CodeDenied):
		return Failed(abi.ClassPermission, "%v", err)
	case errors.Is(err, abi.CodeInvalid), errors.Is(err, abi.CodeUnknown), errors.Is(err, abi.CodeNotNow), errors.Is(err, abi.CodeTooMany):
		return Failed(abi.ClassPermanent, "%v", err)
	}
	return Failed(abi.ClassTransient, "%v", err)
}

// WriteFailed is the result of a tool that changes something, whose request got no response. It is Unknown unless
// err is a *FetchError by which nothing was sent: then nothing happened, and it is that of ReadFailed.
func WriteFailed(err error) Result {
	var fetch *FetchError
	if errors.As(err, &fetch) && !fetch.Sent {
		return ReadFailed(err)
	}
	return Unknown("%v", err)
}
