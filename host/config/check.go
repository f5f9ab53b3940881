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

// maxProblems bounds how many problems are told: nobody mends more than that at once, and each unknown key is compared
// with every known one.
const maxProblems = 20

// problems are what is wrong with sources, as far as it is told.
type problems struct {
	source string
	told   []error
	more   int
}

// add adds a problem. It is put into words only where it is told.
func (p *problems) add(words func() string) {
	if len(p.told) == maxProblems {
		p.more++
		return
	}
	p.told = append(p.told, errors.New(p.source+": "+words()))
}

// err is nil where there is no problem.
func (p *problems) err() error {
	if p.more > 0 {
		return errors.Join(append(p.told, fmt.Errorf("and %d more", p.more))...)
	}
	return errors.Join(p.told...)
}

// check reports every key of a source that is not known, and every value that is not of its key's type.
func (p *problems) check(s Source) {
	p.source = s.Name
	p.checkMap("", s.Tree, reflect.TypeFor[tree]())
}

// checkMap checks a map that stands for a struct of type shape. prefix is its path with a dot behind it.
func (p *problems) checkMap(prefix string, m map[string]any, shape reflect.Type) {
	known := keys(shape)
	for _, key := range sortedKeys(m) {
		path := prefix + key
		t, ok := known[key]
		switch {
		case ok:
			p.checkValue(path, m[key], t)
		case prefix == "" && slices.Contains(unserved, key):
			p.add(func() string { return "key " + key + " is not served by this version of axishost; remove it" })
		case isAPIKey(key):
			p.add(func() string { return "unknown key " + written(path) + "; " + noAPIKey })
		default:
			p.add(func() string { return "unknown key " + written(path) + didYouMean(nearestPath(path)) })
		}
	}
}

// checkValue checks a value against the type of its key.
func (p *problems) checkValue(path string, value any, t reflect.Type) {
	nullable := ""
	if t.Kind() == reflect.Pointer {
		t, nullable = t.Elem(), " or null"
		if value == nil {
			return
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
		for i, item := range list {
			p.checkValue(fmt.Sprintf("%s[%d]", path, i), item, t.Elem())
		}
	default:
		m, ok := value.(map[string]any)
		switch {
		case !ok && value != nil:
			want = "a map"
		case t.Kind() == reflect.Struct:
			p.checkMap(path+".", m, t)
		default:
			p.checkFree(path, m, t.Elem())
		}
	}
	if want != "" {
		p.add(func() string {
			return fmt.Sprintf("%s must be %s%s; it is %s", written(path), want, nullable, shown(value))
		})
	}
}

// checkFree checks what is a plugin's own: maps where the type wants maps, and nothing that JSON lacks.
func (p *problems) checkFree(path string, m map[string]any, elem reflect.Type) {
	for _, key := range sortedKeys(m) {
		below := path + "." + key
		if elem.Kind() == reflect.Map {
			p.checkValue(below, m[key], elem)
		} else if !plain(m[key]) {
			p.add(func() string {
				return written(below) + " must be made of what JSON has: it holds a key that is no text, or a number without a value"
			})
		}
	}
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
