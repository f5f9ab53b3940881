package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/axishost/axishost/abi"
)

// Variables of the environment that are not configuration keys: where things are.
var placeVariables = []string{"AXISHOST_STORE", "AXISHOST_CONFIG", "AXISHOST_CACHE", "AXISHOST_KEY_FILE", "AXISHOST_STORE_WAIT"}

const variablePrefix = "AXISHOST_"

// FromManifest gives what a recipe asks of the conversation.
func FromManifest(m *abi.Manifest) (Source, error) {
	s := Source{Name: "manifest of " + m.Name, Tree: map[string]any{}}
	if m.Conversation == nil {
		return s, nil
	}
	var conversation map[string]any
	if err := json.Unmarshal(m.Conversation, &conversation); err != nil {
		return s, fmt.Errorf("%s: conversation: %w", s.Name, err)
	}
	s.Tree["conversation"] = conversation
	return s, nil
}

// FromEnvironment gives what the environment sets, a source for each variable that is not empty:
// OPENAI_MODEL and OPENAI_BASE_URL, and over them AXISHOST_ and a key with its dots as underscores, such as
// AXISHOST_CONVERSATION_MAX_TURNS. A text is taken as it stands; value reads what is no text.
func FromEnvironment(environ []string, value func(string) (any, error)) ([]Source, error) {
	own, foreign := map[string]string{}, map[string]string{"OPENAI_MODEL": "model.name", "OPENAI_BASE_URL": "model.base_url"}
	for path, t := range paths() {
		if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
			own[variablePrefix+strings.ToUpper(strings.ReplaceAll(path, ".", "_"))] = path
		}
	}
	var first, then []Source
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		name, text, _ := strings.Cut(pair, "=")
		if text == "" || slices.Contains(placeVariables, name) {
			continue
		}
		into, path := &then, own[name]
		if foreign[name] != "" {
			into, path = &first, foreign[name]
		}
		switch {
		case path != "":
			s := Source{Name: name, Tree: map[string]any{}}
			if err := s.set(path, text, value); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			*into = append(*into, s)
		case strings.HasPrefix(name, variablePrefix) && isAPIKey(name):
			return nil, fmt.Errorf("environment: unknown variable %s; %s", written(name), noAPIKey)
		case strings.HasPrefix(name, variablePrefix):
			return nil, fmt.Errorf("environment: unknown variable %s%s", written(name),
				didYouMean(nearestVariable(name, append(sortedKeys(own), placeVariables...))))
		}
	}
	return append(first, then...), nil
}

// FromAssignments gives what key=value flags set. A text is taken as it stands; value reads what is no text.
func FromAssignments(name string, assignments []string, value func(string) (any, error)) (Source, error) {
	s := Source{Name: name, Tree: map[string]any{}}
	for _, a := range assignments {
		path, text, ok := strings.Cut(a, "=")
		if !ok || path == "" {
			return s, fmt.Errorf("%s %s must be key=value, such as conversation.max_turns=20", name, quoted(a))
		}
		if err := s.set(path, text, value); err != nil {
			return s, fmt.Errorf("%s %s: %w", name, written(path), err)
		}
	}
	return s, nil
}

// set puts the value of text at a dotted path into the tree.
func (s *Source) set(path, text string, value func(string) (any, error)) error {
	v, err := typed(path, text, value)
	if err != nil {
		return err
	}
	parts := strings.Split(path, ".")
	at := s.Tree
	for _, part := range parts[:len(parts)-1] {
		sub, ok := at[part].(map[string]any)
		if !ok {
			sub = map[string]any{}
			at[part] = sub
		}
		at = sub
	}
	at[parts[len(parts)-1]] = v
	return nil
}

// typed gives the value that text stands for: where a text is wanted the text itself, whatever value would
// make of "Note: x" or "5", and null where there may be none.
func typed(path, text string, value func(string) (any, error)) (any, error) {
	t := paths()[path]
	switch {
	case t == reflect.TypeFor[string]():
		return text, nil
	case t == reflect.TypeFor[*string]():
		if text == "null" {
			return nil, nil
		}
		return text, nil
	default:
		return value(text)
	}
}
