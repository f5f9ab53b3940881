package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

// doubling is a schema of n definitions, each of which refers to the one before twice.
func doubling(n int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/a` + fmt.Sprint(n) + `","$defs":{"a0":{}`)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i-1, i-1)
	}
	return json.RawMessage(b.String() + "}}")
}

func TestArgumentsAreAnObject(t *testing.T) {
	for schema, want := range map[string]bool{
		`{}`: true, `{"type":"object"}`: true, `{"type":["null","object"]}`: true, `{"properties":{}}`: true,
		`{"type":"string"}`: false, `{"type":["array","null"]}`: false,
	} {
		assert.Equal(t, want, describesObject(json.RawMessage(schema)), schema)
		calc := *guest(t, "calc")
		manifest := *calc.Manifest
		manifest.Tools = []abi.ToolSpec{{Name: "calc", InputSchema: json.RawMessage(schema)}}
		calc.Manifest = &manifest
		if want {
			require.NoError(t, CheckSchemas(&calc))
		} else {
			require.ErrorContains(t, CheckSchemas(&calc), `has a bad input_schema in tool "calc": must describe an object`)
		}
	}
}

// TestSchemasThatCannotBeUsed: a schema is refused when it is compiled where it could not be reckoned with, or
// would never come to an end.
func TestSchemasThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct{ schema, want string }{
		"not JSON":               {`{`, "unexpected"},
		"not a schema":           {`{"type":5}`, "it is no JSON Schema: type: got number"},
		"a file":                 {`{"$ref":"file:///etc/passwd"}`, "file:///etc/passwd"},
		"an address":             {`{"$ref":"http://127.0.0.1:1/x"}`, "http://127.0.0.1:1/x"},
		"a number too large":     {`{"multipleOf":1e9999999}`, "number 1e9999999 is too large"},
		"a length too large":     {`{"maxLength":1e9999999}`, "number 1e9999999 is too large"},
		"a number too long":      {`{"minimum":` + strings.Repeat("9", 1000) + `}`, "is too large"},
		"references without end": {string(doubling(40)), "too many subschemas"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compileSchema(json.RawMessage(c.schema))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestSchemasThatCan(t *testing.T) {
	for name, schema := range map[string]string{
		"shared definitions": string(doubling(10)),
		"a tree":             `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"left":{"$ref":"#/$defs/node"},"right":{"$ref":"#/$defs/node"}}}}}`,
		"the whole document": `{"type":"object","properties":{"child":{"$ref":"#"}}}`,
		"an escaped pointer": `{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"object"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			compiled, err := compileSchema(json.RawMessage(schema))
			require.NoError(t, err)
			assert.NoError(t, validate(t.Context(), compiled, []byte(`{}`)))
		})
	}
}

// TestArgumentsThatCannotBeChecked: whatever a model sends comes back as an error for it, in time.
func TestArgumentsThatCannotBeChecked(t *testing.T) {
	numbers, err := compileSchema(json.RawMessage(`{"properties":{"n":{"minimum":0,"multipleOf":2}},"additionalProperties":{"uniqueItems":true}}`))
	require.NoError(t, err)
	list := strings.Repeat("1e9999999,", 30) + "1"
	for text, want := range map[string]string{
		`{"n":1e9999999}`:              "number 1e9999999 is too large to be checked",
		`{"n":-1E-9999999}`:            "is too large to be checked",
		`{"n":1e99999999999999999999}`: "is too large to be checked",
		`{"l":[` + list + `]}`:         "is too large to be checked",
		`{"n":-1}`:                     "n: ",
		`{"n":3}`:                      "n: ",
		`{"n":`:                        "unexpected",
	} {
		assert.ErrorContains(t, validate(t.Context(), numbers, []byte(text)), want, text)
	}
	require.NoError(t, validate(t.Context(), numbers, []byte(`{"n":1e300}`)))

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorContains(t, validate(ended, numbers, []byte(`{"n":3}`)), "")
}
