package abi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Resources expands a tool's templates over the arguments of a call, one JSON object. The names come sorted, each
// once, and are the same for equal arguments however these are written: a number is in its shortest form. It is
// an error when a template names an argument that is not there, or is not a string, a number or a boolean: a call
// whose resources are not known cannot be kept apart from others.
func Resources(templates []string, arguments json.RawMessage) ([]string, error) {
	if len(templates) == 0 {
		return nil, nil
	}
	if !isObject(arguments) {
		return nil, errors.New("arguments are not a JSON object")
	}
	names := make([]string, 0, len(templates))
	for _, template := range templates {
		parts, err := parseTemplate(template)
		if err != nil {
			return nil, fmt.Errorf("resource %q: %w", clip(template), err)
		}
		var name strings.Builder
		for _, part := range parts {
			text := part.literal
			if part.path != nil {
				if text, err = lookup(arguments, part.path); err != nil {
					return nil, fmt.Errorf("resource %q: %w", clip(template), err)
				}
			}
			if name.Len()+len(text) > MaxResourceBytes {
				return nil, fmt.Errorf("resource %q: its name is over the limit of %d bytes", clip(template), MaxResourceBytes)
			}
			name.WriteString(text)
		}
		names = append(names, name.String())
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// part is a piece of a template: literal text, or the path of an argument.
type part struct {
	literal string
	path    []string
}

// parseTemplate splits a template such as file:{target.path}. There is no escape: a name that has braces of its
// own is one that a preview has to give.
func parseTemplate(template string) ([]part, error) {
	if template == "" {
		return nil, errors.New("it is empty")
	}
	if len(template) > MaxResourceBytes {
		return nil, fmt.Errorf("it is over the limit of %d bytes", MaxResourceBytes)
	}
	var parts []part
	for rest := template; rest != ""; {
		at := strings.IndexAny(rest, "{}")
		switch {
		case at < 0:
			return append(parts, part{literal: rest}), nil
		case rest[at] == '}':
			return nil, errors.New("a } has no { before it")
		case at > 0:
			parts = append(parts, part{literal: rest[:at]})
		}
		key, after, closed := strings.Cut(rest[at+1:], "}")
		path := strings.Split(key, ".")
		switch {
		case !closed || strings.Contains(key, "{"):
			return nil, errors.New("a { has no } after it")
		case slices.Contains(path, ""):
			return nil, errors.New("{} must hold an argument's name, those of nested ones with dots: {target.path}")
		}
		parts, rest = append(parts, part{path: path}), after
	}
	return parts, nil
}

// lookup gives the text of the argument at path.
func lookup(arguments json.RawMessage, path []string) (string, error) {
	value, name := arguments, clip(strings.Join(path, "."))
	for _, key := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil || object == nil {
			return "", fmt.Errorf("argument %q is missing", name)
		}
		var there bool
		if value, there = object[key]; !there {
			return "", fmt.Errorf("argument %q is missing", name)
		}
	}
	switch text := string(value); text[0] { // json gives no value that is empty
	case '"':
		var s string
		err := json.Unmarshal(value, &s)
		return s, err
	case 't', 'f':
		return text, nil
	case '{', '[', 'n':
		return "", fmt.Errorf("argument %q must be a string, a number, true or false", name)
	default:
		number, err := shortest(text)
		if err != nil {
			return "", fmt.Errorf("argument %q: %w", name, err)
		}
		return number, nil
	}
}

// shortest writes a JSON number in one form for all ways to write it, exactly: 1, 1.0 and 10e-1 are 1. It does
// not go through a float, in which two long numbers could become one.
func shortest(number string) (string, error) {
	digits, sign := number, ""
	if digits[0] == '-' {
		digits, sign = digits[1:], "-"
	}
	exponent := 0
	if at := strings.IndexAny(digits, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(digits[at+1:]); err != nil || exponent > 9999 || exponent < -9999 {
			return "", errors.New("its exponent is out of range")
		}
		digits = digits[:at]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	exponent -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0", nil
	}
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	const most = 21 // zeros that are written out
	point := len(trimmed) + exponent
	switch {
	case exponent >= 0 && exponent <= most:
		return sign + trimmed + strings.Repeat("0", exponent), nil
	case exponent < 0 && point > 0:
		return sign + trimmed[:point] + "." + trimmed[point:], nil
	case exponent < 0 && point > -most:
		return sign + "0." + strings.Repeat("0", -point) + trimmed, nil
	}
	return sign + trimmed + "e" + strconv.Itoa(exponent), nil
}
