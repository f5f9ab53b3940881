package model

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote is the content of a valid JSON string. Unlike encoding/json it keeps the halves of characters:
// bytes of UTF-8 that are no whole character, and surrogates without a partner (as their three bytes). The
// other half may come with the next event; mend joins them.
func unquote(raw []byte) string {
	if utf8.Valid(raw) && !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
	}
	out := make([]byte, 0, len(raw))
	for s := raw[1 : len(raw)-1]; len(s) > 0; {
		if s[0] != '\\' {
			out = append(out, s[0])
			s = s[1:]
			continue
		}
		switch s[1] {
		case 'u':
			n, _ := strconv.ParseUint(string(s[2:6]), 16, 16)
			out = appendUnit(out, rune(n))
			s = s[6:]
			continue
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		default:
			out = append(out, s[1])
		}
		s = s[2:]
	}
	return string(out)
}

// appendUnit appends one UTF-16 unit, a surrogate as the three bytes that UTF-8 would have for it.
func appendUnit(out []byte, unit rune) []byte {
	if utf16.IsSurrogate(unit) {
		return append(out, 0xe0|byte(unit>>12), 0x80|byte(unit>>6)&0x3f, 0x80|byte(unit)&0x3f)
	}
	return utf8.AppendRune(out, unit)
}

// mend joins the halves of characters that unquote kept and puts U+FFFD for those that stayed alone.
func mend(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		if pair := utf16.DecodeRune(unitAt(s, 0), unitAt(s, 3)); pair != utf8.RuneError {
			out.WriteRune(pair)
			s = s[6:]
			continue
		}
		if utf16.IsSurrogate(unitAt(s, 0)) {
			out.WriteRune(utf8.RuneError)
			s = s[3:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		out.WriteRune(r)
		s = s[size:]
	}
	return out.String()
}

// unitAt is the surrogate whose three bytes begin at i, or 0.
func unitAt(s string, i int) rune {
	if len(s) < i+3 || s[i] != 0xed || s[i+1]&0xe0 != 0xa0 || s[i+2]&0xc0 != 0x80 {
		return 0
	}
	return 0xd000 | rune(s[i+1]&0x3f)<<6 | rune(s[i+2]&0x3f)
}
