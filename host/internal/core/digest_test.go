package core

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestArgumentsDigest: the groups have one digest each, and no two groups the same.
func TestArgumentsDigest(t *testing.T) {
	seen := map[string]string{}
	for _, group := range [][]string{
		{`{"a":1,"b":[true,null]}`, "{ \"b\" : [ true, null ],\n\"a\":1 }"},
		{`{"a":"A/€"}`, `{"\u0061":"\u0041\/\u20ac"}`},
		{`{"a":100}`, `{"a": 100}`},
		{`{"a":9007199254740992}`},
		{`{"a":9007199254740993}`}, // a double would round it
		{`{"a":1,"a":2}`},          // which of them holds is the reader's
		{`{"a":2}`},
		{"{\"a\":\"\xff\"}"},
		{"{\"a\":\"\ufffd\"}"},
		{`{"a":"\ud800"}`},
		{`{"a":`},
		{`{"a": `},
		{`[1 2]`},
		{`[12]`},
		{""},
		{"{}", " {} "},
		{strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)},
	} {
		first := ArgumentsDigest(group[0])
		require.Len(t, first, 64)
		assert.Empty(t, seen[first], "%.40q has the digest of another", group[0])
		seen[first] = group[0]
		for _, other := range group[1:] {
			assert.Equal(t, first, ArgumentsDigest(other), "%q and %q", group[0], other)
		}
	}
	// The example of RFC 8785, 3.2.3, by its canonical form there.
	assert.Equal(t, ArgumentsDigest("{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\u007f\",\"ö\":\"Latin\",\"€\":\"Euro\",\"😀\":\"Smiley\",\"\ufb33\":\"Dalet\"}"),
		ArgumentsDigest(`{"\u20ac":"Euro","\r":"Carriage Return","\ufb33":"Dalet","1":"One","\ud83d\ude00":"Smiley","\u0080":"Control\u007f","\u00f6":"Latin"}`))
}

// TestArgumentsDigestOfAnyObject: spacing and order never matter.
func TestArgumentsDigestOfAnyObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOf(rapid.String(), rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Int64(), func(n int64) any { return n }),
			rapid.Map(rapid.Float64Range(-1e300, 1e300), func(f float64) any { return f }),
		)).Draw(t, "object")
		compact, err := json.Marshal(object)
		require.NoError(t, err)
		wide, err := json.MarshalIndent(object, " ", "\t")
		require.NoError(t, err)
		require.Equal(t, ArgumentsDigest(string(compact)), ArgumentsDigest(string(wide)))
	})
}

func TestOperationID(t *testing.T) {
	id := operationID("01t", 1, ArgumentsDigest(`{"a":1}`))
	assert.Len(t, id, 32)
	assert.Equal(t, id, operationID("01t", 1, ArgumentsDigest(`{ "a": 1 }`)))
	assert.NotEqual(t, id, operationID("01t", 2, ArgumentsDigest(`{"a":1}`)))
	assert.NotEqual(t, id, operationID("01u", 1, ArgumentsDigest(`{"a":1}`)))
	assert.NotEqual(t, id, operationID("01t", 1, ArgumentsDigest(`{"a":2}`)))
}

func TestCompensationID(t *testing.T) {
	id := CompensationID("01t", "op")
	assert.Len(t, id, 32)
	assert.NotEqual(t, id, CompensationID("01u", "op"))
	assert.NotEqual(t, id, CompensationID("01t", "oq"))
	assert.NotEqual(t, id, operationID("01t", 1, "op"))
}
