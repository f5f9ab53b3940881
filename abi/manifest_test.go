package abi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

const tool = `{"name": "t", "input_schema": {}, "effect": "pure"}`

func TestParseManifest(t *testing.T) {
	m, err := abi.ParseManifest([]byte(`{
		"abi": {"major": 1, "minor": 0}, "name": "calc", "version": "1.0.0", "kind": "both",
		"hooks": ["refusal"], "tools": [` + tool + `], "caps": {"later": true}
	}`))
	require.NoError(t, err, "unknown fields are ignored")
	assert.Equal(t, []abi.Hook{abi.HookRefusal, abi.HookToolCall}, m.DeclaredHooks())
	assert.True(t, m.HasHook(abi.HookToolCall), "implied by tools")
	assert.True(t, m.HasHook(abi.HookRefusal))
	assert.False(t, m.HasHook(abi.HookStart))
	assert.Equal(t, []abi.Hook{abi.HookRefusal}, m.Hooks, "DeclaredHooks does not touch the manifest")
}

func TestParseManifestRefuses(t *testing.T) {
	tests := []struct{ name, section, want string }{
		{"too large", strings.Repeat(" ", abi.MaxManifestBytes+1), "manifest of 65537 bytes is over the limit of 65536"},
		{"not UTF-8", "{\"name\": \"\xff\"}", "manifest is not UTF-8"},
		{"byte order mark", "\ufeff{}", "manifest begins with a byte order mark; save it as UTF-8 without one"},
		{"empty", "", "manifest is not JSON: unexpected end of JSON input"},
		{"cut off", `{"name": "x"`, "manifest is not JSON: unexpected end of JSON input"},
		{"two values", `{} {}`, "manifest is not JSON: invalid character '{' after top-level value"},
		{"not an object", `[]`, "manifest must be a JSON object; it is a JSON array"},
		{"wrong type", `{"name": 5}`, "name cannot be a JSON number"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := abi.ParseManifest([]byte(test.section))
			require.EqualError(t, err, test.want)
			assert.Nil(t, m)
		})
	}
}

