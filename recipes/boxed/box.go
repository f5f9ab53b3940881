package main

import (
	"strings"
	"unicode"
)

const box = `\boxed`

// lastBox gives the content of the reply's last box, trimmed. It is empty when that content says that there
// is no answer; ok tells whether there is a box at all.
func lastBox(reply string) (content string, ok bool) {
	for {
		at := strings.Index(reply, box)
		if at < 0 {
			break
		}
		reply = reply[at+len(box):]
		inside := strings.TrimLeftFunc(reply, unicode.IsSpace)
		if !strings.HasPrefix(inside, "{") {
			continue
		}
		end := closing(inside)
		content, ok = inside[1:end], true
		reply = inside[end:]
	}
	if isNone(content) {
		return "", ok
	}
	return strings.TrimSpace(content), ok
}

// closing finds the brace that closes the one that text begins with: braces nest, and a backslash takes the
// meaning of the character after it. When there is none the box takes the rest.
func closing(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// isNone tells whether the content of a box says that there is no answer. It is compared as it stands: with
// spaces around it, a question mark was put there on purpose.
func isNone(content string) bool {
	switch content {
	case "", "?", "??", "???", "？", "…", "……", "...", "unknown":
		return true
	}
	return false
}
