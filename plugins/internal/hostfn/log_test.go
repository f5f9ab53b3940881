package hostfn

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/axishost/axishost/abi"
)

func TestLogLevels(t *testing.T) {
	for level := int64(-1); level <= 4; level++ {
		var got []abi.LogLevel
		call := &Call{Log: func(l abi.LogLevel, _ string) { got = append(got, l) }}
		rc := answer(t, call, "x", do(abi.FuncLog, level, 0, 1))
		if level < 0 || level > 3 {
			assert.Equal(t, abi.CodeInvalid, rc)
			assert.Empty(t, got)
			continue
		}
		assert.Zero(t, rc)
		assert.Equal(t, []abi.LogLevel{abi.LogLevel(level)}, got)
	}
}

func TestLogLines(t *testing.T) {
	call, lines := newCall()
	rc := answer(t, call, "x", then(times(abi.MaxLogLines, do(abi.FuncLog, 1, 0, 1)), do(abi.FuncLog, 3, 0, 1)))
	assert.Equal(t, abi.CodeNoSpace, rc)
	assert.Len(t, *lines, abi.MaxLogLines)
	assert.Equal(t, 1, call.DroppedLines)
	// A line of no level does not count.
	call, lines = newCall()
	rc = answer(t, call, "x", then(times(2*abi.MaxLogLines, do(abi.FuncLog, 9, 0, 1)), do(abi.FuncLog, 3, 0, 1)))
	assert.Zero(t, rc)
	assert.Len(t, *lines, 1)
}

func TestLogWithoutListener(t *testing.T) {
	assert.Zero(t, answer(t, &Call{}, "x", do(abi.FuncLog, 1, 0, 1)))
}

func TestLogText(t *testing.T) {
	for name, tt := range map[string]struct{ data, want string }{
		"plain":            {"hello, world", "hello, world"},
		"Chinese":          {"无法满足您的请求", "无法满足您的请求"},
		"forged line":      {"ok\n2026-01-01 ERROR admin login", `ok\n2026-01-01 ERROR admin login`},
		"carriage return":  {"secret\rpublic", `secret\rpublic`},
		"next line":        {"a\u0085b\u2028c\u2029d", `a\u0085b\u2028c\u2029d`},
		"escape sequence":  {"\x1b]0;title\x07\x1b[2J", `\x1b]0;title\a\x1b[2J`},
		"C1 escape":        {"\u009b31m", `\u009b31m`},
		"right to left":    {"abc\u202edcba", `abc\u202edcba`},
		"invisible":        {"a\u200bb\ufeffc", `a\u200bb\ufeffc`},
		"zero":             {"a\x00b", `a\x00b`},
		"not UTF-8":        {"\xff\xfe\xc3(", "\ufffd\ufffd\ufffd("},
		"longest":          {strings.Repeat("x", abi.MaxLogBytes), strings.Repeat("x", abi.MaxLogBytes)},
		"one byte more":    {strings.Repeat("x", abi.MaxLogBytes+1), strings.Repeat("x", abi.MaxLogBytes) + "… (4097 bytes, cut off at 4096)"},
		"cut in character": {strings.Repeat("x", abi.MaxLogBytes-1) + "无", strings.Repeat("x", abi.MaxLogBytes-1) + "… (4098 bytes, cut off at 4096)"},
		"whole memory":     {strings.Repeat("y", page), strings.Repeat("y", abi.MaxLogBytes) + "… (65536 bytes, cut off at 4096)"},
	} {
		t.Run(name, func(t *testing.T) {
			call, lines := newCall()
			assert.Zero(t, answer(t, call, tt.data, do(abi.FuncLog, 1, 0, int64(len(tt.data)))))
			assert.Equal(t, []string{tt.want}, *lines)
		})
	}
}

func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"", "plain", "\x1b[31m\n", "无法\xff", "\u202e"} {
		f.Add([]byte(seed), 10)
	}
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		limit = max(0, min(limit, 1<<16))
		out := Printable(b, limit)
		assert.True(t, utf8.ValidString(out))
		assert.NotContains(t, out, "\n")
		assert.NotContains(t, out, "\x1b")
		assert.LessOrEqual(t, len(out), 10*limit+len("…"))
	})
}
