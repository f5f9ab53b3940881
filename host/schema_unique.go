package host

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// uniqueItems stands in for the library's own uniqueItems, whose hash does not tell ["a\u0004b"] from ["a","b"]: whoever
// writes the arguments can make all items collide, and then each is compared with each.
type uniqueItems struct{}

// Validate implements jsonschema.SchemaExt.
func (uniqueItems) Validate(ctx *jsonschema.ValidatorContext, v any) {
	list, _ := v.([]any)
	seen := make(map[string]int, len(list))
	for i, item := range list {
		key := string(appendKey(nil, item))
		if first, ok := seen[key]; ok {
			ctx.AddError(&kind.UniqueItems{Duplicates: [2]int{first, i}})
			return
		}
		seen[key] = i
	}
}

// appendKey appends a text that two values share where they are equal, as JSON Schema means it, and only there.
func appendKey(key []byte, value any) []byte {
	switch v := value.(type) {
	case json.Number:
		if n, ok := new(big.Rat).SetString(v.String()); ok {
			return append(append(key, n.RatString()...), ',')
		}
		return append(append(key, v...), ',')
	case string:
		return strconv.AppendQuote(key, v)
	case []any:
		key = append(key, '[')
		for _, item := range v {
			key = appendKey(key, item)
		}
		return append(key, ']')
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		key = append(key, '{')
		for _, name := range names {
			key = appendKey(strconv.AppendQuote(key, name), v[name])
		}
		return append(key, '}')
	case bool:
		return append(strconv.AppendBool(key, v), ',')
	default:
		return append(key, "null,"...)
	}
}
