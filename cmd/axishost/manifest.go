package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/config"
	"github.com/axishost/axishost/plugins"
)

// manifestWarnings tell what a manifest probably does not mean, though it is a good one: fields that nobody reads,
// and a recipe that is never asked.
func manifestWarnings(text []byte, m *abi.Manifest) []string {
	warnings := unknownFields("", text, reflect.TypeFor[abi.Manifest]())
	if m.Kind != abi.KindTools && !slices.ContainsFunc(m.Hooks, isRecipeHook) {
		warnings = append(warnings, "the recipe declares no hooks: the host will never ask it")
	}
	return warnings
}

func isRecipeHook(h abi.Hook) bool {
	info, _ := abi.LookupHook(h)
	return !info.Tool
}

// unknownFields names the fields of a JSON text, which is known to fit shape, that shape does not have. prefix is its
// path with a dot behind it.
func unknownFields(prefix string, text json.RawMessage, shape reflect.Type) []string {
	if shape.Kind() == reflect.Slice && shape.Elem().Kind() == reflect.Struct {
		var items []json.RawMessage
		_ = json.Unmarshal(text, &items)
		var out []string
		for i, item := range items {
			out = append(out, unknownFields(fmt.Sprintf("%s[%d].", strings.TrimSuffix(prefix, "."), i), item, shape.Elem())...)
		}
		return out
	}
	if shape.Kind() != reflect.Struct {
		return nil
	}
	known := fieldsOf(shape)
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(text, &fields)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		t, isKnown := known[strings.ToLower(name)] // as encoding/json takes them
		if isKnown {
			out = append(out, unknownFields(prefix+name+".", fields[name], t)...)
			continue
		}
		warning := "field " + plugins.Printable(prefix+name, 100) + " is unknown, and ignored"
		if near := config.Near(name, slices.Sorted(maps.Keys(known))); near != "" {
			warning += "; did you mean " + prefix + near + "?"
		}
		out = append(out, warning)
	}
	return out
}

// fieldsOf gives the types of a struct's fields by their names in JSON.
func fieldsOf(shape reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(shape) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out[name] = f.Type
	}
	return out
}

// offers says in a few words what a plugin brings.
func offers(m *abi.Manifest) string {
	hooks, tools := make([]string, len(m.Hooks)), make([]string, len(m.Tools))
	for i, h := range m.Hooks {
		hooks[i] = string(h)
	}
	for i, t := range m.Tools {
		tools[i] = t.Name
	}
	return namesOf("hook", hooks) + ", " + namesOf("tool", tools)
}

// namesOf gives things by their names: no tools; tool calc; tools a b.
func namesOf(thing string, names []string) string {
	switch len(names) {
	case 0:
		return "no " + thing + "s"
	case 1:
		return thing + " " + names[0]
	default:
		return thing + "s " + strings.Join(names, " ")
	}
}
