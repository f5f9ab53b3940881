package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// keys gives the known keys of a struct type with the types of their values, embedded structs flattened.
func keys(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && !f.Anonymous {
			out[name] = f.Type
		}
	}
	return out
}

// paths gives the known paths with the types of their values, sections included; what is a plugin's own is
// not known here.
func paths() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	var walk func(prefix string, shape reflect.Type)
	walk = func(prefix string, shape reflect.Type) {
		for key, t := range keys(shape) {
			out[prefix+key] = t
			if t.Kind() == reflect.Struct {
				walk(prefix+key+".", t)
			}
		}
	}
	walk("", reflect.TypeFor[tree]())
	return out
}

// Keys gives what can be set, sorted. A key that ends in a dot has a plugin's own below it.
func Keys() []string {
	var out []string
	for path, t := range paths() {
		switch t.Kind() {
		case reflect.Struct:
		case reflect.Map:
			out = append(out, path+".")
		default:
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// nearestPath gives the known path that the writer of an unknown one meant, probably: one that is spelled
// nearly so, or one whose last key is, wherever it stands; empty when there is none.
func nearestPath(path string) string {
	best, least := "", 0
	for _, candidate := range sortedKeys(paths()) {
		for penalty, pair := range [][2]string{{path, candidate}, {last(path), last(candidate)}} {
			d, near := distance(pair[0], pair[1])
			if score := 2*d + penalty; near && (best == "" || score < least) {
				best, least = candidate, score
			}
		}
	}
	return best
}

// nearestVariable gives the known variable that the writer of an unknown one meant, probably: the first that it
// begins, else the one that is spelled most like it; empty when there is none.
func nearestVariable(name string, known []string) string {
	if i := slices.IndexFunc(known, func(candidate string) bool { return strings.HasPrefix(candidate, name) }); i >= 0 {
		return known[i]
	}
	own := make([]string, len(known))
	for i, candidate := range known {
		own[i] = strings.TrimPrefix(candidate, variablePrefix)
	}
	if near := Near(strings.TrimPrefix(name, variablePrefix), own); near != "" {
		return variablePrefix + near
	}
	return ""
}

// Near gives the candidate that is spelled most like a word; empty when none is near.
func Near(word string, candidates []string) string {
	best, least := "", 0
	for _, candidate := range candidates {
		if d, near := distance(word, candidate); near && (best == "" || d < least) {
			best, least = candidate, d
		}
	}
	return best
}

// distance tells how differently a word and a candidate are spelled, and whether that is near: what differs in more
// than a third of the word is another word.
func distance(word, candidate string) (d int, near bool) {
	word = clip(word)
	d = levenshtein.ComputeDistance(word, candidate)
	return d, d <= utf8.RuneCountInString(word)/3
}

// didYouMean is the end of an error about a word, with what is near to it.
func didYouMean(near string) string {
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}

// isAPIKey tells whether a key or a variable was to hold what is kept out of the configuration.
func isAPIKey(name string) bool {
	plain := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
	return strings.HasSuffix(plain, "apikey")
}

// noAPIKey says where API keys go instead.
const noAPIKey = "an API key is taken from OPENAI_API_KEY only, and never stored"

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// sortedKeys gives the keys of a map, so that errors come in the same order each time.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
