package repair

import (
	"fmt"
	"testing"
)

func TestNormalize(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{},"b c":{}," kept ":{}}}`
	rules := []string{"normalize"}
	runCases(t, map[string]repairCase{
		"spaces":                   {schema, `{" a\t":1}`, `{"a":1}`, rules},
		"double quotes":            {schema, `{"\"a\"":1}`, `{"a":1}`, rules},
		"single quotes":            {schema, `{"'a'":1}`, `{"a":1}`, rules},
		"backticks":                {schema, "{\"`a`\":1}", `{"a":1}`, rules},
		"mixed":                    {schema, `{" '\" a \"' ":1}`, `{"a":1}`, rules},
		"inner space stays":        {schema, `{" b c":1}`, `{"b c":1}`, rules},
		"unknown keys too":         {schema, `{" z":1,"a":2}`, `{"z":1,"a":2}`, rules},
		"first wins, exact first":  {schema, `{"a":1," a":2,"'a'":3}`, `{"a":1}`, rules},
		"first wins, exact last":   {schema, `{" a":1,"z":0,"a":2}`, `{"a":1,"z":0}`, rules},
		"a declared key":           {schema: schema, arguments: `{" kept ":1}`},
		"nothing left":             {schema: schema, arguments: `{" \"' ":1,"":2}`},
		"data of an open schema":   {schema: `{"type":"object","properties":{"a":{}},"additionalProperties":true}`, arguments: `{"'z'":1}`},
		"a name of an open schema": {`{"type":"object","properties":{"a":{}},"additionalProperties":{}}`, `{"'a'":1," z":2}`, `{"a":1," z":2}`, rules},
	})
}

func TestAliases(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"query":{"x-agentic-aliases":["q","search","path"]},
		"path":{"x-agentic-aliases":["file","q"]},
		"odd":{"x-agentic-aliases":"o"},"odder":{"x-agentic-aliases":["p",1]}}}`
	rules := []string{"aliases"}
	runCases(t, map[string]repairCase{
		"an alias, in its place":      {schema, `{"z":0,"search":1,"path":2}`, `{"z":0,"query":1,"path":2}`, rules},
		"the first in the list":       {schema, `{"search":1,"q":2,"path":3}`, `{"search":1,"query":2,"path":3}`, rules},
		"the first property takes it": {schema, `{"q":1,"file":2}`, `{"query":1,"path":2}`, rules},
		"a property is no alias":      {schema: schema, arguments: `{"path":1}`},
		"the property is there":       {schema: schema, arguments: `{"query":1,"search":2,"path":3}`},
		"malformed lists":             {schema: schema, arguments: `{"query":1,"path":2,"o":3,"p":4}`},
		"also of an open schema": {`{"type":"object","properties":{"a":{"x-agentic-aliases":["b"]}},"additionalProperties":true}`,
			`{"b":1}`, `{"a":1}`, rules},
		"after normalizing": {schema, `{"'file'":1,"query":2}`, `{"path":1,"query":2}`, []string{"normalize", "aliases"}},
	})
}

func TestFuzzy(t *testing.T) {
	const schema = `{"type":"object","properties":{"file_path":{},"mode":{}}}`
	rules := []string{"fuzzy"}
	runCases(t, map[string]repairCase{
		"one of each":             {schema, `{"filepath":1,"mode":2}`, `{"file_path":1,"mode":2}`, rules},
		"not alike":               {schema: schema, arguments: `{"name":1,"mode":2}`},
		"two unknown":             {schema: schema, arguments: `{"filepath":1,"mode":2,"z":3}`},
		"two missing":             {schema: schema, arguments: `{"filepath":1}`},
		"none missing":            {schema: schema, arguments: `{"filepath":1,"file_path":2,"mode":3}`},
		"none unknown":            {schema: schema, arguments: `{"mode":1}`},
		"closed schema":           {`{"type":"object","properties":{"query":{}},"additionalProperties":false}`, `{"querry":1}`, `{"query":1}`, rules},
		"open schema":             {schema: `{"type":"object","properties":{"query":{}},"additionalProperties":true}`, arguments: `{"querry":1}`},
		"open to a type":          {schema: `{"type":"object","properties":{"query":{}},"additionalProperties":{"type":"string"}}`, arguments: `{"querry":1}`},
		"open to a pattern":       {schema: `{"type":"object","properties":{"query":{}},"patternProperties":{"^q":{}}}`, arguments: `{"querry":1}`},
		"open to a pattern alone": {schema: `{"type":"object","properties":{"query":{}},"patternProperties":{"^q":{}},"additionalProperties":false}`, arguments: `{"querry":1}`},
		"then the type is right":  {`{"type":"object","properties":{"limit":{"type":"integer"}}}`, `{"limits":"5"}`, `{"limit":5}`, []string{"fuzzy", "coerce"}},
		"before the default":      {`{"type":"object","properties":{"limit":{"type":"integer","default":3}}}`, `{"limits":5}`, `{"limit":5}`, rules},
	})
}

