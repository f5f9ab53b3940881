package repair

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// on is the default configuration, turned on.
func on() Config {
	c := DefaultConfig()
	c.Enabled = true
	return c
}

// repairCase is arguments, what becomes of them, and by which rules; no rules means that nothing does.
type repairCase struct {
	schema, arguments, want string
	rules                   []string
}

func runCases(t *testing.T, cases map[string]repairCase) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fixed, rules, err := Arguments(json.RawMessage(c.schema), c.arguments, on())
			require.NoError(t, err)
			if c.rules == nil {
				c.want = c.arguments
			}
			assert.Equal(t, c.want, fixed)
			assert.Equal(t, c.rules, rules)
		})
	}
}

func TestAllRulesInOrder(t *testing.T) {
	schema := `{"type":"object","properties":{
		"query":{"type":"string","x-agentic-aliases":["q"]},
		"limit":{"type":"integer"},
		"language":{"type":"string"},
		"safe":{"type":"boolean","default": true},
		"area":{"default":{"x": [1, 2]}}
	},"additionalProperties":false}`
	c := on()
	c.Threshold = 0.9
	fixed, rules, err := Arguments(json.RawMessage(schema), ` { "q" : 17, "\"limit\"" : "5",  "nested":{"a" : 1.50} } `, c)
	require.NoError(t, err)
	assert.Equal(t, `{"query":"17","limit":5,"nested":{"a" : 1.50},"area":{"x":[1,2]},"safe":true}`, fixed)
	assert.Equal(t, []string{"normalize", "aliases", "defaults", "coerce"}, rules)
	// language is the one missing property of a schema that has no defaults.
	schema = `{"type":"object","properties":{"query":{"type":"string","x-agentic-aliases":["q"]},"language":{"type":"string"},"n":{"type":"integer"}}}`
	fixed, rules, err = Arguments(json.RawMessage(schema), `{"langauge":"de"," q ":"x","n":"1"}`, on())
	require.NoError(t, err)
	assert.Equal(t, `{"language":"de","query":"x","n":1}`, fixed)
	assert.Equal(t, []string{"normalize", "aliases", "fuzzy", "coerce"}, rules)
}

func TestOnlyObjectsAreRepaired(t *testing.T) {
	const wants = `{"type":"object","properties":{"n":{"type":"integer"}}}`
	runCases(t, map[string]repairCase{
		"an object":              {wants, `{"n":"1"}`, `{"n":1}`, []string{"coerce"}},
		"object among the types": {`{"type":["null","object"],"properties":{"n":{"type":"integer"}}}`, `{"n":"1"}`, `{"n":1}`, []string{"coerce"}},
		"nothing":                {schema: wants, arguments: ``},
		"not JSON":               {schema: wants, arguments: `{"n":"1"`},
		"trailing comma":         {schema: wants, arguments: `{"n":"1",}`},
		"two objects":            {schema: wants, arguments: `{"n":"1"}{"n":"1"}`},
		"an array":               {schema: wants, arguments: `["n"]`},
		"null":                   {schema: wants, arguments: `null`},
		"schema of no type":      {schema: `{"properties":{"n":{"type":"integer"}}}`, arguments: `{"n":"1"}`},
		"schema of another type": {schema: `{"type":"array","properties":{"n":{"type":"integer"}}}`, arguments: `{"n":"1"}`},
		"schema true":            {schema: `true`, arguments: `{"n":"1"}`},
		"no properties":          {schema: `{"type":"object"}`, arguments: `{"n":"1"}`},
		"nothing to repair":      {schema: wants, arguments: " {\n\"n\" :1.0, \"m\\u0041\":null, \"n\":2 } "},
		"properties below":       {schema: `{"type":"object","properties":{"o":{"type":"object","properties":{"n":{"type":"integer"}}}}}`, arguments: `{"o":{"n":"1"}}`},
	})
}

