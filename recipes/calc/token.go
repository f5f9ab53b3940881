package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is: an operator or parenthesis by its own character, power always as '^'.
type kind rune

const (
	number kind = 'n'
	end    kind = 0
)

// token is one piece of an expression.
type token struct {
	kind kind
	// text is how it was written; of a number without thousands separators.
	text string
	// column counts code points from 1.
	column int
}

// syntaxError says what is wrong with an expression, and where.
type syntaxError struct {
	column int
	text   string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("position %d: %s", e.column, e.text) }

func errorAt(column int, format string, args ...any) error {
	return &syntaxError{column: column, text: fmt.Sprintf(format, args...)}
}

// scanner cuts an expression into tokens.
type scanner struct {
	rest   string
	column int
}

func (s *scanner) next() (token, error) {
	trimmed := strings.TrimLeftFunc(s.rest, unicode.IsSpace)
	s.advance(len(s.rest) - len(trimmed))
	if s.rest == "" {
		return token{kind: end, text: "the end", column: s.column}, nil
	}
	r, size := utf8.DecodeRuneInString(s.rest)
	if isDigit(s.rest[0]) || r == '.' {
		return s.number()
	}
	t := token{column: s.column}
	switch r {
	case '+', '-', '*', '/', '%', '^', '(', ')':
		t.kind = kind(r)
	case '×', '·', '∗', '＊':
		t.kind = '*'
	case '÷', '／':
		t.kind = '/'
	case '−', '－':
		t.kind = '-'
	case '＋':
		t.kind = '+'
	case '（':
		t.kind = '('
	case '）':
		t.kind = ')'
	default:
		return t, errorAt(s.column, "%q is not part of an arithmetic expression", r)
	}
	if strings.HasPrefix(s.rest, "**") {
		t.kind, size = '^', 2
	}
	t.text = s.rest[:size]
	s.advance(size)
	return t, nil
}

// advance drops size bytes.
func (s *scanner) advance(size int) {
	s.column += utf8.RuneCountInString(s.rest[:size])
	s.rest = s.rest[size:]
}

// number cuts off digits with thousands separators, a fraction and an exponent, each but the digits optional.
func (s *scanner) number() (token, error) {
	t := token{kind: number, column: s.column}
	whole := digits(s.rest)
	size := whole
	for strings.HasPrefix(s.rest[size:], ",") {
		group := digits(s.rest[size+1:])
		if group != 3 || whole == 0 || whole > 3 {
			return t, errorAt(s.column+size, "a comma separates thousands, in groups of three digits; a decimal is written 1.5")
		}
		size += 1 + group
	}
	if strings.HasPrefix(s.rest[size:], ".") {
		fraction := digits(s.rest[size+1:])
		if whole+fraction == 0 {
			return t, errorAt(s.column, "a number is expected, found %q", ".")
		}
		size += 1 + fraction
	}
	size += exponent(s.rest[size:])
	t.text = strings.ReplaceAll(s.rest[:size], ",", "")
	s.advance(size)
	return t, nil
}

// exponent gives the length of what text begins with in the way of e10 or E-3.
func exponent(text string) int {
	if text == "" || (text[0] != 'e' && text[0] != 'E') {
		return 0
	}
	sign := 1
	if len(text) > 1 && (text[1] == '+' || text[1] == '-') {
		sign = 2
	}
	if n := digits(text[sign:]); n > 0 {
		return sign + n
	}
	return 0
}

// digits counts the digits that text begins with.
func digits(text string) int {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
