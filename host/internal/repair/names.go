package repair

import (
	"encoding/json"
	"strings"
	"unicode"
)

// normalize strips white space and quotes from the ends of keys. Of keys that become the same the first
// stays. A declared key is what the schema wants already, and a key that an open schema allows is data.
func normalize(s *schema, arguments *object) bool {
	applied := false
	stripped := &object{values: map[string]json.RawMessage{}}
	for _, key := range arguments.keys {
		name := key
		if !s.declares(key) {
			name = strings.TrimFunc(key, isWrapping)
		}
		if name == "" || s.open && !s.declares(name) {
			name = key
		}
		applied = applied || name != key
		if !stripped.has(name) {
			stripped.set(name, arguments.values[key])
		}
	}
	*arguments = *stripped
	return applied
}

func isWrapping(r rune) bool {
	return unicode.IsSpace(r) || r == '"' || r == '\'' || r == '`'
}

// renameAliases gives each missing property the first of its aliases that is there and is no property itself.
func renameAliases(s *schema, arguments *object) bool {
	applied := false
	for _, p := range s.properties {
		if arguments.has(p.name) {
			continue
		}
		for _, alias := range p.aliases {
			if arguments.has(alias) && !s.declares(alias) {
				arguments.rename(alias, p.name)
				applied = true
				break
			}
		}
	}
	return applied
}

// renameAlike renames the only unknown key to the only missing property when they are alike enough. With
// more of either it would be guessing.
func renameAlike(s *schema, arguments *object, threshold float64) bool {
	if s.open {
		return false
	}
	var unknown, missing []string
	for _, key := range arguments.keys {
		if !s.declares(key) {
			unknown = append(unknown, key)
		}
	}
	for _, p := range s.properties {
		if !arguments.has(p.name) {
			missing = append(missing, p.name)
		}
	}
	if len(unknown) != 1 || len(missing) != 1 || !alike(unknown[0], missing[0], threshold) {
		return false
	}
	arguments.rename(unknown[0], missing[0])
	return true
}
