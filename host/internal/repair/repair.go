package repair

import (
	"encoding/json"
	"fmt"
)

// rule is one kind of repair. It changes the arguments and tells whether it did.
type rule struct {
	name  string
	on    bool
	apply func(s *schema, arguments *object) bool
}

// rules are in the order in which they apply: names before values, because values belong to names.
func (c *Config) rules() []rule {
	return []rule{
		{"normalize", c.Normalize, normalize},
		{"aliases", c.Aliases, renameAliases},
		{"fuzzy", c.Fuzzy, func(s *schema, arguments *object) bool { return renameAlike(s, arguments, c.Threshold) }},
		{"defaults", c.Defaults, fillDefaults},
		{"coerce", c.Coerce, coerceValues},
	}
}

// Arguments repairs the text of a tool call's arguments and gives the names of the rules that applied, in
// order: normalize, aliases, fuzzy, defaults, coerce. Without any the text is the one given.
//
// It repairs JSON objects for schemas of type object; anything else comes back as it is. An error is the
// operator's or the tool author's: a configuration or a schema that cannot be used. The text then also comes
// back as it is.
func Arguments(schema json.RawMessage, arguments string, config Config) (fixed string, rules []string, err error) {
	if !config.Enabled {
		return arguments, nil, nil
	}
	if err := config.Validate(); err != nil {
		return arguments, nil, fmt.Errorf("argument repair: %w", err)
	}
	s, err := parseSchema(schema)
	if err != nil {
		return arguments, nil, fmt.Errorf("argument repair: %w", err)
	}
	object, isObject := parseObject(arguments)
	if s == nil || !isObject {
		return arguments, nil, nil
	}
	for _, r := range config.rules() {
		if r.on && r.apply(s, object) {
			rules = append(rules, r.name)
		}
	}
	if rules == nil {
		return arguments, nil, nil
	}
	return object.String(), rules, nil
}
