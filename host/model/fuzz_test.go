package model

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzAssembler feeds tool call pieces as a JSON list. Whatever they are, no byte of arguments is lost or
// invented, and every piece belongs to a call.
func FuzzAssembler(f *testing.F) {
	f.Fuzz(func(t *testing.T, list string) {
		var pieces []callDelta
		if json.Unmarshal([]byte(list), &pieces) != nil {
			return
		}
		var a assembler
		sent := 0
		for i, piece := range pieces {
			if len(a.calls) == maxToolCalls {
				break
			}
			require.NoError(t, a.addCall(piece))
			sent += len(piece.Function.Arguments)
			require.NotNil(t, a.current)
			require.LessOrEqual(t, len(a.calls), i+1)
		}
		kept, ids := 0, map[string]bool{}
		for _, call := range a.calls {
			kept += call.arguments.Len()
			if call.id != "" {
				require.False(t, ids[call.id], "an id of two calls")
				ids[call.id] = true
			}
			if call.arguments.whole() && call.arguments.String()[0] == '{' {
				require.Equal(t, 0, call.arguments.depth)
			}
		}
		require.Equal(t, sent, kept)
		reply := a.reply()
		require.LessOrEqual(t, len(reply.Message.ToolCalls), len(a.calls))
		for _, call := range reply.Message.ToolCalls {
			require.True(t, utf8.ValidString(call.ID+call.Name+call.Arguments))
		}
		require.Equal(t, reply, a.reply())
	})
}

// FuzzEvents reads bytes as a stream. Whatever they are, what comes out is lines of data, the same for every
// way to cut the bytes up, and each value that is valid stays one.
func FuzzEvents(f *testing.F) {
	f.Fuzz(func(t *testing.T, body string, size int) {
		whole := newEvents(io.NopCloser(bytes.NewReader([]byte(body))))
		out, err := io.ReadAll(whole)
		require.NoError(t, err)
		parts := newEvents(io.NopCloser(iotest.OneByteReader(bytes.NewReader([]byte(body)))))
		var other []byte
		buffer := make([]byte, 1+max(size, 0)%64)
		for err == nil {
			var n int
			n, err = parts.Read(buffer)
			other = append(other, buffer[:n]...)
		}
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, string(out), string(other))
		require.Equal(t, whole.done, parts.done)
		require.LessOrEqual(t, len(whole.stray), maxStray)
		for line := range bytes.Lines(out) {
			require.True(t, bytes.HasPrefix(line, []byte("data: ")), "%q", line)
			require.True(t, bytes.HasSuffix(line, []byte("\n")), "%q", line)
			require.False(t, bytes.HasPrefix(line, []byte(`data: {"error":`)), "%q", line)
		}
	})
}

// FuzzUnquote compares with encoding/json where that loses nothing.
func FuzzUnquote(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw string) {
		var want string
		if len(raw) < 2 || raw[0] != '"' || json.Unmarshal([]byte(raw), &want) != nil {
			return
		}
		raw = string(bytes.TrimSpace([]byte(raw)))
		got := mend(unquote([]byte(raw)))
		require.True(t, utf8.ValidString(got))
		if utf8.ValidString(raw) {
			require.Equal(t, want, got)
		}
	})
}
