package main

import (
	"strings"
	"unicode/utf8"

	"github.com/axishost/axishost/abi"
)

// bareCall is the keyword reported for a call that is written as JSON without any markup.
const bareCall = `{"name": …, "arguments": …}`

// markers are what models write around a tool call that should have been a structured one.
func markers() []string {
	return []string{
		"<tool_call>", "</tool_call>", "<function=", "</function>", "<function_call>", "```tool_call",
		"<|tool_call_begin|>", "<|tool_calls_section_begin|>", // Kimi
		"<｜tool▁call▁begin｜>", "<｜tool▁calls▁begin｜>", // DeepSeek
		"[TOOL_CALLS]", "<|python_tag|>", "<use_mcp_tool>", "<invoke name=",
	}
}

// formatError decides when the reply holds the markup of a tool call. A reply that only quotes it is none,
// whatever the configured keywords say. Without any markup the configured keywords hold.
func formatError(reply string) (found abi.FormatError, ok bool) {
	for _, marker := range markers() {
		switch appears(reply, marker) {
		case quoted:
			ok = true
		case plain:
			ok = true
			found.Keywords = append(found.Keywords, marker)
		}
	}
	if !ok && endsInCall(reply) {
		// An answer after the call's text shows that the JSON was meant for the reader.
		if answer, _ := lastBox(reply); answer == "" {
			return abi.FormatError{Keywords: []string{bareCall}}, true
		}
	}
	return found, ok
}

// appearance is how a marker stands in a reply.
type appearance int

const (
	absent appearance = iota
	quoted            // only in code spans or quotation marks
	plain             // at least once as markup
)

func appears(reply, marker string) appearance {
	result := absent
	for from := 0; ; {
		at := strings.Index(reply[from:], marker)
		if at < 0 {
			return result
		}
		at += from
		from = at + len(marker)
		if !isQuoted(reply, at, from) {
			return plain
		}
		result = quoted
	}
}

// isQuoted tells whether reply[start:end] stands in a code span, or directly after an opening quotation mark
// that is closed later on the line.
func isQuoted(reply string, start, end int) bool {
	before, after := reply[strings.LastIndexByte(reply[:start], '\n')+1:start], reply[end:]
	if eol := strings.IndexByte(after, '\n'); eol >= 0 {
		after = after[:eol]
	}
	if strings.Count(before, "`")%2 == 1 {
		return strings.Contains(after, "`")
	}
	mark, _ := utf8.DecodeLastRuneInString(before)
	switch mark {
	case '"', '\'':
		return strings.ContainsRune(after, mark)
	case '“':
		return strings.ContainsRune(after, '”')
	case '‘':
		return strings.ContainsRune(after, '’')
	case '「':
		return strings.ContainsRune(after, '」')
	}
	return false
}

// endsInCall tells whether the reply is, or ends in, the JSON of a call, in a code block or not. The JSON
// need not be whole: a call that was cut off is one too. JSON with prose after it is an illustration.
func endsInCall(reply string) bool {
	if !strings.Contains(reply, `"arguments"`) {
		return false
	}
	reply = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(reply), "```"))
	for {
		at := strings.IndexByte(reply, '{')
		if at < 0 {
			return false
		}
		if reply = reply[at:]; !beginsCall(reply) {
			reply = reply[1:]
			continue
		}
		reply = trimLeft(afterObject(reply))
		if reply == "" || strings.IndexByte("{}[],", reply[0]) >= 0 {
			return true
		}
	}
}

// beginsCall tells whether text begins with an object that has a name and arguments. Values before the
// arguments must be strings, as in {"type": "function", "name": …}.
func beginsCall(text string) bool {
	rest, more := strings.CutPrefix(text, "{")
	for named := false; more; {
		key, after, ok := cutString(rest)
		if !ok {
			return false
		}
		value, ok := strings.CutPrefix(trimLeft(after), ":")
		if !ok {
			return false
		}
		value = trimLeft(value)
		if key == "arguments" {
			holds := strings.HasPrefix(value, "{") || strings.HasPrefix(value, `"`)
			return holds && (named || strings.Contains(value, `"name"`))
		}
		if _, after, ok = cutString(value); !ok {
			return false
		}
		named = named || key == "name"
		rest, more = strings.CutPrefix(trimLeft(after), ",")
	}
	return false
}

// afterObject gives what follows the object that text begins with, nothing when it does not end.
func afterObject(text string) string {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return text[i+1:]
			}
		}
	}
	return ""
}

// cutString cuts a JSON string off the beginning of text, without unescaping it.
func cutString(text string) (value, rest string, ok bool) {
	text, ok = strings.CutPrefix(trimLeft(text), `"`)
	for i := 0; ok && i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

func trimLeft(text string) string { return strings.TrimLeft(text, " \t\r\n") }
