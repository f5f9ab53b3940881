package host

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// nestedLists is n lists within each other.
func nestedLists(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// series is a list's inside: n times what each gives.
func series(n int, each func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(each(i))
	}
	return b.String()
}

// same is an each of series that is always the same.
func same(text string) func(int) string { return func(int) string { return text } }

// refChain goes through n references, none of which goes down into the value, before it recurs into the value.
func refChain(n int) string {
	return `{"items":{"$ref":"#/$defs/0"},"additionalProperties":{"$ref":"#/$defs/0"},"$defs":{` +
		series(n, func(i int) string { return fmt.Sprintf(`"%d":{"$ref":"#/$defs/%d"}`, i, i+1) }) + fmt.Sprintf(`,"%d":{"$ref":"#"}}}`, n)
}

// mutual is n definitions, each of which wants, in a keyword, all others.
func mutual(n int, keyword string) string {
	return `{"$ref":"#/$defs/0","$defs":{` + series(n, func(i int) string {
		return fmt.Sprintf(`"%d":{"%s":[%s]}`, i, keyword, series(n, func(k int) string { return fmt.Sprintf(`{"$ref":"#/$defs/%d"}`, k) }))
	}) + `}}`
}

// doublingBy is a schema of forty definitions, each of which refers twice to the one before, in whatever way ref writes.
func doublingBy(ref func(i int) string, extra func(i int) string) string {
	return `{"allOf":[` + ref(39) + `],"$defs":{` + series(40, func(i int) string {
		if i == 0 {
			return `"a0":{` + extra(0) + `"type":"object"}`
		}
		return fmt.Sprintf(`"a%d":{%s"allOf":[%s,%s]}`, i, extra(i), ref(i-1), ref(i-1))
	}) + `}}`
}

// TestSchemasWithoutBound: however a schema's references are written, it is refused where they could hold for one value
// without end, or nearly.
func TestSchemasWithoutBound(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	refTo := func(format string) func(int) string {
		return func(i int) string { return `{"$ref":"` + fmt.Sprintf(format, i) + `"}` }
	}
	none := same("")
	const many, circle, far, weight = "too many subschemas", "refers to itself", "follow each other too far", "for one manifest"
	for name, c := range map[string]struct{ schema, want string }{
		"a chain that recurs":         {refChain(1800), weight},
		"a shorter one":               {refChain(1200), far},
		"a short one too many":        {refChain(maxStanding), far},
		"mutual allOf":                {mutual(12, "allOf"), circle},
		"mutual anyOf":                {mutual(12, "anyOf"), circle},
		"mutual oneOf":                {mutual(12, "oneOf"), circle},
		"itself":                      {`{"$ref":"#"}`, circle},
		"itself by not":               {`{"not":{"if":{"$ref":"#"}}}`, circle},
		"itself by dependents":        {`{"dependentSchemas":{"a":{"$ref":"#"}}}`, circle},
		"itself, further down":        {`{"properties":{"a":{"items":{"$ref":"#/$defs/a"}}},"$defs":{"a":{"then":{},"if":{"$ref":"#/$defs/a"}}}}`, circle},
		"doubling":                    {doublingBy(refTo("#/$defs/a%d"), none), many},
		"doubling, percent-encoded":   {doublingBy(refTo("#/%%24defs/a%d"), none), many},
		"doubling, by anchor":         {doublingBy(refTo("#b%d"), func(i int) string { return fmt.Sprintf(`"$anchor":"b%d",`, i) }), many},
		"doubling, by id":             {doublingBy(refTo("b%d"), func(i int) string { return fmt.Sprintf(`"$id":"b%d",`, i) }), many},
		"doubling, by relative id":    {doublingBy(refTo("/x/../b/%d"), func(i int) string { return fmt.Sprintf(`"$id":"/b/%d",`, i) }), many},
		"doubling, by dynamic anchor": {doublingBy(func(i int) string { return fmt.Sprintf(`{"$dynamicRef":"#b%d"}`, i) }, func(i int) string { return fmt.Sprintf(`"$dynamicAnchor":"b%d",`, i) }), "$dynamicRef"},
		"doubling, into lists": {`{"$ref":"#/allOf/39","allOf":[{}` + strings.Repeat(",{}", 38) + `,{"not":{"$ref":"#/x/39"}}],"x":[{},` +
			series(39, func(i int) string { return fmt.Sprintf(`{"allOf":[{"$ref":"#/x/%d"},{"$ref":"#/x/%d"}]}`, i, i) }) + `]}`, many},
		"doubling, of an older draft": {strings.Replace(strings.ReplaceAll(doublingBy(refTo("#/definitions/a%d"), none), "$defs", "definitions"), "{", `{"$schema":"http://json-schema.org/draft-07/schema#",`, 1), many},
		"recursive reference":         {`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":{"$recursiveRef":"#"}}`, "$recursiveRef"},
		"nested too deep":             {strings.Repeat(`{"not":`, abi.MaxNesting) + "{}" + strings.Repeat("}", abi.MaxNesting), "nested deeper than 200"},
		"many values":                 {`{"allOf":[` + series(20_000, same("{}")) + `]}`, weight},
		"many deep values":            {strings.Repeat(`{"not":`, 150) + `{"allOf":[` + series(5_000, same("{}")) + `]}` + strings.Repeat("}", 150), weight},
		"values under a long name":    {`{"properties":{"` + strings.Repeat("%", 30_000) + `":{"allOf":[` + series(5_000, same("{}")) + `]}}}`, weight},
		"many odd references":         {`{"allOf":[` + series(1_500, func(i int) string { return fmt.Sprintf(`{"$ref":"#/x/%d"}`, i) }) + `],"x":[` + series(1_500, same("{}")) + `]}`, weight},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compileSchema(json.RawMessage(c.schema))
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "axis:///")
		})
	}
}

