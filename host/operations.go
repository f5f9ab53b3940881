package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/fetch"
	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/plugins"
)

// toolCall is one call or probe of a tool, as far as its operations are concerned.
type toolCall struct {
	run     *run
	plugin  string
	tool    string
	step    int64
	attempt int64
	effect  abi.Effect
	client  *fetch.Client
	number  atomic.Int64 // of the last operation
}

// operations are what the guest of a call may have the host do. What may change something outside is in the log before
// it is done, so that a crash shows that it may have happened.
func (r *run) operations(p *sharedPlugin, tool string, step, attempt int64) plugins.Operations {
	c := &toolCall{run: r, plugin: p.Manifest().Name, tool: tool, step: step, attempt: attempt, client: r.plugins.clients[p]}
	for _, t := range p.Manifest().Tools {
		if t.Name == tool {
			c.effect = t.Effect
		}
	}
	return plugins.Operations{abi.OpHTTPFetch: {
		Takes: func(request []byte) bool {
			_, err := abi.ParseHTTPRequest(request)
			return err == nil
		},
		Perform: c.fetch,
	}}
}

// changes tells whether a request may change something.
func changes(method string) bool { return method != "GET" && method != "HEAD" && method != "OPTIONS" }

// fetch performs http.fetch/1.
func (c *toolCall) fetch(ctx context.Context, request []byte) ([]byte, abi.Code) {
	r, err := abi.ParseHTTPRequest(request)
	if err != nil {
		return nil, abi.CodeInvalid
	}
	op := event.HostOperation{
		Number: c.number.Add(1), Capability: string(abi.OpHTTPFetch), Target: target(r), Write: changes(r.Method),
	}
	if reason := c.refuses(r); reason != "" {
		return c.denied(ctx, op, reason)
	}
	if op.Write && !c.run.tell(ctx, core.OperationBegan{Step: c.step, Attempt: c.attempt, Operation: op}) {
		return nil, abi.CodeCanceled // the task does not go on, or not with this call
	}
	response, err := c.client.Do(ctx, exchange(r))
	var denied *fetch.DeniedError
	if errors.As(err, &denied) && !denied.Redirected {
		return c.denied(ctx, op, denied.Error())
	}
	out := answer(response, err)
	encoded, err := json.Marshal(out)
	if err != nil {
		return nil, abi.CodeFailed
	}
	sum := sha256.Sum256(encoded)
	op.State, op.Result, op.Received = event.OperationDone, fmt.Sprintf("%d sha256:%s", out.Status, hex.EncodeToString(sum[:])), int64(len(out.Content()))
	op.Sent = int64(max(len(r.Content()), 1))
	switch {
	case out.Error != nil:
		op.State, op.Reason = event.OperationFailed, out.Error.Text
		if !out.Error.Sent {
			op.Sent = 0
		}
	case out.Status >= 400 && op.Write:
		op.State, op.Reason = event.OperationFailed, fmt.Sprintf("answered %d", out.Status)
	}
	if !c.run.tell(ctx, core.OperationEnded{Step: c.step, Attempt: c.attempt, Operation: op}) && op.Write {
		return nil, abi.CodeCanceled
	}
	return encoded, 0
}

// refuses says why a tool may not make a request, whatever is granted: one that is declared to look may not change.
func (c *toolCall) refuses(r *abi.HTTPRequest) string {
	switch {
	case c.effect == abi.EffectPure:
		return "tool " + c.tool + " is declared pure: it computes, and asks nobody"
	case c.effect == abi.EffectRead && changes(r.Method):
		return "tool " + c.tool + " is declared to read: it may not send " + r.Method
	}
	for _, value := range r.Headers {
		if value.Secret != "" {
			return "secret " + value.Secret + " is not granted: this host has no secrets for plugins yet"
		}
	}
	return ""
}

// denied keeps that an operation was not done, and says to whoever watches what would allow it.
func (c *toolCall) denied(ctx context.Context, op event.HostOperation, reason string) ([]byte, abi.Code) {
	op.State, op.Reason = event.OperationFailed, reason
	c.run.tell(ctx, core.OperationEnded{Step: c.step, Attempt: c.attempt, Operation: op})
	if log := c.run.h.opts.Events.PluginLog; log != nil {
		log(c.plugin, abi.LogWarn, plugins.Printable(string(abi.OpHTTPFetch)+": "+reason, abi.MaxLogBytes))
	}
	return nil, abi.CodeDenied
}

// target says where a request goes, without what may be secret of it.
func target(r *abi.HTTPRequest) string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return r.Method
	}
	return r.Method + " " + u.Scheme + "://" + u.Host
}

func exchange(r *abi.HTTPRequest) fetch.Request {
	out := fetch.Request{
		Method: r.Method, URL: r.URL, Header: map[string]string{}, Body: r.Content(),
		Timeout: time.Duration(r.TimeoutMillis) * time.Millisecond,
	}
	for name, value := range r.Headers {
		out.Header[name] = value.Text
	}
	return out
}

// answer is what the guest is given.
func answer(r *fetch.Response, err error) *abi.HTTPResponse {
	var out abi.HTTPResponse
	var transport *fetch.TransportError
	switch {
	case errors.As(err, &transport):
		out.Error = &abi.HTTPError{Text: plugins.Printable(err.Error(), abi.MaxLogBytes), Sent: transport.Sent}
	case err != nil: // of the request itself, or a redirect that was denied after it
		var denied *fetch.DeniedError
		out.Error = &abi.HTTPError{Text: plugins.Printable(err.Error(), abi.MaxLogBytes), Sent: errors.As(err, &denied) && denied.Redirected}
	default:
		out.Status, out.Headers = r.Status, lower(r.Header)
		out.SetContent(r.Body)
	}
	return &out
}

// lower gives headers by their names in lower case.
func lower(header map[string][]string) map[string][]string {
	out := make(map[string][]string, len(header))
	for name, values := range header {
		out[strings.ToLower(name)] = values
	}
	return out
}
