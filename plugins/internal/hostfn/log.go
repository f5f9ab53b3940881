package hostfn

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasmrt"
)

// logLine is log(level, buf, len): one line for the operator, of the guest's level but the host's form.
func logLine(_ context.Context, c *Call, mem wasmrt.Memory, p []uint64) (int64, error) {
	level := abi.LogLevel(uint32(p[0]))
	b, err := mem.View(uint32(p[1]), uint32(p[2]))
	switch {
	case err != nil:
		return 0, err
	case level < abi.LogDebug || level > abi.LogError:
		return int64(abi.CodeInvalid), nil
	case c.logLines >= abi.MaxLogLines:
		c.DroppedLines++
		return int64(abi.CodeNoSpace), nil
	}
	c.logLines++
	if c.Log != nil {
		text := Printable(b, abi.MaxLogBytes)
		if len(b) > abi.MaxLogBytes {
			text += fmt.Sprintf(" (%d bytes, cut off at %d)", len(b), abi.MaxLogBytes)
		}
		c.Log(level, text)
	}
	return 0, nil
}

// Printable makes guest bytes fit to be shown on one line: at most limit bytes of them, control and
// formatting characters written as escapes, what is not UTF-8 as U+FFFD, so that no guest can forge a line or
// drive a terminal.
func Printable(b []byte, limit int) string {
	cut := len(b) > limit
	if cut {
		b = b[:limit]
		for range utf8.UTFMax - 1 { // a character that the cut went through
			if r, n := utf8.DecodeLastRune(b); r != utf8.RuneError || n != 1 {
				break
			}
			b = b[:len(b)-1]
		}
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if unicode.IsPrint(r) || r == utf8.RuneError {
			out.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
		b = b[n:]
	}
	if cut {
		out.WriteString("…")
	}
	return out.String()
}
