//go:build !wasip1

package guest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/axishost/axishost/abi"
)

func (c *stubCall) hostCall(op, request string) int64 {
	if c == nil {
		return int64(abi.CodeNotNow)
	}
	if len(op) > abi.MaxOperationName || len(request) > abi.MaxRequestBytes {
		return int64(abi.CodeTooLarge)
	}
	info, known := abi.LookupOperation(abi.Operation(op))
	if !known || !info.Served {
		return int64(abi.CodeUnknown)
	}
	perform := c.config
	if info.Name == abi.OpHTTPFetch {
		perform = c.fetch
	}
	response, code := perform(request)
	if code < 0 {
		return int64(code)
	}
	c.opened++
	c.responses[c.opened] = response
	return int64(c.opened)
}

// room is the last thing that is looked at before an operation is performed.
func (c *stubCall) room() abi.Code {
	if len(c.responses) >= abi.MaxHandles {
		return abi.CodeTooMany
	}
	return 0
}

func (c *stubCall) config(request string) (string, abi.Code) {
	switch {
	case c.stub.Denied:
		return "", abi.CodeDenied
	case request != "":
		return "", abi.CodeInvalid
	}
	return c.stub.Config, c.room()
}

func (c *stubCall) fetch(request string) (string, abi.Code) {
	switch {
	case !slices.Contains([]abi.Hook{abi.HookToolCall, abi.HookToolReconcile, abi.HookToolCompensate}, c.hook):
		return "", abi.CodeNotNow
	case c.stub.Fetch == nil:
		return "", abi.CodeDenied
	}
	parsed, err := abi.ParseHTTPRequest([]byte(request))
	if err != nil {
		return "", abi.CodeInvalid
	}
	if code := c.room(); code < 0 {
		return "", code
	}
	in := Request{
		Method: parsed.Method, URL: parsed.URL, Body: parsed.Content(), TimeoutMillis: parsed.TimeoutMillis,
		Headers: map[string]string{}, Secrets: map[string]string{},
	}
	for name, value := range parsed.Headers {
		switch {
		case value.Secret == "":
			in.Headers[name] = value.Text
		case !slices.Contains(c.stub.Secrets, value.Secret):
			return "", abi.CodeDenied
		default:
			in.Secrets[name] = value.Secret
		}
	}
	return answered(c.stub.Fetch(in))
}

// answered makes the operation's response of what a test answers.
func answered(r Response, err error) (string, abi.Code) {
	out := abi.HTTPResponse{Status: r.Status, Headers: map[string][]string{}}
	for name, values := range r.Headers {
		out.Headers[strings.ToLower(name)] = values
	}
	out.SetContent(r.Body)
	var fetch *FetchError
	switch {
	case errors.As(err, &fetch) && fetch.Code < 0:
		return "", fetch.Code
	case fetch != nil:
		out = abi.HTTPResponse{Error: &abi.HTTPError{Text: fetch.Text, Sent: fetch.Sent}}
	case err != nil:
		out = abi.HTTPResponse{Error: &abi.HTTPError{Text: err.Error(), Sent: true}}
	}
	encoded, err := json.Marshal(out)
	if err != nil {
		return "", abi.CodeIO
	}
	return string(encoded), 0
}

func (c *stubCall) respLen(handle int32) int32 {
	response, code := c.response(handle)
	if code < 0 {
		return int32(code)
	}
	return int32(len(response))
}

func (c *stubCall) respRead(handle int32, off uint32, buf []byte) int32 {
	response, code := c.response(handle)
	if code < 0 {
		return int32(code)
	}
	return readAt(response, off, buf)
}

func (c *stubCall) respClose(handle int32) int32 {
	_, code := c.response(handle)
	if code < 0 {
		return int32(code)
	}
	delete(c.responses, handle)
	return 0
}

func (c *stubCall) response(handle int32) (string, abi.Code) {
	if c == nil {
		return "", abi.CodeNotNow
	}
	response, open := c.responses[handle]
	if !open {
		return "", abi.CodeBadHandle
	}
	return response, 0
}
