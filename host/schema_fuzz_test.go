package host

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// checkWithinCost checks that a validation does no more than was counted before it: no more steps of the library, and no
// more memory, and nothing runs on. It gives the cost, or -1 where schema or value are refused.
func checkWithinCost(t require.TestingT, schemaText, valueText string) int {
	leaks := goleak.IgnoreCurrent()
	schema, err := compileSchema(json.RawMessage(schemaText))
	if err != nil {
		return -1
	}
	value, err := readJSON([]byte(valueText))
	if err != nil {
		return -1
	}
	c := costing{left: maxValidationCost}
	c.schema(schema, value, 0, false)
	if c.left < 0 {
		return -1
	}
	cost := maxValidationCost - c.left
	steps := 0
	all, err := reachable(schema)
	require.NoError(t, err)
	for _, s := range all {
		if s.Format == nil {
			s.Format = &jsonschema.Format{Name: "count", Validate: func(any) error { steps++; return nil }}
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_ = validate(context.Background(), schema, []byte(valueText))
	runtime.ReadMemStats(&after)
	const frame = 8 // what a step costs at least
	require.LessOrEqual(t, steps*frame, cost, "steps; %s\n%s", schemaText, valueText)
	used := int(after.TotalAlloc - before.TotalAlloc)
	if raced { // the detector makes pools forget what they hold, on purpose
		used = 0
	}
	require.LessOrEqual(t, used, 1<<20+100*cost+100*len(valueText), "bytes for a cost of %d; %s\n%s", cost, schemaText, valueText)
	require.NoError(t, goleak.Find(leaks))
	return cost
}

// grown draws schemas that refer to each other in every way that there is.
type grown struct{ t *rapid.T }

func (g grown) number(label string, most int) int { return rapid.IntRange(0, most).Draw(g.t, label) }

// ref refers to one of four definitions, or to the whole.
func (g grown) ref() string {
	n := g.number("definition", 3)
	switch g.number("kind of reference", 5) {
	case 0:
		return `"$ref":"#"`
	case 1:
		return fmt.Sprintf(`"$ref":"#/%%24defs/d%d"`, n)
	case 2:
		return fmt.Sprintf(`"$ref":"#a%d"`, n)
	case 3:
		return fmt.Sprintf(`"$ref":"axis:///schema.json#/$defs/d%d"`, n)
	default:
		return fmt.Sprintf(`"$ref":"#/$defs/d%d"`, n)
	}
}

func (g grown) schemas(depth int) string {
	return series(g.number("schemas", 3)+1, func(int) string { return g.schema(depth - 1) })
}

func (g grown) schema(depth int) string {
	if depth <= 0 {
		return rapid.SampledFrom([]string{"true", "false", "{}", `{"type":"array"}`, `{"type":"integer"}`, `{"const":1}`, `{"pattern":"a+b"}`}).Draw(g.t, "leaf")
	}
	if g.number("reference", 3) == 0 {
		return "{" + g.ref() + "}"
	}
	return "{" + g.keywords(depth) + "}"
}

// keywords draws different ones: of two that are the same the last would count.
func (g grown) keywords(depth int) string {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"allOf", "anyOf", "oneOf", "prefixItems", "items", "contains", "not", "if", "then", "additionalProperties", "unevaluatedProperties",
		"unevaluatedItems", "propertyNames", "properties", "patternProperties", "dependentSchemas", "uniqueItems", "minItems", "enum",
		"required", "minimum", "maxLength", "dependentRequired", "$ref",
	}), 1, 5, rapid.ID[string]).Draw(g.t, "keywords")
	return series(len(names), func(i int) string {
		switch name := names[i]; name {
		case "$ref":
			return g.ref()
		case "allOf", "anyOf", "oneOf", "prefixItems":
			return `"` + name + `":[` + g.schemas(depth) + `]`
		case "properties", "patternProperties", "dependentSchemas":
			return `"` + name + `":{"a":` + g.schema(depth-1) + `,"b":` + g.schema(depth-1) + `}`
		case "uniqueItems":
			return `"uniqueItems":true`
		case "enum":
			return `"enum":[1,"a",[1],{"a":[]},1e300]`
		case "required":
			return `"required":["a","c"]`
		case "dependentRequired":
			return `"dependentRequired":{"a":["b","c"],"b":["c"]}`
		case "minItems", "minimum", "maxLength":
			return `"` + name + `":2`
		default:
			return `"` + name + `":` + g.schema(depth-1)
		}
	})
}

func (g grown) document() string {
	return `{` + g.keywords(3) + `,"$defs":{` + series(4, func(i int) string {
		return fmt.Sprintf(`"d%d":{"$anchor":"a%d",%s}`, i, i, g.keywords(2))
	}) + `}}`
}

// value draws a value that is deep or wide.
func (g grown) value(depth int) string {
	if depth <= 0 || g.number("leaf", 9) == 0 {
		return rapid.SampledFrom([]string{"1", "2.5", "-1e300", "null", "true", `"a"`, `"aab"`, "[]", "{}"}).Draw(g.t, "value")
	}
	if g.number("object", 1) == 0 {
		name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(g.t, "name")
		return `{"` + name + `":` + g.value(depth-1) + `,"d":1}`
	}
	wide := []int{1, 1, 2, 50}[g.number("width", 3)]
	return `[` + g.value(depth-1) + strings.Repeat(",1", wide) + `]`
}

func checkGrown(t *rapid.T) {
	g := grown{t}
	schema := g.document()
	for range 3 {
		checkWithinCost(t, schema, g.value(rapid.IntRange(0, 60).Draw(t, "depth")))
	}
}

func TestGrownSchemasStayWithinTheirCost(t *testing.T) { rapid.Check(t, checkGrown) }

// FuzzGrownSchemas is the same for go test -fuzz.
func FuzzGrownSchemas(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkGrown)) }

// FuzzSchema takes schemas and values as texts; the corpus in testdata/fuzz has one of each kind of attack.
func FuzzSchema(f *testing.F) {
	f.Add(filterSchema, `{"filter":{"and":[{"or":[]}]}}`)
	f.Add(treeSchema, `{"name":"a","children":[{"name":"b"}]}`)
	f.Add(expressionSchema(3), `{"op":"op2","args":[1,{"op":"op1","args":[]}]}`)
	f.Add(metaSchema, `{"type":["a","b"],"properties":{"a":{"allOf":[true]}}}`)
	f.Add(refChain(40), nestedLists(150))
	f.Add(mutual(12, "anyOf"), nestedLists(5))
	f.Fuzz(func(t *testing.T, schema, value string) {
		if len(schema) <= 64<<10 {
			checkWithinCost(t, schema, value)
		}
	})
}
