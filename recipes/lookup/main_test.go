package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

const capitals = `{"table": {"France": "Paris", "Japan": "Tokyo", "Peru": "Lima", "peru ": "a duplicate"}}`

func TestManifest(t *testing.T) {
	section, err := os.ReadFile("axis.json")
	require.NoError(t, err)
	m, err := abi.ParseManifest(section)
	require.NoError(t, err)
	require.Len(t, m.Tools, 1)
	assert.Equal(t, []abi.Operation{abi.OpConfig}, m.Requires)
	got, err := guest.Stub{Config: capitals}.CallTool(m.Tools[0].Name, `{"key": "Japan"}`)
	require.NoError(t, err)
	assert.Equal(t, guest.OK("Tokyo"), got)

	var schema struct {
		Properties struct {
			Key struct {
				MaxLength int `json:"maxLength"`
			} `json:"key"`
		} `json:"properties"`
	}
	require.NoError(t, json.Unmarshal(m.Tools[0].InputSchema, &schema))
	assert.Equal(t, maxKey, schema.Properties.Key.MaxLength)
}

func TestLookup(t *testing.T) {
	large := map[string]string{}
	for i := range 100 {
		large[fmt.Sprintf("key %02d", i)] = fmt.Sprint(i)
	}
	table, err := json.Marshal(map[string]any{"table": large})
	require.NoError(t, err)
	const all = `the keys are "France", "Japan", "Peru", "peru "`

	tests := []struct {
		name   string
		stub   guest.Stub
		key    string
		result guest.Result
	}{
		{"there", guest.Stub{Config: capitals}, "France", guest.OK("Paris")},
		{"other case and spaces", guest.Stub{Config: capitals}, " fRANCE\n", guest.OK("Paris")},
		{"exact before other case", guest.Stub{Config: capitals}, "Peru", guest.OK("Lima")},
		{
			"two that differ in case", guest.Stub{Config: capitals}, "PERU",
			guest.Invalid(`there is no entry "PERU"; the keys are "Peru", "peru ", "Japan", "France"`),
		},
		{
			"misspelt", guest.Stub{Config: capitals}, "Frence",
			guest.Invalid(`there is no entry "Frence"; the keys are "France", "Peru", "peru ", "Japan"`),
		},
		{"empty", guest.Stub{Config: capitals}, "", guest.Invalid("the key is empty; %s", all)},
		{"blank", guest.Stub{Config: capitals}, " ", guest.Invalid("the key is empty; %s", all)},
		{
			"too long", guest.Stub{Config: capitals}, strings.Repeat("k", 201),
			guest.Invalid("the key has 201 bytes, and at most 200 are taken"),
		},
		{
			"missing in a large table", guest.Stub{Config: string(table)}, "key 4",
			guest.Invalid(`there is no entry "key 4"; the nearest of 100 keys are "key 04", "key 14", "key 24", "key 34", "key 40", "key 41"`),
		},
		{
			"no configuration", guest.Stub{}, "France",
			guest.Failed(abi.ClassPermanent, `the table is empty: the plugin's configuration must have entries under "table"`),
		},
		{
			"wrong configuration", guest.Stub{Config: `{"tabel": {}}`}, "France",
			guest.Failed(abi.ClassPermanent, `configuration: unknown field "tabel"`),
		},
		{
			"configuration not granted", guest.Stub{Denied: true}, "France",
			guest.Failed(abi.ClassPermanent, "config/1: denied"),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			arguments, err := json.Marshal(map[string]string{"key": test.key})
			require.NoError(t, err)
			got, err := test.stub.CallTool("lookup", string(arguments))
			require.NoError(t, err)
			assert.Equal(t, test.result, got)
		})
	}
}

func TestArguments(t *testing.T) {
	got, err := guest.Stub{Config: capitals}.CallTool("lookup", `{"name": "France"}`)
	require.NoError(t, err)
	assert.Equal(t, guest.Invalid(`unknown field "name"`), got)
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"kitten", "sitting", 3},
		{"日本", "日木", 1},
		{"same", "same", 0},
		{"flaw", "lawn", 2},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, distance([]rune(test.a), []rune(test.b)), "%s, %s", test.a, test.b)
		assert.Equal(t, test.want, distance([]rune(test.b), []rune(test.a)), "%s, %s", test.b, test.a)
	}
}
