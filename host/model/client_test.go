package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded is a stream of a real kind: reasoning, text, two calls in pieces, finish, usage.
func recorded() string {
	return ": hello\n\n" + sse(
		`{"id":"1","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}`,
		d(`{"reasoning_content":"hm é"}`), d(`{"content":"Let me "}`), d(`{"content":"look 😀"}`),
		c(`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`),
		c(`{"index":0,"function":{"arguments":"{\"x\":\"é\"}"}}`),
		c(`{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}`),
		end("tool_calls"),
		`{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}`, done)
}

func wholeReply() Message {
	return Message{Role: RoleAssistant, Content: "Let me look 😀", Reasoning: "hm é", ToolCalls: []ToolCall{
		{ID: "a", Name: "f", Arguments: `{"x":"é"}`}, {ID: "b", Name: "g", Arguments: "{}"},
	}}
}

// canned is a transport that answers with a body, at most size bytes a read, and ends with err.
type canned struct {
	body string
	size int
	err  error
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	body := &cannedBody{canned: c}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
}

type cannedBody struct{ canned }

func (b *cannedBody) Read(p []byte) (int, error) {
	if b.body == "" {
		return 0, b.err
	}
	n := copy(p[:min(len(p), b.size)], b.body)
	b.body = b.body[n:]
	return n, nil
}

func (b *cannedBody) Close() error { return nil }

func TestAStreamCutAtEveryByte(t *testing.T) {
	whole := recorded()
	finish := strings.Index(whole, end("tool_calls")) + len(end("tool_calls"))
	usage := strings.Index(whole, "}}\n\ndata: [DONE]") + len("}}")
	for _, ending := range []error{io.EOF, io.ErrUnexpectedEOF, errors.New("connection reset by peer")} {
		for n := range len(whole) + 1 {
			c := client(t, Options{BaseURL: "http://h.invalid/v1", Transport: canned{body: whole[:n], size: 100, err: ending}})
			if n < finish {
				e := askError(t, c)
				require.True(t, e.Retryable())
				require.Contains(t, e.Error(), "the reply was cut off after ")
				require.Contains(t, e.Error(), fmt.Sprintf(" %d bytes", n))
				continue
			}
			reply, err := ask(t, c)
			require.NoError(t, err, "cut after %d of %d bytes", n, len(whole))
			require.Equal(t, wholeReply(), reply.Message)
			require.Equal(t, n >= usage, reply.Usage.Reported, "cut after %d of %d bytes", n, len(whole))
		}
	}
}

// H1: how the network parts the bytes must not matter.
func TestAStreamInPiecesOfEverySize(t *testing.T) {
	for size := 1; size < 40; size++ {
		reply, err := ask(t, client(t, Options{BaseURL: "http://h.invalid/v1", Transport: canned{body: recorded(), size: size, err: io.EOF}}))
		require.NoError(t, err)
		require.Equal(t, wholeReply(), reply.Message)
		require.Equal(t, "m-1", reply.Model)
		require.Equal(t, Usage{PromptTokens: 7, CompletionTokens: 2, Reported: true}, reply.Usage)
	}
}

func TestAConnectionCutForReal(t *testing.T) {
	e := askError(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		stream(sse(d(`{"content":"hi"}`)))(w, r)
		assert.NoError(t, http.NewResponseController(w).Flush())
		panic(http.ErrAbortHandler)
	}))
	assert.Contains(t, e.Error(), "the reply was cut off after 58 bytes; try again")
	assert.ErrorIs(t, e, io.ErrUnexpectedEOF)
}

// A stream whose end is [DONE] alone, without a finish reason.
func TestAStreamWithoutFinishReasonCutAtEveryByte(t *testing.T) {
	whole := "event: message\nid: 1\nretry: 2\n" + sse(d(`{"content":"hi"}`), done)
	for n := range len(whole) + 1 {
		c := client(t, Options{BaseURL: "http://h.invalid/v1", Transport: canned{body: whole[:n], size: 100, err: io.EOF}})
		if n < len(whole)-2 {
			require.Contains(t, askError(t, c).Error(), fmt.Sprintf("the reply was cut off after %d bytes", n))
			continue
		}
		reply, err := ask(t, c)
		require.NoError(t, err)
		require.Equal(t, "hi", reply.Message.Content)
	}
}

func TestAnAnswerThatIsNotStreamedCutAtEveryByte(t *testing.T) {
	whole := `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7}}`
	for n := range len(whole) {
		e := askError(t, client(t, Options{BaseURL: "http://h.invalid/v1", Transport: canned{body: whole[:n], size: 100, err: io.EOF}}))
		require.Contains(t, e.Error(), fmt.Sprintf("the reply was cut off after %d bytes", n))
	}
}

func TestProgress(t *testing.T) {
	c := client(t, Options{BaseURL: "http://h.invalid/v1", Transport: canned{body: recorded(), size: 64, err: io.EOF}})
	var seen []Progress
	_, err := c.Complete(t.Context(), Request{}, func(p Progress) { seen = append(seen, p) })
	require.NoError(t, err)
	require.Len(t, seen, 9)
	assert.Equal(t, Progress{ReasoningBytes: 5}, seen[1])
	assert.Equal(t, Progress{ReasoningBytes: 5, ContentBytes: 7}, seen[2])
	assert.Equal(t, Progress{ReasoningBytes: 5, ContentBytes: 16, ToolCalls: 2}, seen[8])
}

