package host

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// filterSchema is how tools that search describe a filter (Notion's, Elasticsearch's, MongoDB's have this shape).
const filterSchema = `{"type":"object","properties":{"filter":{"$ref":"#/$defs/filter"}},"required":["filter"],"$defs":{
	"filter":{"oneOf":[
		{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#/$defs/filter"}}},"required":["and"],"additionalProperties":false},
		{"type":"object","properties":{"or":{"type":"array","items":{"$ref":"#/$defs/filter"}}},"required":["or"],"additionalProperties":false},
		{"type":"object","properties":{"not":{"$ref":"#/$defs/filter"}},"required":["not"],"additionalProperties":false},
		{"$ref":"#/$defs/test"}]},
	"test":{"type":"object","properties":{"field":{"type":"string","pattern":"^[a-z_.]{1,64}$"},"op":{"enum":["=","<",">","in"]},
		"value":{"type":["string","number","boolean","array"]}},"required":["field","op","value"],"additionalProperties":false}}}`

// treeSchema is a file tree, as tools that write projects have it.
const treeSchema = `{"$ref":"#/definitions/entry","definitions":{"entry":{"type":"object","required":["name"],"properties":{
	"name":{"type":"string","minLength":1},"content":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/definitions/entry"}}}}}}`

// expressionSchema is a union whose forms share their keys (Vega-Lite's, GraphQL's and pydantic's have this shape): each
// level of a value is gone through once for every form.
func expressionSchema(forms int) string {
	return `{"$ref":"#/$defs/e","$defs":{"e":{"anyOf":[{"type":"number"},` + series(forms, func(i int) string {
		return fmt.Sprintf(`{"type":"object","properties":{"op":{"const":"op%d"},"args":{"type":"array","items":{"$ref":"#/$defs/e"}}},"required":["op","args"]}`, i)
	}) + `]}}}`
}

// metaSchema is a tool that takes a JSON Schema, described by itself.
const metaSchema = `{"type":["object","boolean"],"properties":{
	"type":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"},"uniqueItems":true}]},
	"properties":{"type":"object","additionalProperties":{"$ref":"#"}},"items":{"$ref":"#"},
	"allOf":{"$ref":"#/$defs/list"},"anyOf":{"$ref":"#/$defs/list"},"not":{"$ref":"#"},"$ref":{"type":"string","format":"uri-reference"}},
	"$defs":{"list":{"type":"array","minItems":1,"items":{"$ref":"#"}}}}`

// TestOrdinaryRecursiveSchemas: what tools describe themselves with is served, as deep as it is used.
func TestOrdinaryRecursiveSchemas(t *testing.T) {
	wrap := func(n int, before, inside, after string) string {
		return strings.Repeat(before, n) + inside + strings.Repeat(after, n)
	}
	const test = `{"field":"a.b","op":"in","value":["x"]}`
	entry := `{"name":"d","children":[` + series(30, same(`{"name":"f","content":"text"}`)) + `,`
	for name, c := range map[string]struct{ schema, good, bad string }{
		"filter":       {filterSchema, `{"filter":{"and":[` + test + `,{"or":[` + test + `,{"not":` + test + `}]}]}}`, `{"filter":{"and":[{"or":[{"nor":[]}]}]}}`},
		"deep filter":  {filterSchema, `{"filter":` + wrap(40, `{"and":[{"or":[`+test+`,`, test, `]}]}`) + `}`, `{"filter":` + wrap(40, `{"and":[{"or":[`+test+`,`, "1", `]}]}`) + `}`},
		"wide filter":  {filterSchema, `{"filter":{"or":[` + series(5_000, same(test)) + `]}}`, `{"filter":{"or":[` + series(5_000, same(`{"field":1}`)) + `]}}`},
		"file tree":    {treeSchema, wrap(60, entry, `{"name":"e"}`, `]}`), wrap(60, entry, `{"name":""}`, `]}`)},
		"linked list":  {`{"type":"object","properties":{"value":{"type":"integer"},"next":{"anyOf":[{"type":"null"},{"$ref":"#"}]}}}`, wrap(199, `{"value":1,"next":`, "null", "}"), wrap(199, `{"value":1,"next":`, "2", "}")},
		"expression":   {expressionSchema(10), wrap(3, `{"op":"op9","args":[1,2,`, `3`, `]}`), wrap(3, `{"op":"op9","args":[1,2,`, `"x"`, `]}`)},
		"two forms":    {expressionSchema(2), wrap(10, `{"op":"op1","args":[`, `3`, `]}`), wrap(10, `{"op":"op1","args":[`, `"x"`, `]}`)},
		"schemas":      {metaSchema, `{"properties":{"a":{"anyOf":[{"type":["string","null"]},{"items":{"not":{}}}]}}}`, `{"properties":{"a":{"anyOf":[{"type":["string","string"]}]}}}`},
		"draft 7":      {`{"$ref":"http://json-schema.org/draft-07/schema#"}`, treeSchema, `{"properties":{"a":{"items":{"type":"text"}}}}`},
		"any JSON":     {`{"$ref":"#/$defs/j","$defs":{"j":{"anyOf":[{"type":["string","number","boolean","null"]},{"type":"array","items":{"$ref":"#/$defs/j"}},{"type":"object","additionalProperties":{"$ref":"#/$defs/j"}}]}}}`, wrap(99, `{"a":[1,`, `true`, `]}`), ``},
		"large union":  {`{"oneOf":[` + series(400, func(i int) string { return fmt.Sprintf(`{"properties":{"kind":{"const":"k%d"}}}`, i) }) + `]}`, `{"kind":"k399"}`, `{"kind":"k400"}`},
		"many numbers": {`{"type":"array","items":{"type":"number","minimum":0},"uniqueItems":true}`, `[` + series(20_000, func(i int) string { return fmt.Sprint(i) }) + `]`, `[1,1]`},
		"a long text":  {`{"properties":{"content":{"type":"string","maxLength":2000000,"pattern":"\\n$"}}}`, `{"content":"` + strings.Repeat("a line of text\\n", 60_000) + `"}`, `{"content":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			schema, err := compileSchema(json.RawMessage(c.schema))
			require.NoError(t, err)
			require.NoError(t, validate(t.Context(), schema, []byte(c.good)))
			if c.bad != "" {
				err = validate(t.Context(), schema, []byte(c.bad))
				require.Error(t, err)
				assert.NotContains(t, err.Error(), "too large to be checked")
			}
		})
	}
}
