package repair

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzArguments checks the invariants of the package document for any schema and any text.
func FuzzArguments(f *testing.F) {
	const schema = `{"type":"object","properties":{"query":{"type":"string","x-agentic-aliases":["q"]},"limit":{"type":"integer","default":5},"safe":{"type":["boolean","null"]},"ratio":{"type":"number"}}}`
	for _, arguments := range []string{
		`{"q":1," limit ":"5","saef":"yes","ratio":".5"}`, `{"query":"x","limit":"-007","safe":0,"ratio":"1.E+3"}`,
		`{}`, ``, `null`, `[]`, `{"a":1,"a":2}`, `{"\ud800":1,"\ufffd":2}`, "{\"\xff\":\"\xff\"}", `{"":"","\"":1}`, `{"ratio":"1e999"}`, `{"query":-0.0}`,
		`{"limit":"+-1"}`, `{"ratio":"-"}`, `{"deep":[[[[{}]]]]}`,
	} {
		f.Add(schema, arguments, 0.72)
	}
	f.Add(`{"type":["object"],"properties":{"":{"default":{}}},"additionalProperties":{}}`, `{" ":1}`, 1.0)
	f.Add(`{"type":"object","properties":{"a":true,"b":{"type":7,"x-agentic-aliases":{}}}}`, `{"aa":1}`, 0.1)
	f.Add(`{"type":"object","properties":[]}`, `{}`, -1.0)
	f.Fuzz(func(t *testing.T, schema, arguments string, threshold float64) {
		config := on()
		config.Threshold = threshold
		fixed, rules, err := Arguments(json.RawMessage(schema), arguments, config)
		again, rulesAgain, _ := Arguments(json.RawMessage(schema), arguments, config)
		assert.Equal(t, fixed, again)
		assert.Equal(t, rules, rulesAgain)
		if err != nil || len(rules) == 0 {
			assert.Equal(t, arguments, fixed)
			assert.Empty(t, rules)
			return
		}
		checkKeys(t, schema, arguments, fixed)
	})
}

// checkKeys holds the keys before and after: declared ones stay, and none is there twice.
func checkKeys(t *testing.T, text, before, after string) {
	require.True(t, json.Valid([]byte(after)), "%q", after)
	given, isObject := parseObject(before)
	require.True(t, isObject)
	got, isObject := parseObject(after)
	require.True(t, isObject)
	s, err := parseSchema(json.RawMessage(text))
	require.NoError(t, err)
	for _, key := range given.keys {
		if s.declares(key) {
			assert.True(t, got.has(key), "%q is declared and was there", key)
		}
	}
	assert.Len(t, got.values, len(got.keys))
	assert.Equal(t, after, got.String(), "what is read is what was written")
}