func TestAReplyWithoutEndIsRefused(t *testing.T) {
	for _, piece := range []string{": " + strings.Repeat("x", 1<<20) + "\n", "data: " + strings.Repeat(" ", 1<<20)} {
		e := askError(t, client(t, Options{BaseURL: "http://h.invalid/v1", Transport: endless(piece)}))
		assert.Equal(t, ClassProtocol, e.Class)
		assert.Equal(t, "the model endpoint http://h.invalid/v1 does not come to an end: the reply is longer than 67108864 bytes; the reply is refused", e.Error())
	}
	many := sse(strings.Split(strings.Repeat(c(`{"id":"","function":{"name":"f","arguments":"{}"}}`)+"\n", maxToolCalls+1), "\n")...)
	e := askError(t, client(t, Options{BaseURL: "http://h.invalid/v1", Transport: canned{body: many, size: 1 << 20, err: io.EOF}}))
	assert.Contains(t, e.Error(), "the reply has more than 1024 tool calls")
}

// endless is a transport whose answer repeats a text for ever.
type endless string

func (e endless) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(&endlessBody{text: string(e)}), Request: r}, nil
}

type endlessBody struct {
	text string
	at   int
}

func (b *endlessBody) Read(p []byte) (int, error) {
	n := copy(p, b.text[b.at:])
	b.at = (b.at + n) % len(b.text)
	return n, nil
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		stream(sse(d(`{"content":"hi"}`)))(w, r)
		assert.NoError(t, http.NewResponseController(w).Flush())
		<-r.Context().Done()
	})
	reply, err := c.Complete(ctx, Request{}, func(Progress) { cancel() })
	assert.Nil(t, reply)
	assert.Equal(t, context.Canceled, err)

	_, err = c.Complete(ctx, Request{}, nil)
	assert.Equal(t, context.Canceled, err, "cancelled before")
}

func TestCancelAfterTheFinish(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pieces := []string{sse(d(`{"content":"hi"}`), end("stop")), "x"}
	c := client(t, Options{BaseURL: "http://h.invalid/v1", Transport: slow{gaps: []time.Duration{0, time.Hour}, pieces: pieces}})
	reply, err := c.Complete(ctx, Request{}, func(Progress) { cancel() })
	assert.Nil(t, reply)
	assert.Equal(t, context.Canceled, err)
}

// slow is a transport that waits before the header and before each piece of the body.
type slow struct {
	header time.Duration
	gaps   []time.Duration
	pieces []string
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := pause(r.Context(), s.header); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &slowBody{slow: s, ctx: r.Context()}, Request: r}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type slowBody struct {
	slow
	ctx context.Context
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.pieces) == 0 {
		return 0, io.EOF
	}
	if err := pause(b.ctx, b.gaps[0]); err != nil {
		return 0, err
	}
	n := copy(p, b.pieces[0])
	b.pieces, b.gaps = b.pieces[1:], b.gaps[1:]
	return n, nil
}

func (b *slowBody) Close() error { return nil }

func TestTimeouts(t *testing.T) {
	hi, stop := sse(d(`{"content":"hi"}`)), sse(end("stop"))
	const minute = time.Minute
	tests := []struct {
		name string
		slow slow
		took time.Duration
		text string // "" is a reply
	}{
		{"slow but never silent", slow{9 * minute, []time.Duration{20 * time.Second, 20 * time.Second, time.Second}, []string{hi, ": x\n", stop}},
			9*minute + 41*time.Second, ""},
		{"long wait for the header", slow{5 * minute, []time.Duration{0, 0}, []string{hi, stop}}, 5 * minute, ""},
		{"D4 silence", slow{0, []time.Duration{minute, 5 * minute}, []string{hi, stop}}, 3 * minute,
			"the model endpoint http://h.invalid/v1 fell silent for 2m0s after 58 bytes of the reply: try again"},
		{"D4 silence after the header", slow{minute, []time.Duration{5 * minute}, []string{hi}}, 3 * minute,
			"the model endpoint http://h.invalid/v1 fell silent for 2m0s after 0 bytes of the reply: try again"},
		{"no header", slow{header: 20 * minute}, 10 * minute,
			"the model endpoint http://h.invalid/v1 gave no whole reply within 10m0s (0 bytes came): try again, or take a faster model"},
		{"too slow in all", slow{9 * minute, []time.Duration{30 * time.Second, minute}, []string{hi, stop}}, 10 * minute,
			"the model endpoint http://h.invalid/v1 gave no whole reply within 10m0s (58 bytes came): try again, or take a faster model"},
		{"silence after the finish", slow{0, []time.Duration{0, 0, 5 * minute}, []string{hi, stop, "x"}}, 2 * minute, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := client(t, Options{BaseURL: "http://h.invalid/v1", Transport: test.slow})
				start := time.Now()
				reply, err := ask(t, c)
				assert.Equal(t, test.took, time.Since(start))
				if test.text == "" {
					require.NoError(t, err)
					assert.Equal(t, "hi", reply.Message.Content)
					return
				}
				var e *Error
				require.ErrorAs(t, err, &e)
				assert.Equal(t, test.text, e.Error())
				assert.Equal(t, ClassTransient, e.Class)
			})
		})
	}
}

func TestASlowReaderIsNotASilentEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pieces := []string{sse(d(`{"content":"hi"}`)), sse(end("stop"))}
		c := client(t, Options{BaseURL: "http://h.invalid/v1", Transport: slow{gaps: []time.Duration{0, time.Second}, pieces: pieces}})
		reply, err := c.Complete(t.Context(), Request{}, func(Progress) { _ = pause(t.Context(), 3*time.Minute) })
		require.NoError(t, err)
		assert.Equal(t, "hi", reply.Message.Content)
	})
}

func TestTheCallersOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := client(t, Options{BaseURL: "http://h.invalid/v1", Transport: slow{header: time.Hour}})
		_, err := c.Complete(ctx, Request{}, nil)
		assert.Equal(t, context.DeadlineExceeded, err)
	})
}