func TestUntouchedValuesKeepTheirBytes(t *testing.T) {
	fixed, rules, err := Arguments(json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`),
		`{"big": 12345678901234567890.10, "null":null, "<&>":"\u00e9\/", "deep":[ 1e3 ,{"b":1,"a":2}], "big":0.10, "x":-0.0}`, on())
	require.NoError(t, err)
	assert.Equal(t, `{"big":0.10,"null":null,"<&>":"\u00e9\/","deep":[ 1e3 ,{"b":1,"a":2}],"x":"-0.0"}`, fixed)
	assert.Equal(t, []string{"coerce"}, rules)
}

func TestSwitches(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"query":{"x-agentic-aliases":["q"]},"limit":{"type":"integer"},"page":{"default":1}}}`)
	cases := map[string]struct {
		off       func(*Config)
		arguments string
	}{
		"enabled":   {func(c *Config) { c.Enabled = false }, `{"q":1," limit":"1"}`},
		"normalize": {func(c *Config) { c.Normalize = false }, `{"query":1,"page":1,"limit":1," page ":2}`},
		"aliases":   {func(c *Config) { c.Aliases = false }, `{"q":1,"limit":1,"page":1}`},
		"fuzzy":     {func(c *Config) { c.Fuzzy = false }, `{"query":1,"limits":1,"page":1}`},
		"defaults":  {func(c *Config) { c.Defaults = false }, `{"query":1,"limit":1}`},
		"coerce":    {func(c *Config) { c.Coerce = false }, `{"query":1,"limit":"1","page":1}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := on()
			fixed, rules, err := Arguments(schema, tc.arguments, c)
			require.NoError(t, err)
			require.NotEmpty(t, rules, "on, it applies")
			require.NotEqual(t, tc.arguments, fixed)
			tc.off(&c)
			fixed, rules, err = Arguments(schema, tc.arguments, c)
			require.NoError(t, err)
			assert.Empty(t, rules)
			assert.Equal(t, tc.arguments, fixed)
		})
	}
}

func TestErrors(t *testing.T) {
	bad := on()
	bad.Threshold = 0
	for name, c := range map[string]struct {
		schema string
		config Config
		want   string
	}{
		"no schema":         {``, on(), "argument repair: the tool's schema is not JSON"},
		"half a schema":     {`{"type":`, on(), "argument repair: the tool's schema is not JSON"},
		"properties a list": {`{"type":"object","properties":[]}`, on(), "argument repair: the properties of the tool's schema are not an object"},
		"threshold":         {`{}`, bad, "argument repair: threshold must be above 0 and at most 1; it is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			fixed, rules, err := Arguments(json.RawMessage(c.schema), `{"n":"1"}`, c.config)
			require.EqualError(t, err, c.want)
			assert.Equal(t, `{"n":"1"}`, fixed)
			assert.Empty(t, rules)
		})
	}
	_, _, err := Arguments(nil, `{}`, Config{})
	assert.NoError(t, err, "what is off looks at nothing")
}

func TestConfig(t *testing.T) {
	text, err := json.Marshal(DefaultConfig())
	require.NoError(t, err)
	assert.JSONEq(t, `{"enabled":false,"aliases":true,"defaults":true,"coerce":true,"normalize":true,"fuzzy":true,"threshold":0.72}`, string(text))
	for threshold, valid := range map[float64]bool{
		0: false, -1: false, 1.01: false, math.NaN(): false, math.Inf(1): false, 0.01: true, 0.72: true, 1: true,
	} {
		c := Config{Fuzzy: true, Threshold: threshold}
		assert.Equal(t, valid, c.Validate() == nil, "%v", threshold)
		c.Fuzzy = false
		assert.NoError(t, c.Validate(), "%v is not used", threshold)
	}
	zero, fresh := Config{}, DefaultConfig()
	assert.NoError(t, zero.Validate())
	assert.NoError(t, fresh.Validate())
}
