package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// chunkLimit is how many bytes are encoded at once. The encoder's work grows with the square of the length of
// a run of letters; RATIONALE.md has the measurements.
const chunkLimit = 1 << 10

// count adds up the tokens of a text's chunks.
func count(text string, encode encoder) int64 {
	// Each bad byte becomes U+FFFD, which is longer: done later, it would make chunks longer than the limit.
	if !utf8.ValidString(text) {
		text = strings.Map(func(r rune) rune { return r }, text)
	}
	total := int64(0)
	for text != "" {
		n := cut(text)
		total += int64(encode(text[:n]))
		text = text[n:]
	}
	return total
}

// cut gives the length of the first chunk of a text that is valid UTF-8 and not empty: to the last place
// within the limit where both encodings begin a new piece whatever stands around it, and without one to the
// last whole rune.
//
// Two chunks in a row are together longer than the limit, because the first ends at the last such place: so
// looking for it is linear in the text.
func cut(text string) int {
	if len(text) <= chunkLimit {
		return len(text)
	}
	end := chunkLimit
	for !utf8.RuneStart(text[end]) {
		end--
	}
	next, _ := utf8.DecodeRuneInString(text[end:])
	for i := end; i > 0; {
		before, size := utf8.DecodeLastRuneInString(text[:i])
		if separates(before, next) {
			return i
		}
		next = before
		i -= size
	}
	return end
}

// separates tells whether a piece ends between two runes, in each text that has them side by side. Both
// encodings look for pieces by a pattern in which letters and digits are never in the same piece, and are
// followed there by nothing else but, in o200k_base, marks and the apostrophe of "it's".
func separates(before, after rune) bool {
	switch {
	case unicode.IsLetter(before):
		return !unicode.IsLetter(after) && !unicode.IsMark(after) && after != '\''
	case unicode.IsNumber(before):
		return !unicode.IsNumber(after) && !unicode.IsMark(after) && after != '\''
	default:
		return false
	}
}