// TestPatternsWithoutBound: the patterns of a manifest are bounded before they are compiled, and the one that is too much is
// named.
func TestPatternsWithoutBound(t *testing.T) {
	patterns := func(n int, format string) string {
		return `{"allOf":[` + series(n, func(i int) string { return `{"pattern":"` + fmt.Sprintf(format, i) + `"}` }) + `]}`
	}
	for name, c := range map[string]struct{ schema, want string }{
		"large":              {patterns(3_000, ".{1000}%d"), `".{1000}`},
		"nested repetitions": {patterns(150, "((.{10}){10}){10}%d"), `"((.{10}){10}){10}`},
		"of names":           {`{"patternProperties":{` + series(200, func(i int) string { return fmt.Sprintf(`".{1000}%d":{}`, i) }) + `}}`, `".{1000}`},
		"in propertyNames":   {`{"propertyNames":` + patterns(200, ".{1000}%d") + `}`, `".{1000}`},
		"never used":         {`{"$defs":{"x":` + patterns(200, ".{1000}%d") + `}}`, `".{1000}`},
		"tables":             {patterns(1_000, `\\pL%d`), `"\\pL`},
		"ranges":             {patterns(100, "(?i)[B-\U0001E900]%d"), `"(?i)[B-`},
		"ranges of codes":    {patterns(100, `(?mi)[B-\\x{1e900}]%d`), `"(?mi)[B-`},
		"ranges in one":      {patterns(1, "(?i)["+strings.Repeat("B-\U0001E900", 100)+"]%d"), `"(?i)[B-`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compileSchema(json.RawMessage(c.schema))
			require.ErrorContains(t, err, "pattern "+c.want)
			assert.ErrorContains(t, err, "the patterns of one manifest are too large")
		})
	}
	_, err := compileSchema(json.RawMessage(patterns(200, "^[a-zA-Z0-9_.-]{1,64}%d$")))
	require.NoError(t, err)
	_, err = compileSchema(json.RawMessage(`{"allOf":[` + series(2_000, same(`{"pattern":".{1000}"}`)) + `]}`))
	require.NoError(t, err, "the same pattern is compiled once")
	_, err = compileSchema(json.RawMessage(`{"pattern":"(x"}`))
	require.ErrorContains(t, err, "it is no JSON Schema")
}

// TestBoundsAreOfTheManifest: many small schemas are no way around what one may not be.
func TestBoundsAreOfTheManifest(t *testing.T) {
	for name, c := range map[string]struct {
		schema func(i int) string
		want   string
	}{
		"patterns":          {func(i int) string { return fmt.Sprintf(`{"pattern":".{1000}%d"}`, i) }, "patterns of one manifest"},
		"JSON Schema's own": {func(int) string { return `{"$ref":"http://json-schema.org/draft-07/schema#"}` }, "too many values"},
		"values":            {same(`{"allOf":[` + series(250, same("{}")) + `]}`), "too many values"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &abi.Manifest{Name: "many"}
			for i := range 300 {
				m.Tools = append(m.Tools, abi.ToolSpec{Name: fmt.Sprint("t", i), InputSchema: json.RawMessage(c.schema(i))})
			}
			err := CheckSchemas(&plugins.Inspection{Manifest: m})
			require.ErrorContains(t, err, c.want)
			m.Tools = m.Tools[:10]
			require.NoError(t, CheckSchemas(&plugins.Inspection{Manifest: m}))
		})
	}
}

