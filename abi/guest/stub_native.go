//go:build !wasip1

package guest

import (
	"strings"
	"sync"

	"github.com/axishost/axishost/abi"
)

// Stub stands in for the host when a plugin is tested natively. Its host functions behave as SPEC.md says,
// limits included. The zero value is a host without configuration for the plugin. Stubs may be used
// concurrently; their calls run one after the other.
type Stub struct {
	// Config is what config/1 answers, a JSON object. Empty answers {}.
	Config string
	// Denied makes config/1 an operation that was not granted.
	Denied bool
	// OutputBytes bounds the output of a call. 0 is abi.DefaultOutputBytes.
	OutputBytes int
	// Fetch answers http.fetch/1; nil, the operation is not granted. With an error there is no response: one that
	// is a *FetchError is what the plugin's Fetch gives, and any other is one whose request was sent. It must not
	// use a Stub.
	Fetch func(Request) (Response, error)
	// Secrets are the names of those that were granted. A request with another one is denied.
	Secrets []string
}

// Outcome is what one call of a hook left behind.
type Outcome struct {
	// Code is what the hook returned.
	Code abi.Code
	// Output is everything that was written, in the hook's encoding.
	Output string
	// Error is the error text, empty if the hook set none.
	Error string
	// Log holds the log lines, and Progress the chunks of output_emit, in order.
	Log      []string
	Progress []string
}

// running is the call that the host functions belong to; calls guards it.
var (
	calls   sync.Mutex
	running *stubCall
)

// Invoke calls a hook as the host does, with an input in the hook's encoding. A panic of the plugin is not
// recovered.
func (s Stub) Invoke(hook abi.Hook, input string) Outcome { return s.invoke(plugin, hook, input) }

func (s Stub) invoke(r *registry, hook abi.Hook, input string) Outcome {
	calls.Lock()
	defer calls.Unlock()
	running = newStubCall(s, hook, input)
	defer func() { running = nil }()

	code := r.serve(hook, uint32(len(input)))
	out := running.outcome
	out.Code, out.Output = code, string(running.output)
	if code != abi.CodeDecided {
		return out
	}
	if !running.wrote {
		out.Code, out.Error = abi.CodeBadOutput, "a decision without output"
	} else if err := abi.CheckOutput(hook, running.output); err != nil {
		out.Code, out.Error = abi.CodeBadOutput, err.Error()
	}
	return out
}

// stubCall is one call of a hook and the host functions that it may use. A nil one is the time before any
// call, when init runs.
type stubCall struct {
	input     string
	output    []byte
	wrote     bool // output_write was taken, if only with nothing
	outputCap int
	emitted   int // bytes of output_emit
	stub      Stub
	hook      abi.Hook
	responses map[int32]string
	opened    int32
	outcome   Outcome
}

func newStubCall(s Stub, hook abi.Hook, input string) *stubCall {
	c := &stubCall{input: input, outputCap: s.OutputBytes, stub: s, hook: hook, responses: map[int32]string{}}
	if c.outputCap == 0 {
		c.outputCap = abi.DefaultOutputBytes
	}
	if s.Config == "" {
		c.stub.Config = "{}"
	}
	return c
}

func (c *stubCall) inputRead(off uint32, buf []byte) int32 {
	if c == nil {
		return int32(abi.CodeNotNow)
	}
	return readAt(c.input, off, buf)
}

// readAt copies what is at off, nothing when off is at or past the end.
func readAt(text string, off uint32, buf []byte) int32 {
	if uint64(off) >= uint64(len(text)) {
		return 0
	}
	return int32(copy(buf, text[off:]))
}

func (c *stubCall) outputWrite(data []byte) int32 {
	switch {
	case c == nil:
		return int32(abi.CodeNotNow)
	case len(c.output)+len(data) > c.outputCap:
		return int32(abi.CodeNoSpace)
	}
	c.output = append(c.output, data...)
	c.wrote = true
	return 0
}

func (c *stubCall) outputEmit(kind int32, text string) int32 {
	switch {
	case c == nil:
		return int32(abi.CodeNotNow)
	case len(text) > abi.MaxEmitBytes:
		return int32(abi.CodeTooLarge)
	case kind != int32(abi.EmitProgress) && kind != int32(abi.EmitChunk):
		return int32(abi.CodeInvalid)
	case c.emitted+len(text) > c.outputCap || len(c.outcome.Progress) >= abi.MaxEmits:
		return int32(abi.CodeNoSpace)
	}
	c.emitted += len(text)
	c.outcome.Progress = append(c.outcome.Progress, strings.ToValidUTF8(text, "\ufffd"))
	return 0
}

func (c *stubCall) errorSet(code int32, text string) int32 {
	switch {
	case c == nil:
		return int32(abi.CodeNotNow)
	case code >= 0:
		return int32(abi.CodeInvalid)
	}
	c.outcome.Error = cut(text, abi.MaxErrorBytes)
	return 0
}

func (c *stubCall) log(level int32, text string) int32 {
	switch {
	case level < int32(abi.LogDebug) || level > int32(abi.LogError):
		return int32(abi.CodeInvalid)
	case c == nil:
		return 0
	case len(c.outcome.Log) >= abi.MaxLogLines:
		return int32(abi.CodeNoSpace)
	}
	c.outcome.Log = append(c.outcome.Log, cut(text, abi.MaxLogBytes))
	return 0
}

// cut keeps at most limit bytes of text, in whole code points.
func cut(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	return strings.ToValidUTF8(text, "")
}
