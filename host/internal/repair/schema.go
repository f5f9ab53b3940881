package repair

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// schema is what repair knows of a tool's parameters.
type schema struct {
	// properties in the schema's order.
	properties []property
	byName     map[string]*property
	// open tells that the schema expressly allows more keys than it declares: those are not unknown.
	open bool
}

// property is what repair knows of one parameter. A property's schema that is not an object, or that has its
// types elsewhere ($ref, anyOf), has none.
type property struct {
	name    string
	types   []string
	aliases []string
	// byDefault is the default as compact JSON; nil without one.
	byDefault json.RawMessage
}

// parseSchema gives nil for a schema of another type than object, and an error for one that is none.
func parseSchema(text json.RawMessage) (*schema, error) {
	if !json.Valid(text) {
		return nil, errors.New("the tool's schema is not JSON")
	}
	root, isObject := parseObject(string(text))
	if !isObject || !slices.Contains(typesOf(root.values["type"]), "object") {
		return nil, nil
	}
	s := &schema{byName: map[string]*property{}, open: root.has("patternProperties")}
	if more := root.values["additionalProperties"]; more != nil {
		s.open = s.open || string(more) != "false"
	}
	if !root.has("properties") {
		return s, nil
	}
	declared, isObject := parseObject(string(root.values["properties"]))
	if !isObject {
		return nil, errors.New("the properties of the tool's schema are not an object")
	}
	s.properties = make([]property, len(declared.keys))
	for i, name := range declared.keys {
		s.properties[i] = parseProperty(name, declared.values[name])
		s.byName[name] = &s.properties[i]
	}
	return s, nil
}

func parseProperty(name string, text json.RawMessage) property {
	facts, isObject := parseObject(string(text))
	if !isObject {
		return property{name: name}
	}
	p := property{name: name, types: typesOf(facts.values["type"]), aliases: stringsOf(facts.values["x-agentic-aliases"])}
	if value := facts.values["default"]; value != nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err == nil {
			p.byDefault = compact.Bytes()
		}
	}
	return p
}

// declares tells whether a key is a property of the schema.
func (s *schema) declares(key string) bool { return s.byName[key] != nil }

// typesOf reads the keyword type: a name or a list of names.
func typesOf(text json.RawMessage) []string {
	var one string
	if json.Unmarshal(text, &one) == nil && one != "" {
		return []string{one}
	}
	return stringsOf(text)
}

// stringsOf reads a list of strings; anything else is an empty one.
func stringsOf(text json.RawMessage) []string {
	var list []string
	if json.Unmarshal(text, &list) != nil {
		return nil
	}
	return list
}
