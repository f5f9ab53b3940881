package plugintest

import (
	"fmt"
	"strings"

	"github.com/axishost/axishost/abi"
)

// Refused is a file that is no plugin of this host.
type Refused struct {
	Name string
	File []byte
	// Why is what the refusal must say, among other words.
	Why string
}

// AllRefused gives a file for each way of being refused, by what is wrong with it.
func AllRefused() []Refused {
	return append(append(refusedShapes(), refusedManifests()...), refusedBoundaries()...)
}

// fine is the manifest that the files have where it is not what is wrong with them.
const fine = `{"abi": {"major": 1, "minor": 0}, "name": "bad", "version": "1.0.0", "kind": "recipe", "hooks": ["refusal"]}`

// hooked gives a module with the boundary of a plugin and the hook that fine declares.
func hooked(imports ...Import) *Module {
	m := New(imports...)
	m.Hook("refusal", Const(0))
	return m
}

// with is a hooked module with that manifest.
func with(manifest string) []byte {
	m := hooked()
	m.Manifest(manifest)
	return m.Bytes()
}

// changed is a hooked module with the manifest fine, old in it replaced.
func changed(old, replacement string) []byte { return with(strings.Replace(fine, old, replacement, 1)) }

// bare is a module of a marker and the manifest fine, and what add adds; a boundary without the memory.
func bare(add func(m *Module)) []byte {
	m := &Module{}
	add(m)
	m.Func(abi.MarkerExport, nil, nil, nil)
	m.Hook("refusal", Const(0))
	m.Manifest(fine)
	return m.Bytes()
}

// and is a hooked module with the manifest fine, and what add adds.
func and(add func(m *Module)) []byte {
	m := hooked()
	add(m)
	m.Manifest(fine)
	return m.Bytes()
}

func refusedShapes() []Refused {
	whole := with(fine)
	unmarked := &Module{}
	unmarked.Memory(1)
	unmarked.Export("memory", KindMemory, 0)
	unmarked.Hook("refusal", Const(0))
	unmarked.Manifest(fine)
	return []Refused{
		{"not-a-plugin", []byte("#!/bin/sh\n"), `is not WebAssembly (it starts with "#!/bin/s")`},
		{"truncated", whole[:len(whole)/2], "is not a valid module: "},
		{"start-section", and(func(m *Module) { m.Start(0) }), "has a start section"},
		{"command-module", and(func(m *Module) { m.Func(abi.StartExport, nil, nil, nil) }), "is a command module (it exports _start); build a reactor"},
		{"missing-memory", bare(func(*Module) {}), "has 0 memories of its own; exactly one is allowed"},
		{"imported-memory", bare(func(m *Module) { m.RawImport("env", "memory", KindMemory, []byte{0, 1}) }), "imports its memory; it must have exactly one of its own"},
		{"two-memories", and(func(m *Module) { m.Memory(1) }), "more than one memory"},
		{"missing-marker", unmarked.Bytes(), "is not an axis plugin (it does not export axis_abi_v1)"},
	}
}

func refusedManifests() []Refused {
	version := func(major, minor int, more string) []byte {
		return changed(`"major": 1, "minor": 0}`, fmt.Sprintf(`"major": %d, "minor": %d}%s`, major, minor, more))
	}
	return []Refused{
		{"no-manifest", hooked().Bytes(), "was not packed; run: axishost plugin pack"},
		{"two-manifests", and(func(m *Module) { m.Manifest(fine) }), "has 2 manifest sections; exactly one is allowed"},
		{"manifest-not-json", with("name: bad\n"), "has a bad manifest: manifest is not JSON: "},
		{"manifest-not-utf8", changed("bad", "b\xe4d"), "has a bad manifest: manifest is not UTF-8"},
		{"manifest-of-65-kib", with(fine + strings.Repeat(" ", 65<<10-len(fine))), "has a bad manifest: manifest of 66560 bytes is over the limit of 65536"},
		{"unknown-kind", changed("recipe", "agent"), `kind "agent" must be recipe, tools or both`},
		{"unknown-hook", changed("refusal", "guess"), `hook "guess" is not in ABI 1.0`},
		{"bad-semver", changed("1.0.0", "1.0"), `version "1.0" is not a semantic version such as 1.2.3`},
		{"bad-schema", changed(`"kind"`, `"config_schema": {"type": "text"}, "kind"`), "has a bad config_schema: it is no JSON Schema: "},
		{"abi-major-9", version(9, 0, ""), "needs axis ABI 9.0 (host has 1.0"},
		{"abi-minor-99-known-operation", version(1, 99, `, "requires": ["config/1"]`), "needs axis ABI 1.99 (host has 1.0"},
		{"abi-minor-99-unknown-operation", version(1, 99, `, "requires": ["time.travel/1"]`), ": missing time.travel/1; use a newer axishost"},
	}
}

func refusedBoundaries() []Refused {
	importing := func(i Import) []byte {
		m := hooked(i)
		m.Manifest(fine)
		return m.Bytes()
	}
	typed := New()
	typed.Func("axis_v1_refusal", []byte{I32}, nil, nil)
	typed.Manifest(fine)
	return []Refused{
		{"unknown-import", importing(Import{Module: "env", Name: "fetch", Params: []byte{I32}}), "imports env.fetch, which no host of ABI 1.0"},
		{"wrong-import-type", importing(Import{abi.ImportModule, abi.FuncLog, []byte{I64}, []byte{I32}}), "imports axis_v1.log as (i64) -> i32; its type is (i32, i32, i32) -> i32"},
		{"wrong-export-type", typed.Bytes(), "exports axis_v1_refusal as (i32) -> (); its type must be (i32) -> i32"},
		{"missing-declared-hook", changed(`["refusal"]`, `["refusal", "start"]`), "declares a hook and does not export axis_v1_start"},
	}
}
