package host

import (
	"errors"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What the schemas of one manifest may come to together, before the library sees them. The library is made for schemas
// that their users wrote: a manifest of 64 KiB, which is all that there can be, kept it busy for 47 s with 3.4 GB.
const (
	// maxSchemaValues bounds the values: the library looks for each among all others, 10,000 take 0.3 s. A
	// manifest that is nothing but ordinary schemas has 5,000.
	maxSchemaValues = 10_000
	// maxSchemaDepths bounds the depths of all values together: the library walks up from each. Ordinary
	// values are at 3 to 10.
	maxSchemaDepths = 100_000
	// maxSchemaPaths bounds the bytes of all values' JSON pointers together: the library keeps each several
	// times. Ordinary ones have 20 to 100.
	maxSchemaPaths = 1 << 20
	// maxSchemaLookups bounds references times values: a reference to where no schema is expected, such as
	// #/components/x, copies an index of all values.
	maxSchemaLookups = 4_000_000
)

// schemaWeight is what the schemas of a manifest come to.
type schemaWeight struct {
	values, depths, paths, references, lookups int
}

// add adds a schema, which is nested no deeper than a manifest may be.
func (w *schemaWeight) add(document any) error {
	values, references := w.values, w.references
	w.walk(document, 1, 0)
	w.lookups += (w.values - values) * (w.references - references)
	return w.check()
}

// follow adds what a compiled schema got from elsewhere: it may refer to JSON Schema's own schemas, which the library
// carries, and each manifest's schema that does compiles them again.
func (w *schemaWeight) follow(all []*jsonschema.Schema, own string) error {
	for _, s := range all {
		if !strings.HasPrefix(s.Location, own) {
			w.values++
		}
	}
	return w.check()
}

func (w *schemaWeight) check() error {
	switch {
	case w.values > maxSchemaValues:
		return errors.New("schemas have too many values for one manifest")
	case w.depths > maxSchemaDepths:
		return errors.New("schemas have too many values too deep within others for one manifest")
	case w.paths > maxSchemaPaths:
		return errors.New("schemas have too many values under too long names for one manifest")
	case w.lookups > maxSchemaLookups:
		return errors.New("schemas have too many references among too many values for one manifest")
	}
	return nil
}

func (w *schemaWeight) walk(value any, depth, path int) {
	w.values++
	w.depths += depth
	w.paths += path
	switch v := value.(type) {
	case []any:
		const index = len("/10000")
		for _, item := range v {
			w.walk(item, depth+1, path+index)
		}
	case map[string]any:
		for name, item := range v {
			if name == "$ref" || name == "$dynamicRef" || name == "$recursiveRef" {
				w.references++
			}
			w.walk(item, depth+1, path+1+len(url.PathEscape(name)))
		}
	}
}