// TestArgumentsThatCostTooMuch: what a schema makes of a value is counted before it is validated, and nothing is left
// running.
func TestArgumentsThatCostTooMuch(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const twice = `{"items":{"$ref":"#"},"type":"array","minItems":1}`
	const large, deep = "too large to be checked against the schema", "nested deeper than 200"
	for name, c := range map[string]struct{ schema, value, want string }{
		"two ways down":          {`{"anyOf":[` + twice + `,` + twice + `]}`, nestedLists(60), large},
		"two ways down, oneOf":   {`{"oneOf":[` + twice + `,` + twice + `]}`, nestedLists(60), large},
		"two keywords down":      {`{"items":{"$ref":"#"},"contains":{"$ref":"#"}}`, nestedLists(60), large},
		"three keywords down":    {`{"additionalProperties":{"$ref":"#"},"unevaluatedProperties":{"$ref":"#"},"patternProperties":{".":{"$ref":"#"}}}`, strings.Repeat(`{"a":`, 60) + "{}" + strings.Repeat("}", 60), large},
		"many for each":          {`{"items":{"allOf":[` + series(4_000, same(`{"type":"integer"}`)) + `]}}`, `[` + series(2_000, same("1")) + `]`, large},
		"many words":             {`{"items":{"enum":[` + series(4_000, same("1")) + `]}}`, `[` + series(2_000, same("2")) + `]`, large},
		"many long words":        {`{"items":{"enum":[` + series(190, same(`"`+strings.Repeat("a", 300)+`"`)) + `]}}`, `[` + series(6_000, same(`"`+strings.Repeat("a", 299)+`b"`)) + `]`, large},
		"large numbers":          {`{"items":{"minimum":1,"multipleOf":3e-390}}`, `[` + series(50_000, same("1e-400")) + `]`, large},
		"a pattern on a text":    {`{"pattern":"(.*a.{900})$"}`, `"` + strings.Repeat("a", 1<<17) + `"`, large},
		"patterns on names":      {`{"patternProperties":{` + series(900, func(i int) string { return fmt.Sprintf(`"a.*%d":{}`, i) }) + `}}`, `{` + series(9_000, func(i int) string { return fmt.Sprintf(`"aa%d":1`, i) }) + `}`, large},
		"deep":                   {`{}`, nestedLists(abi.MaxNesting + 1), deep},
		"many empty objects":     {`{}`, `[` + series(maxValues, same("{}")) + `]`, "more than 200000 values"},
		"commas in a text":       {`{}`, `["` + strings.Repeat(`,[{\\\"`, maxValues) + `"]`, ""},
		"very deep":              {refChain(20), strings.Repeat(`{"a":[`, 2_000) + strings.Repeat("]}", 2_000), deep},
		"as deep as may be":      {refChain(maxStanding - 3), nestedLists(abi.MaxNesting), ""},
		"an expression, older":   {`{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}`, `"` + strings.Repeat(`\\pL`, 5_000) + `"`, "too long to be checked"},
		"a bad one, older":       {`{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}`, `"(a"`, "is not valid regex"},
		"a good one, older":      {`{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}`, `"(a)"`, ""},
		"a problem is cut short": {`{"pattern":"^b"}`, `"` + strings.Repeat("a", 100_000) + `"`, "does not match pattern"},
	} {
		t.Run(name, func(t *testing.T) {
			schema, err := compileSchema(json.RawMessage(c.schema))
			require.NoError(t, err)
			err = validate(t.Context(), schema, []byte(c.value))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Less(t, len(err.Error()), 6_000)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// TestUniqueItems: equal is what JSON Schema calls equal, and what is made to collide is no slower.
func TestUniqueItems(t *testing.T) {
	schema, err := compileSchema(json.RawMessage(`{"items":{"uniqueItems":true},"not":{"uniqueItems":false,"minItems":9000000}}`))
	require.NoError(t, err)
	for _, list := range []string{
		`[1,1.0]`, `[10,1e1]`, `[0,-0]`, `["a","\u0061"]`, `[{"a":1,"b":[2]},{"b":[2.0],"a":1}]`, `[null,1,null]`, `[[],[]]`, `[0.5,5e-1]`,
	} {
		assert.ErrorContains(t, validate(t.Context(), schema, []byte("["+list+"]")), "items at", list)
	}
	for _, list := range []string{
		`[1,"1",true,"true",null,"null",[1],["1"],{"a":1},{"a":"1"}]`, `[["a\u0004b"],["a","b"],["a\",\"b"]]`, `[[1,2],[12],[[1],2],[1,[2]]]`,
		`[{},[],"",0,false]`, `[{"a":[]},{"a":{}},{"a[":1}]`, `[258,0.001949317738791423]`,
	} {
		assert.NoError(t, validate(t.Context(), schema, []byte("["+list+"]")), list)
	}
	collide := series(1<<13, func(i int) string {
		text := `["a`
		for bit := range 13 {
			text += []string{`","a`, `\u0004a`}[i>>bit&1]
		}
		return text + `"]`
	})
	assert.NoError(t, validate(t.Context(), schema, []byte("[["+collide+"]]")))
}
