package repair

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// fillDefaults adds the missing properties that have a default of a type they allow, sorted by name.
func fillDefaults(s *schema, arguments *object) bool {
	var names []string
	for _, p := range s.properties {
		if p.byDefault != nil && !arguments.has(p.name) && fits(p.byDefault, p.types) {
			names = append(names, p.name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		arguments.set(name, s.byName[name].byDefault)
	}
	return len(names) > 0
}

// coerceValues turns scalars that fit none of their property's types into the first type they can become.
func coerceValues(s *schema, arguments *object) bool {
	applied := false
	for _, p := range s.properties {
		value, found := arguments.values[p.name]
		if !found || fits(value, p.types) {
			continue
		}
		for _, wanted := range p.types {
			if coerced, can := coerce(value, wanted); can {
				arguments.set(p.name, coerced)
				applied = true
				break
			}
		}
	}
	return applied
}

// fits tells whether a value is of one of the types. Without types every value is.
func fits(value json.RawMessage, types []string) bool {
	kind := kindOf(value)
	for _, t := range types {
		if t == kind || t == "integer" && kind == "number" && isIntegral(string(value)) {
			return true
		}
	}
	return len(types) == 0
}

// kindOf gives the JSON type of a valid value; integer is not one.
func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "number"
	}
}

// isIntegral tells whether a JSON number has no fraction: 7, and for schemas also 7.0.
func isIntegral(number string) bool {
	if !strings.ContainsAny(number, ".eE") {
		return true
	}
	value, err := strconv.ParseFloat(number, 64)
	return err == nil && value == math.Trunc(value)
}

// coerce gives a scalar as another type, where it is plainly meant so.
func coerce(value json.RawMessage, wanted string) (json.RawMessage, bool) {
	kind := kindOf(value)
	if wanted == "string" && (kind == "boolean" || kind == "number") {
		return json.RawMessage(`"` + string(value) + `"`), true
	}
	text := string(value)
	if kind == "string" {
		if err := json.Unmarshal(value, &text); err != nil {
			return nil, false
		}
		text = strings.TrimSpace(text)
	}
	switch {
	case wanted == "boolean" && (kind == "string" || kind == "number"):
		return boolean(text)
	case wanted == "integer" && kind == "string" && strings.Trim(text, "+-0123456789") == "":
		return number(text)
	case wanted == "number" && kind == "string":
		return number(text)
	}
	return nil, false
}

func boolean(text string) (json.RawMessage, bool) {
	switch strings.ToLower(text) {
	case "true", "1", "yes":
		return json.RawMessage("true"), true
	case "false", "0", "no":
		return json.RawMessage("false"), true
	}
	return nil, false
}

// number gives a decimal number as JSON writes it, digits as they are: +007.50 is 7.50, .5 is 0.5. It refuses
// what JSON has no number for, such as nan, 0x10 and 1_000, and what is beyond a float64.
func number(text string) (json.RawMessage, bool) {
	if text == "" || strings.Trim(text, "+-.eE0123456789") != "" {
		return nil, false
	}
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return nil, false
	}
	sign := ""
	if text[0] == '-' {
		sign = "-"
	}
	// What parsed has one sign at most here, and a digit before the exponent.
	mantissa, exponent := strings.TrimLeft(text, "+-"), ""
	if at := strings.IndexAny(mantissa, "eE"); at >= 0 {
		mantissa, exponent = mantissa[:at], mantissa[at:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return json.RawMessage(sign + whole + fraction + exponent), true
}