func TestDefaults(t *testing.T) {
	rules := []string{"defaults"}
	schema := func(property string) string { return `{"type":"object","properties":{"p":` + property + `}}` }
	runCases(t, map[string]repairCase{
		"of the type":         {schema(`{"type":"string","default":"x"}`), `{}`, `{"p":"x"}`, rules},
		"of one of the types": {schema(`{"type":["string","null"],"default":null}`), `{}`, `{"p":null}`, rules},
		"without a type":      {schema(`{"default":null}`), `{}`, `{"p":null}`, rules},
		"an integral number":  {schema(`{"type":"integer","default":1.0}`), `{}`, `{"p":1.0}`, rules},
		"an integer":          {schema(`{"type":"number","default":1}`), `{}`, `{"p":1}`, rules},
		"made compact":        {schema(`{"type":"array","default":[ 1 ,"a b" ]}`), `{"z":0}`, `{"z":0,"p":[1,"a b"]}`, rules},
		"sorted at the end": {`{"type":"object","properties":{"c":{"default":3},"a":{"default":1},"b":{"default":2}}}`,
			`{"z":0,"b":9}`, `{"z":0,"b":9,"a":1,"c":3}`, rules},
		"of another type":      {schema: schema(`{"type":"integer","default":"1"}`), arguments: `{}`},
		"null for a string":    {schema: schema(`{"type":"string","default":null}`), arguments: `{}`},
		"a fraction":           {schema: schema(`{"type":"integer","default":1.5}`), arguments: `{}`},
		"the property is null": {schema: schema(`{"type":["string","null"],"default":"x"}`), arguments: `{"p":null}`},
		"no default":           {schema: schema(`{"type":"string","Default":"x"}`), arguments: `{}`},
		"no object":            {schema: schema(`true`), arguments: `{}`},
	})
}

func TestCoerce(t *testing.T) {
	cases := []struct{ types, value, want string }{
		{`"string"`, `true`, `"true"`},
		{`"string"`, `false`, `"false"`},
		{`"string"`, `1.5`, `"1.5"`},
		{`"string"`, `12345678901234567890`, `"12345678901234567890"`},
		{`"string"`, `1.50`, `"1.50"`},
		{`["null","string"]`, `7`, `"7"`},
		{`"integer"`, `"42"`, `42`},
		{`"integer"`, `" -007 "`, `-7`},
		{`"integer"`, `"+5"`, `5`},
		{`"integer"`, `"0"`, `0`},
		{`"integer"`, `"12345678901234567890"`, `12345678901234567890`},
		{`"integer"`, `"\u0034"`, `4`},
		{`"number"`, `"42"`, `42`},
		{`"number"`, `"1.50"`, `1.50`},
		{`"number"`, `".5"`, `0.5`},
		{`"number"`, `"-5."`, `-5`},
		{`"number"`, `"1.E+3"`, `1E+3`},
		{`"number"`, `"00.1e-02"`, `0.1e-02`},
		{`"boolean"`, `"true"`, `true`},
		{`"boolean"`, `" Yes"`, `true`},
		{`"boolean"`, `"1"`, `true`},
		{`"boolean"`, `1`, `true`},
		{`"boolean"`, `"FALSE"`, `false`},
		{`"boolean"`, `"no"`, `false`},
		{`"boolean"`, `0`, `false`},
		{`["boolean","integer"]`, `"1"`, `true`},
		{`["integer","boolean"]`, `"1"`, `1`},
		{`["integer","boolean"]`, `"yes"`, `true`},
	}
	for _, c := range cases {
		t.Run(c.types+" of "+c.value, func(t *testing.T) {
			schema := fmt.Sprintf(`{"type":"object","properties":{"p":{"type":%s}}}`, c.types)
			runCases(t, map[string]repairCase{"": {schema, `{"p":` + c.value + `}`, `{"p":` + c.want + `}`, []string{"coerce"}}})
		})
	}
}

func TestCoerceLeaves(t *testing.T) {
	cases := []struct{ types, value string }{
		{`"string"`, `null`}, {`"string"`, `[1]`}, {`"string"`, `{"a":1}`}, {`"string"`, `"1"`},
		{`"integer"`, `""`}, {`"integer"`, `"1.0"`}, {`"integer"`, `"1e3"`}, {`"integer"`, `"--1"`}, {`"integer"`, `"1-"`},
		{`"integer"`, `"+"`}, {`"integer"`, `"٣"`}, {`"integer"`, `"1_000"`}, {`"integer"`, `"0x10"`}, {`"integer"`, `true`},
		{`"integer"`, `1.5`}, {`"integer"`, `7.0`}, {`"integer"`, `null`}, {`"integer"`, `["1"]`},
		{`"number"`, `"nan"`}, {`"number"`, `"inf"`}, {`"number"`, `"1e999"`}, {`"number"`, `"."`}, {`"number"`, `"e5"`},
		{`"number"`, `"1,5"`}, {`"number"`, `"0x1p4"`}, {`"number"`, `"five"`}, {`"number"`, `false`}, {`"number"`, `"1 2"`},
		{`"boolean"`, `"maybe"`}, {`"boolean"`, `2`}, {`"boolean"`, `1.0`}, {`"boolean"`, `""`}, {`"boolean"`, `null`},
		{`"array"`, `"[1]"`}, {`"object"`, `"{}"`}, {`"null"`, `"null"`}, {`"nonsense"`, `1`}, {`17`, `"1"`}, {`[]`, `"1"`},
		{`["string","integer"]`, `"1"`}, {`["string","integer"]`, `1`},
	}
	for _, c := range cases {
		t.Run(c.types+" of "+c.value, func(t *testing.T) {
			schema := fmt.Sprintf(`{"type":"object","properties":{"p":{"type":%s}}}`, c.types)
			runCases(t, map[string]repairCase{"": {schema: schema, arguments: `{"p":` + c.value + `}`}})
		})
	}
}