// TestValidate changes one field of a valid manifest at a time and expects exactly one problem.
func TestValidate(t *testing.T) {
	long := strings.Repeat("n", 100)
	tests := []struct{ field, value, want string }{
		{"abi", `null`, "abi must be an object with a major of 1 or more and a minor of 0 or more"},
		{"abi", `{"major": 0, "minor": 3}`, "abi must be an object with a major of 1 or more and a minor of 0 or more"},
		{"abi", `{"major": 1, "minor": -1}`, "abi must be an object with a major of 1 or more and a minor of 0 or more"},
		{"abi", `{"major": 7, "minor": 99}`, ""},
		{"name", `""`, `name "" must be 1 to 64 of a-z 0-9 _ -`},
		{"name", `"Calc"`, `name "Calc" must be 1 to 64 of a-z 0-9 _ -`},
		{"name", `"../calc"`, `name "../calc" must be 1 to 64 of a-z 0-9 _ -`},
		{"name", `"` + long[:64] + `"`, ""},
		{"name", `"` + long[:65] + `"`, `name "` + long[:65] + `" must be 1 to 64 of a-z 0-9 _ -`},
		{"name", `"` + long + `"`, `name "` + long[:80] + `…" must be 1 to 64 of a-z 0-9 _ -`},
		{"version", `"1.0"`, `version "1.0" is not a semantic version such as 1.2.3`},
		{"version", `"v1.0.0"`, `version "v1.0.0" is not a semantic version such as 1.2.3`},
		{"version", `"1.0.01"`, `version "1.0.01" is not a semantic version such as 1.2.3`},
		{"version", `"1.0.0-01"`, `version "1.0.0-01" is not a semantic version such as 1.2.3`},
		{"version", `"1.0.0-"`, `version "1.0.0-" is not a semantic version such as 1.2.3`},
		{"version", `"1.0.0+a_b"`, `version "1.0.0+a_b" is not a semantic version such as 1.2.3`},
		{"version", `"1.0.0-rc.1-x+001.sha"`, ""},
		{"version", `"1.0.0+a-b"`, ""},
		{"kind", `"agent"`, `kind "agent" must be recipe, tools or both`},
		{"hooks", `["refuse"]`, `hook "refuse" is not in ABI 1.0-rc`},
		{"hooks", `["refusal", "start", "refusal"]`, `hook "refusal" is declared twice`},
		{"hooks", `["plan"]`, ""},
		{"hooks", `["tool_check"]`, `hook "tool_check" is declared, and no tool has check`},
		{"tools", `[]`, "kind is both, and no tool is declared"},
		{"tools", `[` + tool + `, ` + tool + `]`, `tool "t" is declared twice`},
		{"tools", `[{"name": "T", "input_schema": {}, "effect": "pure"}]`, `tool name "T" must be 1 to 64 of a-z 0-9 _ -`},
		{"tools", `[{"name": "t", "effect": "pure"}]`, `tool "t": input_schema must be an object`},
		{"tools", `[{"name": "t", "input_schema": true, "effect": "pure"}]`, `tool "t": input_schema must be an object`},
		{"tools", `[{"name": "t", "input_schema": null, "effect": "pure"}]`, `tool "t": input_schema must be an object`},
		{"tools", `[{"name": "t", "input_schema": {}}]`, `tool "t": effect "" must be pure, read, idempotent or write`},
		{
			"tools", `[{"name": "t", "input_schema": {}, "effect": "pure", "timeout_ms": -1}]`,
			`tool "t": timeout_ms must be 0 to 3600000`,
		},
		{
			"tools", `[{"name": "t", "input_schema": {}, "effect": "pure", "timeout_ms": 3600001}]`,
			`tool "t": timeout_ms must be 0 to 3600000`,
		},
		{"tools", toolWith(`"reconcile": 1`), "tools.reconcile cannot be a JSON number"},
		{"tools", toolWith(`"precondition": true`), `tool "t": precondition must be an object`},
		{"tools", toolWith(`"output_schema": null`), `tool "t": output_schema must be an object`},
		{"tools", toolWith(`"success": []`), `tool "t": success must be an object`},
		{"tools", toolWith(`"precondition": {}, "output_schema": {}, "success": {"type": "object"}`), ""},
		{"tools", toolWith(`"resources": ["file:{path}", "all"], "risk": 1000`), ""},
		{"tools", toolWith(`"resources": ["file:{path"]`), `tool "t": resource "file:{path": a { has no } after it`},
		{"tools", toolWith(`"resources": [` + strings.Repeat(`"a",`, 16) + `"a"]`), `tool "t": 17 resources are over the limit of 16`},
		{"tools", toolWith(`"risk": -1`), `tool "t": risk must be 0 to 1000`},
		{"tools", toolWith(`"risk": 1001`), `tool "t": risk must be 0 to 1000`},
		{"tools", toolWith(`"cost": {"money_micros": 1000000000000, "tokens": 1000000000000}`), ""},
		{"tools", toolWith(`"cost": {"money_micros": -1}`), `tool "t": cost.money_micros must be 0 to 1000000000000`},
		{"tools", toolWith(`"cost": {"tokens": 1000000000001}`), `tool "t": cost.tokens must be 0 to 1000000000000`},
		{"caps", `{"http": ["api.example.com", "127.0.0.1:8080", "localhost:65535"]}`, ""},
		{"caps", `{"http": ["a.example", "a.example"]}`, `caps.http: "a.example" is named twice`},
		{"caps", `{"later": true}`, ""},
		{"conversation", `[]`, "conversation must be an object"},
		{"conversation", `{"max_turns": 3}`, ""},
		{"config_schema", `"none"`, "config_schema must be an object"},
		{"requires", `["config"]`, `operation "config" must be written name/major, such as config/1`},
		{"requires", `["config/01"]`, `operation "config/01" must be written name/major, such as config/1`},
		{"requires", `["/1"]`, `operation "/1" must be written name/major, such as config/1`},
		{"requires", `["config/1", "config/1"]`, `operation "config/1" is named twice in requires and optional`},
		{"requires", `["later.thing/2"]`, ""},
		{"optional", `["kv.get/"]`, `operation "kv.get/" must be written name/major, such as config/1`},
		{"optional", `["kv.get/1"]`, ""},
		{"limits", `{"memory_bytes": -1}`, "limits.memory_bytes must be 0 to 1073741824"},
		{"limits", `{"memory_bytes": 1073741825}`, "limits.memory_bytes must be 0 to 1073741824"},
		{"limits", `{"output_bytes": -1}`, "limits.output_bytes must be 0 to 16777216"},
		{"limits", `{"output_bytes": 16777217}`, "limits.output_bytes must be 0 to 16777216"},
		{"limits", `{"output_bytes": 16777216, "memory_bytes": 1073741824}`, ""},
	}
	for _, test := range tests {
		t.Run(test.field+" "+test.value, func(t *testing.T) {
			_, err := abi.ParseManifest(manifestWith(t, "both", test.field, test.value))
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}

func TestValidateKind(t *testing.T) {
	tests := []struct{ kind, field, value, want string }{
		{"recipe", "tools", `[` + tool + `]`, "kind is recipe, and tools are declared: use both"},
		{"recipe", "hooks", `["tool_call"]`, `hook "tool_call" belongs to tools, and kind is recipe`},
		{"recipe", "hooks", `["tool_outcome"]`, ""},
		{"tools", "tools", `[]`, "kind is tools, and no tool is declared"},
		{"tools", "hooks", `["start"]`, `hook "start" belongs to a recipe, and kind is tools`},
		{"tools", "hooks", `["tool_call"]`, ""},
		{"tools", "conversation", `{}`, "conversation belongs to a recipe, and kind is tools"},
	}
	for _, test := range tests {
		t.Run(test.kind+" "+test.field, func(t *testing.T) {
			_, err := abi.ParseManifest(manifestWith(t, test.kind, test.field, test.value))
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}

func TestValidateReportsEverything(t *testing.T) {
	m, err := abi.ParseManifest([]byte(`{"hooks": ["nope"], "tools": [{}]}`))
	require.NotNil(t, m, "what could be read is given with the error")
	require.EqualError(t, err, strings.Join([]string{
		"abi must be an object with a major of 1 or more and a minor of 0 or more",
		`name "" must be 1 to 64 of a-z 0-9 _ -`,
		`version "" is not a semantic version such as 1.2.3`,
		`kind "" must be recipe, tools or both`,
		`hook "nope" is not in ABI 1.0-rc`,
		`tool name "" must be 1 to 64 of a-z 0-9 _ -`,
		`tool "": input_schema must be an object`,
		`tool "": effect "" must be pure, read, idempotent or write`,
	}, "\n"))
}

func TestValidateHosts(t *testing.T) {
	long := strings.Repeat(strings.Repeat("a", 62)+".", 4)
	for _, host := range []string{
		"", "https://example.com", "example.com/path", "Example.com", "*.example.com", "a b", "a..b", ".a", "a.", "-a.b", "a-.b",
		"a:", "a:0", "a:080", "a:65536", "a:1:2", "a:-1", "[::1]:80", "user@example.com", "é.example", long + "ab",
	} {
		section := manifestWith(t, "both", "caps", `{"http": ["`+host+`"]}`)
		_, err := abi.ParseManifest(section)
		assert.ErrorContains(t, err, "must be a host in lower case, such as api.example.com or 127.0.0.1:8080", host)
	}
	_, err := abi.ParseManifest(manifestWith(t, "both", "caps", `{"http": ["`+long+`a"]}`))
	assert.NoError(t, err, "253 bytes")
}

// TestImpliedHooks: what a tool answers is a hook of the plugin, listed or not.
func TestImpliedHooks(t *testing.T) {
	m, err := abi.ParseManifest(manifestWith(t, "tools", "tools", `[`+tool+`, {"name": "u", "input_schema": {}, "effect": "write",
		"check": true, "reconcile": true}]`))
	require.NoError(t, err)
	assert.Equal(t, []abi.Hook{abi.HookToolCall, abi.HookToolReconcile, abi.HookToolCheck}, m.DeclaredHooks())
	assert.True(t, m.HasHook(abi.HookToolReconcile))
	assert.False(t, m.HasHook(abi.HookToolPreview))
	assert.True(t, m.Tool("u").Answers(abi.HookToolCheck))
	assert.False(t, m.Tool("u").Answers(abi.HookToolCompensate))
	assert.False(t, m.Tool("u").Answers(abi.HookRefusal))
	assert.False(t, m.Tool("t").Answers(abi.HookToolCheck))
	assert.Nil(t, m.Tool("v"))

	m.Hooks = []abi.Hook{abi.HookToolCheck}
	require.NoError(t, m.Validate())
	assert.Equal(t, []abi.Hook{abi.HookToolCheck, abi.HookToolCall, abi.HookToolReconcile}, m.DeclaredHooks())
}

// toolWith is a list of one tool with that field.
func toolWith(field string) string {
	return `[{"name": "t", "input_schema": {}, "effect": "pure", ` + field + `}]`
}

// manifestWith makes a valid manifest of a kind with one field set to value.
func manifestWith(t *testing.T, kind, field, value string) []byte {
	t.Helper()
	fields := map[string]json.RawMessage{
		"abi": json.RawMessage(`{"major": 1, "minor": 0}`), "name": json.RawMessage(`"p"`),
		"version": json.RawMessage(`"1.0.0"`), "kind": json.RawMessage(`"` + kind + `"`),
	}
	if kind != "recipe" {
		fields["tools"] = json.RawMessage(`[` + tool + `]`)
	}
	fields[field] = json.RawMessage(value)
	section, err := json.Marshal(fields)
	require.NoError(t, err)
	return section
}

// FuzzParseManifest checks that whatever a section holds, parsing neither panics nor lets through what the
// loader relies on.
func FuzzParseManifest(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "manifest*.json"))
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		seed, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(seed)
	}
	f.Add([]byte(`{"abi":{"major":1},"name":"x","version":"1.0.0","kind":"tools","tools":[` + tool + `]}`))
	f.Add([]byte(`{"conversation":null,"tools":[null],"hooks":[""],"requires":["/"]}`))
	f.Add([]byte("{\"name\":\"\xc3\"}"))
	f.Fuzz(func(t *testing.T, section []byte) {
		m, err := abi.ParseManifest(section)
		if err != nil {
			return
		}
		require.Positive(t, m.ABI.Major)
		require.NotContains(t, m.Name, "/")
		for _, h := range m.DeclaredHooks() {
			_, known := abi.LookupHook(h)
			require.True(t, known, "hook %q", h)
		}
		encoded, err := json.Marshal(m)
		require.NoError(t, err)
		if len(encoded) <= abi.MaxManifestBytes {
			again, err := abi.ParseManifest(encoded)
			require.NoError(t, err)
			require.Equal(t, m.DeclaredHooks(), again.DeclaredHooks())
		}
	})
}
