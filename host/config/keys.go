package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

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

// nearestPath gives the known path that the writer of an unknown one meant, probably: one that is spelled
// nearly so, or one whose last key is, wherever it stands.
func nearestPath(path string) string {
	name := last(clip(path))
	return nearest(sortedKeys(paths()), func(candidate string) int {
		return min(2*levenshtein.ComputeDistance(clip(path), candidate), 2*levenshtein.ComputeDistance(name, last(candidate))+1)
	})
}

// nearestVariable gives the known variable that the writer of an unknown one meant, probably: the first that it
// begins, else the one that is spelled most like it.
func nearestVariable(name string, known []string) string {
	if i := slices.IndexFunc(known, func(candidate string) bool { return strings.HasPrefix(candidate, name) }); i >= 0 {
		return known[i]
	}
	return nearest(known, func(candidate string) int { return levenshtein.ComputeDistance(clip(name), candidate) })
}

// nearest gives the first candidate with the least distance.
func nearest(candidates []string, distance func(string) int) string {
	return slices.MinFunc(candidates, func(a, b string) int { return distance(a) - distance(b) })
}

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// sortedKeys gives the keys of a map, so that errors come in the same order each time.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
