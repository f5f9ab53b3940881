package hostfn

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/axishost/axishost/abi"
)

func TestInputRead(t *testing.T) {
	const input = "0123456789"
	for name, tt := range map[string]struct {
		off, capacity int64
		want          string
	}{
		"all":              {0, 10, input},
		"more room":        {0, 20, input},
		"piece":            {3, 4, "3456"},
		"rest":             {7, 20, "789"},
		"last byte":        {9, 1, "9"},
		"at the end":       {10, 20, ""},
		"past the end":     {11, 20, ""},
		"far past the end": {0xffffffff, 20, ""},
		"no room":          {0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			call, lines := newCall()
			call.Input = []byte(input)
			n := answer(t, call, "", do(abi.FuncInputRead, tt.off, 100, tt.capacity))
			assert.Equal(t, abi.Code(len(tt.want)), n)
			rc := answer(t, call, "", then(
				do(abi.FuncInputRead, tt.off, 100, tt.capacity),
				do(abi.FuncInputRead, tt.off, 100, tt.capacity), // the input stays
				do(abi.FuncLog, 1, 100, int64(len(tt.want))),
			))
			assert.Zero(t, rc)
			assert.Equal(t, []string{tt.want}, *lines)
		})
	}
}

func TestOutputWrite(t *testing.T) {
	write := func(n int64) []byte { return do(abi.FuncOutputWrite, 0, n) }
	data := strings.Repeat("x", 100)
	for name, tt := range map[string]struct {
		code   []byte
		want   abi.Code
		length int
		wrote  bool
	}{
		"pieces":            {then(write(10), write(20)), 0, 30, true},
		"to the limit":      {then(write(60), write(4)), 0, 64, true},
		"past the limit":    {write(65), abi.CodeNoSpace, 0, false},
		"keeps nothing":     {then(write(60), write(5)), abi.CodeNoSpace, 60, true},
		"goes on":           {then(write(60), write(5), write(4)), 0, 64, true},
		"nothing, written":  {write(0), 0, 0, true},
		"nothing when full": {then(write(64), write(0)), 0, 64, true},
	} {
		t.Run(name, func(t *testing.T) {
			call, _ := newCall()
			assert.Equal(t, tt.want, answer(t, call, data, tt.code))
			assert.Len(t, call.Output, tt.length)
			assert.Equal(t, tt.wrote, call.Wrote)
		})
	}
}

func TestOutputEmit(t *testing.T) {
	emit := func(kind, n int64) []byte { return do(abi.FuncOutputEmit, kind, 0, n) }
	for name, tt := range map[string]struct {
		limit int
		code  []byte
		want  abi.Code
		got   []string
	}{
		"both kinds":      {64, then(emit(0, 3), emit(1, 2)), 0, []string{"0:abc", "1:ab"}},
		"kind 2":          {64, emit(2, 1), abi.CodeInvalid, nil},
		"kind -1":         {64, emit(-1, 1), abi.CodeInvalid, nil},
		"largest":         {1 << 20, emit(0, abi.MaxEmitBytes), 0, []string{"0:" + strings.Repeat("abcdefgh", abi.MaxEmitBytes/8)}},
		"too large":       {1 << 20, emit(0, abi.MaxEmitBytes+1), abi.CodeTooLarge, nil},
		"bytes together":  {8, then(emit(0, 5), emit(1, 4), emit(0, 3)), 0, []string{"0:abcde", "0:abc"}},
		"one byte over":   {8, then(emit(0, 8), emit(1, 1)), abi.CodeNoSpace, []string{"0:abcdefgh"}},
		"not of the rest": {8, then(do(abi.FuncOutputWrite, 0, 8), emit(0, 8)), 0, []string{"0:abcdefgh"}},
	} {
		t.Run(name, func(t *testing.T) {
			call, _ := newCall()
			call.OutputLimit = tt.limit
			var got []string
			call.Emit = func(kind abi.EmitKind, text string) { got = append(got, string(rune('0'+kind))+":"+text) }
			assert.Equal(t, tt.want, answer(t, call, strings.Repeat("abcdefgh", 3<<10), tt.code))
			assert.Equal(t, tt.got, got)
		})
	}
}

func TestOutputEmitCount(t *testing.T) {
	call, _ := newCall()
	n := 0
	call.Emit = func(abi.EmitKind, string) { n++ }
	assert.Equal(t, abi.CodeNoSpace, answer(t, call, "", times(abi.MaxEmits+1, do(abi.FuncOutputEmit, 0, 0, 0))))
	assert.Equal(t, abi.MaxEmits, n)
}

func TestOutputEmitWithoutListener(t *testing.T) {
	call, _ := newCall()
	assert.Zero(t, answer(t, call, "abc", do(abi.FuncOutputEmit, 0, 0, 3)))
}

func TestErrorSet(t *testing.T) {
	long := strings.Repeat("0123456789", 1000)
	for name, tt := range map[string]struct {
		data string
		code []byte
		want abi.Code
		text string
	}{
		"text":             {"went wrong", do(abi.FuncErrorSet, -14, 0, 10), 0, "went wrong"},
		"last one wins":    {"first then", then(do(abi.FuncErrorSet, -14, 0, 5), do(abi.FuncErrorSet, -1, 6, 4)), 0, "then"},
		"empty clears":     {"first", then(do(abi.FuncErrorSet, -14, 0, 5), do(abi.FuncErrorSet, -14, 0, 0)), 0, ""},
		"unknown negative": {"x", do(abi.FuncErrorSet, -9999, 0, 1), 0, "x"},
		"code 0":           {"first", then(do(abi.FuncErrorSet, -14, 0, 5), do(abi.FuncErrorSet, 0, 0, 1)), abi.CodeInvalid, "first"},
		"code 1":           {"first", do(abi.FuncErrorSet, 1, 0, 1), abi.CodeInvalid, ""},
		"cut off":          {long, do(abi.FuncErrorSet, -14, 0, 10_000), 0, long[:abi.MaxErrorBytes] + "…"},
		"not UTF-8":        {"a\xffb", do(abi.FuncErrorSet, -14, 0, 3), 0, "a\ufffdb"},
		"terminal":         {"\x1b[31mred\r\n", do(abi.FuncErrorSet, -14, 0, 10), 0, `\x1b[31mred\r\n`},
	} {
		t.Run(name, func(t *testing.T) {
			call, _ := newCall()
			assert.Equal(t, tt.want, answer(t, call, tt.data, tt.code))
			assert.Equal(t, tt.text, call.ErrorText)
		})
	}
}
