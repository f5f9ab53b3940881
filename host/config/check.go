package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// unserved are keys of the design that this version has nothing for.
var unserved = []string{"budget", "policy", "grants"}

// check reports every key of a source that is not known, and every value that is not of its key's type.
func check(s Source) []error {
	var problems []error
	for _, problem := range checkMap("", s.Tree, reflect.TypeFor[tree]()) {
		problems = append(problems, errors.New(s.Name+": "+problem))
	}
	return problems
}

// checkMap checks a map that stands for a struct of type shape. prefix is its path with a dot behind it.
func checkMap(prefix string, m map[string]any, shape reflect.Type) []string {
	known := keys(shape)
	var problems []string
	for _, key := range sortedKeys(m) {
		path := prefix + key
		t, ok := known[key]
		switch {
		case ok:
			problems = append(problems, checkValue(path, m[key], t)...)
		case prefix == "" && slices.Contains(unserved, key):
			problems = append(problems, "key "+key+" is not served by this version of axishost; remove it")
		case isAPIKey(key):
			problems = append(problems, "unknown key "+written(path)+"; "+noAPIKey)
		default:
			problems = append(problems, "unknown key "+written(path)+didYouMean(nearestPath(path)))
		}
	}
	return problems
}

// checkValue checks a value against the type of its key.
func checkValue(path string, value any, t reflect.Type) []string {
	nullable := ""
	if t.Kind() == reflect.Pointer {
		t, nullable = t.Elem(), " or null"
		if value == nil {
			return nil
		}
	}
	want := ""
	switch t.Kind() {
	case reflect.String:
		if _, ok := value.(string); !ok {
			want = "a text"
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			want = "true or false"
		}
	case reflect.Int64:
		if !whole(value) {
			want = "a whole number"
		}
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok && value != nil {
			want = "a list of texts"
		}
		var problems []string
		for i, item := range list {
			problems = append(problems, checkValue(fmt.Sprintf("%s[%d]", path, i), item, t.Elem())...)
		}
		if len(problems) > 0 {
			return problems
		}
	default:
		m, ok := value.(map[string]any)
		switch {
		case !ok && value != nil:
			want = "a map"
		case t.Kind() == reflect.Struct:
			return checkMap(path+".", m, t)
		default:
			return checkFree(path, m, t.Elem())
		}
	}
	if want == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s must be %s%s; it is %s", written(path), want, nullable, shown(value))}
}

// checkFree checks what is a plugin's own: maps where the type wants maps, and nothing that JSON lacks.
func checkFree(path string, m map[string]any, elem reflect.Type) []string {
	var problems []string
	for _, key := range sortedKeys(m) {
		below := path + "." + key
		if elem.Kind() == reflect.Map {
			problems = append(problems, checkValue(below, m[key], elem)...)
		} else if !plain(m[key]) {
			problems = append(problems, written(below)+" must be made of what JSON has: it holds a key that is no text, or a number without a value")
		}
	}
	return problems
}

// plain tells whether JSON has the value.
func plain(value any) bool {
	switch v := value.(type) {
	case nil, string, bool, int, int64, uint64:
		return true
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !plain(item) })
	case map[string]any:
		for _, item := range v {
			if !plain(item) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// whole tells whether a number is one that int64 holds. JSON gives float64, YAML the others.
func whole(value any) bool {
	const exact = 1 << 53
	switch v := value.(type) {
	case int, int64:
		return true
	case uint64:
		return v <= math.MaxInt64
	case float64:
		return v == math.Trunc(v) && math.Abs(v) <= exact
	default:
		return false
	}
}

// shown names a value in an error.
func shown(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return "the text " + quoted(v)
	case []any:
		return "a list"
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(v)
	default:
		return "a map"
	}
}

// written is a key in an error: as it is where that is plain, else quoted, so that it cannot forge a line.
func written(path string) string {
	odd := strings.IndexFunc(path, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.[]", r)
	}) >= 0
	if odd || path == "" {
		return quoted(path)
	}
	return clip(path)
}

func quoted(text string) string { return strconv.Quote(clip(text)) }

// clip bounds a foreign text in an error.
func clip(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
