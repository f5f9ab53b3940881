package abi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

func TestResources(t *testing.T) {
	const arguments = ` { "path" : "/a b/é{}", "empty": "", "n": -1.50, "big": 12345678901234567890123, "on": true, "escaped": "\u0061\n",
		"target": {"host": "h", "in": {"table": "t"}}, "a-b": "dash", "名": "name" } `
	for _, test := range []struct {
		templates string // with spaces between them
		want      []string
	}{
		{"", nil},
		{"all", []string{"all"}},
		{"file:{path}", []string{"file:/a b/é{}"}},
		{"{target.host}/{target.in.table}", []string{"h/t"}},
		{"b:{on} a:{n} b:{on} c", []string{"a:-1.5", "b:true", "c"}},
		{"{big}{empty}{a-b}{名}", []string{"12345678901234567890123dashname"}},
		{"x:{escaped}", []string{"x:a\n"}},
		{"{empty}", []string{""}},
	} {
		t.Run(test.templates, func(t *testing.T) {
			got, err := abi.Resources(strings.Fields(test.templates), json.RawMessage(arguments))
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestResourcesRefuse(t *testing.T) {
	const must = " must be a string, a number, true or false"
	long := strings.Repeat("x", abi.MaxResourceBytes)
	for _, test := range []struct{ template, arguments, want string }{
		{"{a}", `{}`, `resource "{a}": argument "a" is missing`},
		{"{a.b}", `{"a": {}}`, `resource "{a.b}": argument "a.b" is missing`},
		{"{a.b}", `{"a": "text"}`, `resource "{a.b}": argument "a.b" is missing`},
		{"{a.b}", `{"a": null}`, `resource "{a.b}": argument "a.b" is missing`},
		{"{a.0}", `{"a": ["x"]}`, `resource "{a.0}": argument "a.0" is missing`},
		{"{a}", `{"A": "x"}`, `resource "{a}": argument "a" is missing`},
		{"{a}", `{"a": null}`, `resource "{a}": argument "a"` + must},
		{"{a}", `{"a": ["x"]}`, `resource "{a}": argument "a"` + must},
		{"{a}", `{"a": {"b": 1}}`, `resource "{a}": argument "a"` + must},
		{"{a}", `{"a": 1e10000}`, `resource "{a}": argument "a": its exponent is out of range`},
		{"{a}", `{"a": 1e99999999999999999999}`, `resource "{a}": argument "a": its exponent is out of range`},
		{"x{a}", `{"a": "` + long + `"}`, `resource "x{a}": its name is over the limit of 1024 bytes`},
		{"a", `[]`, "arguments are not a JSON object"},
		{"a", `{`, "arguments are not a JSON object"},
		{"a", ``, "arguments are not a JSON object"},
		{"", `{}`, `resource "": it is empty`},
		{"a}", `{}`, `resource "a}": a } has no { before it`},
		{"{a}}", `{}`, `resource "{a}}": a } has no { before it`},
		{"a{", `{}`, `resource "a{": a { has no } after it`},
		{"{{a}}", `{}`, `resource "{{a}}": a { has no } after it`},
		{"{}", `{}`, `resource "{}": {} must hold an argument's name, those of nested ones with dots: {target.path}`},
		{"{a..b}", `{}`, `resource "{a..b}": {} must hold an argument's name, those of nested ones with dots: {target.path}`},
		{long + "x", `{}`, `resource "` + long[:80] + `…": it is over the limit of 1024 bytes`},
	} {
		t.Run(test.template+" "+test.arguments, func(t *testing.T) {
			got, err := abi.Resources([]string{test.template}, json.RawMessage(test.arguments))
			require.EqualError(t, err, test.want)
			assert.Nil(t, got)
		})
	}
}

// TestResourcesOfEqualNumbers: one number is one resource, however it is written, and two are two.
func TestResourcesOfEqualNumbers(t *testing.T) {
	for want, written := range map[string]string{
		"0":                      "0 -0 0.000 0e5 -0.0E-3",
		"1":                      "1 1.0 1e0 10e-1 0.1E+1 0.00001e5",
		"-120":                   "-120 -1.2e2 -12E1 -120.00",
		"0.05":                   "0.05 5e-2 0.5e-1 0.050",
		"12.5":                   "12.5 125e-1 1.25e1",
		"9007199254740993":       "9007199254740993 9007199254740993.0",
		"9007199254740992":       "9007199254740992",
		"1e22":                   "1e22 10e21 1.0E22",
		"1000000000000000000000": "1e21 10e20",
		"1e-30":                  "1e-30 0.1e-29",
		"15e-31":                 "1.5e-30",
	} {
		for number := range strings.FieldsSeq(written) {
			got, err := abi.Resources([]string{"{n}"}, json.RawMessage(`{"n": `+number+`}`))
			require.NoError(t, err)
			assert.Equal(t, []string{want}, got, number)
		}
	}
}

// FuzzResources: whatever templates and arguments are, what comes is bounded, sorted, and comes again.
func FuzzResources(f *testing.F) {
	f.Add("file:{path}", `{"path": "/etc/motd"}`)
	f.Add("{a.b}{c}", `{"a": {"b": -1.5e3}, "c": true}`)
	f.Add("{a", `{"a": [null]}`)
	f.Fuzz(func(t *testing.T, template, arguments string) {
		templates := []string{"z", template, "a"}
		got, err := abi.Resources(templates, json.RawMessage(arguments))
		if err != nil {
			return
		}
		require.IsIncreasing(t, got)
		for _, name := range got {
			require.LessOrEqual(t, len(name), abi.MaxResourceBytes)
		}
		var compact any
		if json.Unmarshal([]byte(arguments), &compact) == nil {
			again, err := abi.Resources(templates, json.RawMessage(" "+arguments+"\n"))
			require.NoError(t, err)
			require.Equal(t, got, again)
		}
	})
}
