package abi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestManifestObject holds the names that checkKeys knows against the fields that the decoder fills.
func TestManifestObject(t *testing.T) {
	assert.Equal(t, fields(reflect.TypeFor[Manifest]()), manifestObject())
}

func fields(of reflect.Type) object {
	for of.Kind() == reflect.Slice && of != reflect.TypeFor[json.RawMessage]() {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	names := object{}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		names[name] = fields(of.Field(i).Type)
	}
	return names
}

func TestManifestKeys(t *testing.T) {
	const valid = `{"abi": {"major": 1, "minor": 0}, "name": "n", "version": "1.0.0", "kind": "tools", "tools": [{"name": "t", "input_schema": {}, "effect": "pure"}]`
	_, err := ParseManifest([]byte(valid + "}"))
	require.NoError(t, err)
	for more, want := range map[string]string{
		`"name": "other"`:      `"name" is there twice`,
		`"n\u0061me": "other"`: `"name" is there twice`,
		`"abi": {"minor": 9}`:  `"abi" is there twice`,
		`"Hooks": []`:          `"Hooks" must be written hooks`,
		`"hook\u017f": []`:     `"hookſ" must be written hooks`,
		`"limits": {"memory_bytes": 1, "MEMORY_BYTES": 2}`: `"limits.MEMORY_BYTES" must be written memory_bytes`,
		`"limits": {"output_bytes": 1, "output_bytes": 2}`: `"limits.output_bytes" is there twice`,
		`"conversation": {"a": [{"b": 1, "b": 2}]}`:        `"conversation.a.b" is there twice`,
		`"later": {"x": 1, "x": 1}`:                        `"later.x" is there twice`,
		`"a": 1, "a": 2, "Kind": 3`:                        `"a" is there twice` + "\n" + `"Kind" must be written kind`,
		`"ev\nil": 1, "ev\nil": 2`:                         `"ev\nil" is there twice`,
		// What no decoder takes for another.
		`"conversation": {"a": 1, "A": 2, "abi": 3, "ABI": 4}, "kind": "both"`: `"kind" is there twice`,
		`"config_schema": {"name": 1, "Name": 2}`:                              "",
		`"later": 1e999, "latest": {"Tools": [{}, []]}`:                        "",
	} {
		t.Run(more, func(t *testing.T) {
			_, err := ParseManifest([]byte(valid + ", " + more + "}"))
			if want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, want)
		})
	}
	tool := strings.Replace(valid, `"effect"`, `"Effect": "pure", "effect"`, 1) + "}"
	_, err = ParseManifest([]byte(tool))
	require.EqualError(t, err, `"tools.Effect" must be written effect`)
}

func TestManifestByteOrderMark(t *testing.T) {
	_, err := ParseManifest([]byte("\ufeff{}"))
	require.EqualError(t, err, "manifest begins with a byte order mark; save it as UTF-8 without one")
}

// TestManifestOfManyProblems: a manifest that is wrong thousands of times is refused in 20 lines.
func TestManifestOfManyProblems(t *testing.T) {
	list := func(item string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	var twice strings.Builder
	for range 9_000 {
		twice.WriteString(`"a":1,`)
	}
	for name, section := range map[string]string{
		"hooks":      `{"hooks": ` + list(`"x"`, 9_000) + `}`,
		"operations": `{"requires": ` + list(`"a/1"`, 9_000) + `}`,
		"tools":      `{"tools": ` + list(`{}`, 9_000) + `}`,
		"keys":       `{` + twice.String() + `"b": 2}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseManifest([]byte(section))
			require.Error(t, err)
			lines := strings.Split(err.Error(), "\n")
			require.Len(t, lines, 20)
			var more int
			_, err = fmt.Sscanf(lines[19], "and %d more problems", &more)
			require.NoError(t, err)
			assert.Greater(t, more, 8_900)
		})
	}
}
