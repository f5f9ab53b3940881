package plugins

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

func TestInspect(t *testing.T) {
	m := pt.New(append(pt.Host(abi.FuncLog, abi.FuncHostCall), pt.Import{Module: abi.WASIModule, Name: "proc_exit", Params: []byte{pt.I32}})...)
	m.Hook("refusal", pt.Const(0))
	m.Hook("start", pt.Const(0)) // exported, not declared
	m.Func("_initialize", nil, nil, nil)
	m.Func("ev\nil", nil, []byte{pt.I64}, pt.Const64(0))
	m.Manifest(manifest("refusal", `"requires": ["config/1"], "unheard_of": 1, `))
	b := m.Bytes()
	i, err := Inspect(b)
	require.NoError(t, err)
	sum := sha256.Sum256(b)
	assert.Equal(t, hex.EncodeToString(sum[:]), i.Digest)
	assert.Equal(t, len(b), i.Bytes)
	assert.Equal(t, b, i.File())
	assert.Equal(t, "small", i.Manifest.Name)
	assert.Equal(t, uint32(1), i.MemoryPages)
	assert.Equal(t, []string{
		"axis_v1.log(i32, i32, i32) -> i32", "axis_v1.host_call(i32, i32, i32, i32) -> i64",
		"wasi_snapshot_preview1.proc_exit(i32) -> ()",
	}, i.Imports)
	assert.Equal(t, []string{
		"axis_abi_v1() -> ()", "axis_v1_refusal(i32) -> i32", "axis_v1_start(i32) -> i32", "_initialize() -> ()",
		`ev\nil() -> i64`,
	}, i.Exports)
}

// plugin is a module with the hook refusal and its manifest, changed by change before the manifest is added.
func plugin(change func(m *pt.Module)) []byte {
	m := pt.New()
	m.Hook("refusal", pt.Const(0))
	change(m)
	m.Manifest(manifest("refusal"))
	return m.Bytes()
}

// declares is a module with the hook refusal that has that manifest.
func declares(json string) []byte {
	m := pt.New()
	m.Hook("refusal", pt.Const(0))
	m.Hook("tool_call", pt.Const(0))
	m.Manifest(json)
	return m.Bytes()
}

// imports is a plugin that imports that function.
func imports(module, name string, params, results []byte) []byte {
	m := pt.New(pt.Import{Module: module, Name: name, Params: params, Results: results})
	m.Hook("refusal", pt.Const(0))
	m.Manifest(manifest("refusal"))
	return m.Bytes()
}

type refusal struct {
	plugin []byte
	want   string
}

func (r refusal) check(t *testing.T) {
	t.Helper()
	i, err := Inspect(r.plugin)
	require.NotNil(t, i)
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.EqualError(t, err, "plugin "+r.want)
	assert.NotContains(t, err.Error(), "\n")
	p, err := Load(t.Context(), i, Options{})
	assert.Nil(t, p, "what was refused is not loaded")
	assert.Equal(t, refused, err)
}

func TestInspectStructure(t *testing.T) {
	bare := func(add func(m *pt.Module)) []byte {
		m := &pt.Module{}
		add(m)
		return m.Bytes()
	}
	for name, r := range map[string]refusal{
		"empty":         {nil, "file is empty"},
		"too large":     {make([]byte, abi.MaxModuleBytes+1), "file is over the limit of 32 MiB"},
		"text":          {[]byte("hello"), `file is not WebAssembly (it starts with "hello")`},
		"WAT":           {[]byte("(module)"), `file is not WebAssembly (it starts with "(module)")`},
		"gzip":          {[]byte("\x1f\x8b\x08\x00"), `file is not WebAssembly (it starts with "\x1f\x8b\b\x00")`},
		"component":     {[]byte("\x00asm\x0d\x00\x01\x00"), "file is a WebAssembly component; axishost runs core modules"},
		"malformed":     {pt.Binary(pt.Section(1, []byte{9})), "file is not a valid module: type section at offset 10: 9 types are announced in 0 bytes"},
		"no memory":     {pt.Binary(), "file has 0 memories of its own; exactly one is allowed"},
		"two memories":  {bare(func(m *pt.Module) { m.Memory(1); m.Memory(1) }), "file is not a valid module: memory section at offset 13: more than one memory"},
		"imported":      {bare(func(m *pt.Module) { m.RawImport("e", "m", pt.KindMemory, []byte{0, 1}) }), "file imports its memory; it must have exactly one of its own"},
		"shared memory": {bare(func(m *pt.Module) { m.RawMemory([]byte{3, 1, 2}) }), "file is not a valid module: memory section at offset 11: shared memories and tables are not supported"},
		"start section": {plugin(func(m *pt.Module) { m.Start(0) }), "file has a start section, which would run before it is judged; use _initialize"},
		"both":          {bare(func(m *pt.Module) { m.Start(m.Func("", nil, nil, nil)) }), "file has 0 memories of its own; exactly one is allowed; has a start section, which would run before it is judged; use _initialize"},
		"deep blocks": {plugin(func(m *pt.Module) {
			m.Func("", nil, nil, []byte(strings.Repeat("\x02\x40", 4000)+strings.Repeat("\x0b", 4000)))
		}),
			"file is not a valid module: code section at offset 8090: blocks are nested deeper than 4000"},
	} {
		t.Run(name, r.check)
	}
}

func TestInspectIdentity(t *testing.T) {
	twice := pt.New()
	twice.Hook("refusal", pt.Const(0))
	twice.Manifest(manifest("refusal"))
	twice.Manifest(manifest("refusal"))
	marker := func(name string) []byte {
		m := &pt.Module{}
		m.Memory(1)
		m.Func(name, nil, nil, nil)
		return m.Bytes()
	}
	version := func(v string) []byte {
		return declares(strings.Replace(manifest("refusal"), `"version": "1.0.0"`, `"version": "`+v+`"`, 1))
	}
	for name, r := range map[string]refusal{
		"no plugin":      {marker("add"), "file is not an axis plugin (it does not export axis_abi_v1); see abi/SPEC.md"},
		"other major":    {marker("axis_abi_v2"), "file is made for axis ABI 2 (host has 1.0-rc); use another axishost"},
		"command":        {marker("_start"), "file is a command module (it exports _start); build a reactor, with Go: go build -buildmode=c-shared"},
		"not packed":     {unpacked(), "file was not packed; run: axishost plugin pack --manifest axis.json FILE.wasm"},
		"packed command": {plugin(func(m *pt.Module) { m.Func("_start", nil, nil, nil) }), `"small" 1.0.0 is a command module (it exports _start); build a reactor, with Go: go build -buildmode=c-shared`},
		"two manifests":  {twice.Bytes(), "file has 2 manifest sections; exactly one is allowed"},
		"not JSON":       {declares("nonsense"), "file has a bad manifest: manifest is not JSON: invalid character 'o' in literal null (expecting 'u')"},
		"not UTF-8":      {declares("\xff"), "file has a bad manifest: manifest is not UTF-8"},
		"too long":       {declares(strings.Repeat(" ", abi.MaxManifestBytes+1)), "file has a bad manifest: manifest of 65537 bytes is over the limit of 65536"},
		"unknown hook":   {declares(manifest("guess")), `"small" 1.0.0 has a bad manifest: hook "guess" is not in ABI 1.0-rc`},
		"unknown kind":   {declares(strings.Replace(manifest("refusal"), "recipe", "agent", 1)), `"small" 1.0.0 has a bad manifest: kind "agent" must be recipe, tools or both`},
		"bad version":    {version("1.0"), `"small" 1.0 has a bad manifest: version "1.0" is not a semantic version such as 1.2.3`},
		"forged version": {version(`1\nplugin \"good\" accepted\u001b[2K`), `"small" 1\nplugin \"good\" accepted\x1b[2K has a bad manifest: version "1\nplugin \"good\" accepted\x1b[2K" is not a semantic version such as 1.2.3`},
		"two problems":   {declares(manifest("guess", `"conversation": 1, `)), `"small" 1.0.0 has a bad manifest: conversation must be an object; has a bad manifest: hook "guess" is not in ABI 1.0-rc`},
	} {
		t.Run(name, r.check)
	}
}

func TestInspectVersion(t *testing.T) {
	needs := func(major, minor int, more string) []byte {
		old := `"abi": {"major": 1, "minor": 0}`
		return declares(strings.Replace(manifest("refusal", more), old, fmt.Sprintf(`"abi": {"major": %d, "minor": %d}`, major, minor), 1))
	}
	for name, r := range map[string]refusal{
		"major 9":          {needs(9, 0, ""), `"small" 1.0.0 needs axis ABI 9.0 (host has 1.0-rc); use another axishost`},
		"minor 99":         {needs(1, 99, ""), `"small" 1.0.0 needs axis ABI 1.99 (host has 1.0-rc); use a newer axishost`},
		"minor, known":     {needs(1, 99, `"requires": ["config/1"], `), `"small" 1.0.0 needs axis ABI 1.99 (host has 1.0-rc); use a newer axishost`},
		"minor, unknown":   {needs(1, 4, `"requires": ["kv.watch/1", "config/1"], `), `"small" 1.0.0 needs axis ABI 1.4 (host has 1.0-rc): missing kv.watch/1; use a newer axishost`},
		"unserved":         {needs(1, 0, `"requires": ["kv.get/1"], `), `"small" 1.0.0 requires kv.get/1, which ABI 1.0-rc specifies and this host does not serve yet`},
		"unknown":          {needs(1, 0, `"requires": ["b.x/1", "a.x/1"], `), `"small" 1.0.0 requires a.x/1, which is not in ABI 1.0-rc; requires b.x/1, which is not in ABI 1.0-rc`},
		"unserved hook":    {declares(manifest("refusal score")), `"small" 1.0.0 declares hook score, which ABI 1.0-rc specifies and this host does not call yet`},
		"all of one check": {declares(manifest("retrieve score", `"requires": ["kv.get/1"], `)), `"small" 1.0.0 declares hook retrieve, which ABI 1.0-rc specifies and this host does not call yet; declares hook score, which ABI 1.0-rc specifies and this host does not call yet; requires kv.get/1, which ABI 1.0-rc specifies and this host does not serve yet`},
	} {
		t.Run(name, r.check)
	}
	t.Run("every effect", func(t *testing.T) {
		for _, effect := range []abi.Effect{abi.EffectPure, abi.EffectRead, abi.EffectIdempotent, abi.EffectWrite} {
			_, err := Inspect(declares(strings.Replace(toolManifest(""), "pure", string(effect), 1)))
			assert.NoError(t, err)
		}
	})
	t.Run("optional is optional", func(t *testing.T) {
		_, err := Inspect(needs(1, 0, `"optional": ["http.fetch/1", "kv.get/1", "nonsense/7"], `))
		assert.NoError(t, err)
	})
}

func TestInspectBoundary(t *testing.T) {
	i32 := func(n int) []byte { return []byte(strings.Repeat(string([]byte{pt.I32}), n)) }
	hook := func(params, results []byte, code []byte) []byte {
		m := pt.New()
		m.Func("axis_v1_refusal", params, results, code)
		m.Manifest(manifest("refusal"))
		return m.Bytes()
	}
	for name, r := range map[string]refusal{
		"unknown module":      {imports("env", "_Znwm", i32(1), i32(1)), `"small" 1.0.0 imports env._Znwm, which no host of ABI 1.0-rc gives`},
		"unknown function":    {imports("axis_v1", "sleep", nil, nil), `"small" 1.0.0 imports axis_v1.sleep, which no host of ABI 1.0-rc gives`},
		"file system":         {imports("wasi_snapshot_preview1", "path_open", i32(1), i32(1)), `"small" 1.0.0 imports wasi_snapshot_preview1.path_open, which no host of ABI 1.0-rc gives`},
		"forged name":         {imports("env", "x\nok \"", nil, nil), `"small" 1.0.0 imports env.x\nok \", which no host of ABI 1.0-rc gives`},
		"import type":         {imports("axis_v1", "log", i32(2), i32(1)), `"small" 1.0.0 imports axis_v1.log as (i32, i32) -> i32; its type is (i32, i32, i32) -> i32`},
		"import result":       {imports("axis_v1", "host_call", i32(4), i32(1)), `"small" 1.0.0 imports axis_v1.host_call as (i32, i32, i32, i32) -> i32; its type is (i32, i32, i32, i32) -> i64`},
		"import kind":         {plugin(func(m *pt.Module) { m.RawImport("axis_v1", "log", pt.KindGlobal, []byte{pt.I32, 0}) }), `"small" 1.0.0 imports axis_v1.log as a global; it is a function`},
		"hook without result": {hook(i32(1), nil, nil), `"small" 1.0.0 exports axis_v1_refusal as (i32) -> (); its type must be (i32) -> i32`},
		"hook without input":  {hook(nil, i32(1), pt.Const(0)), `"small" 1.0.0 exports axis_v1_refusal as () -> i32; its type must be (i32) -> i32`},
		"hook is a memory": {func() []byte {
			m := pt.New()
			m.Export("axis_v1_refusal", pt.KindMemory, 0)
			m.Manifest(manifest("refusal"))
			return m.Bytes()
		}(), `"small" 1.0.0 exports axis_v1_refusal as a memory; it must be a function`},
		"hook missing":     {declares(manifest("refusal start")), `"small" 1.0.0 declares a hook and does not export axis_v1_start`},
		"initialiser type": {plugin(func(m *pt.Module) { m.Func("_initialize", i32(1), nil, nil) }), `"small" 1.0.0 exports _initialize as (i32) -> (); its type must be () -> ()`},
		"memory too large": {declares(manifest("refusal", `"limits": {"memory_bytes": 1}, `)), `"small" 1.0.0 starts with 64 KiB of memory, over its limit of 1 bytes; ask for more with limits.memory_bytes in the manifest`},
		"marker type": {func() []byte {
			m := &pt.Module{}
			m.Memory(1)
			m.Export("memory", pt.KindMemory, 0)
			m.Func("axis_abi_v1", nil, i32(1), pt.Const(0))
			m.Hook("refusal", pt.Const(0))
			m.Manifest(manifest("refusal"))
			return m.Bytes()
		}(), `"small" 1.0.0 exports axis_abi_v1 as () -> i32; its type must be () -> ()`},
		"memory not exported": {func() []byte {
			m := &pt.Module{}
			m.Memory(1)
			m.Func("axis_abi_v1", nil, nil, nil)
			m.Func("memory", nil, nil, nil)
			m.Hook("refusal", pt.Const(0))
			m.Manifest(manifest("refusal"))
			return m.Bytes()
		}(), `"small" 1.0.0 does not export its memory as "memory"`},
		"all at once": {func() []byte {
			m := pt.New(pt.Import{Module: "env", Name: "b"}, pt.Import{Module: "env", Name: "a"}, pt.Import{Module: "env", Name: "a"})
			m.Manifest(manifest("refusal start"))
			return m.Bytes()
		}(), `"small" 1.0.0 declares a hook and does not export axis_v1_refusal; declares a hook and does not export axis_v1_start; imports env.a, which no host of ABI 1.0-rc gives; imports env.b, which no host of ABI 1.0-rc gives`},
	} {
		t.Run(name, r.check)
	}
}

// TestInspectOrder breaks a rule of each check and all the later ones: the earlier check answers.
func TestInspectOrder(t *testing.T) {
	build := func(m *pt.Module, json string) []byte {
		m.Hook("refusal", pt.Unreachable())
		m.Manifest(json)
		return m.Bytes()
	}
	foreign := pt.Import{Module: "env", Name: "f"}
	newer := strings.Replace(manifest("refusal score"), `"minor": 0`, `"minor": 9`, 1)
	started := pt.New(foreign)
	started.Start(0)
	for name, r := range map[string]refusal{
		"structure, then manifest": {build(started, "nonsense"), "file has a start section, which would run before it is judged; use _initialize"},
		"manifest, then version":   {build(pt.New(foreign), strings.Replace(newer, "small", "", 1)), `file has a bad manifest: name "" must be 1 to 64 of a-z 0-9 _ -`},
		"version, then needs":      {build(pt.New(foreign), newer), `"small" 1.0.0 needs axis ABI 1.9 (host has 1.0-rc); use a newer axishost`},
		"needs, then boundary":     {build(pt.New(foreign), manifest("refusal score")), `"small" 1.0.0 declares hook score, which ABI 1.0-rc specifies and this host does not call yet`},
		"boundary":                 {build(pt.New(foreign), manifest("refusal")), `"small" 1.0.0 imports env.f, which no host of ABI 1.0-rc gives`},
	} {
		t.Run(name, r.check)
	}
}

// TestRefusedManifestIsRead: what can be read of a module that is refused for its shape is read.
func TestRefusedManifestIsRead(t *testing.T) {
	m := &pt.Module{}
	m.Func("axis_abi_v1", nil, nil, nil)
	m.Manifest(manifest("refusal"))
	i, err := Inspect(m.Bytes())
	require.EqualError(t, err, "plugin file has 0 memories of its own; exactly one is allowed")
	require.NotNil(t, i.Manifest)
	assert.Equal(t, "small", i.Manifest.Name)
	assert.Equal(t, []string{"axis_abi_v1() -> ()"}, i.Exports)
}

// TestRefusalIsBounded: a module with thousands of faults is refused in a line that can be read.
func TestRefusalIsBounded(t *testing.T) {
	var all []pt.Import
	for n := range 5000 {
		all = append(all, pt.Import{Module: "env", Name: fmt.Sprintf("%04d%s", n, strings.Repeat("x", 1000))})
	}
	m := pt.New(all...)
	m.Hook("refusal", pt.Const(0))
	m.Manifest(manifest("refusal"))
	_, err := Inspect(m.Bytes())
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	assert.Len(t, refused.Reasons, 5000)
	assert.Less(t, len(err.Error()), 4000)
	assert.True(t, strings.HasSuffix(err.Error(), "; and 4980 more"))
}

// TestInspectInvalid: types inside a function body are judged before anything is compiled.
func TestInspectInvalid(t *testing.T) {
	b := plugin(func(m *pt.Module) { m.Func("", nil, []byte{pt.I32}, pt.Const64(1)) })
	i, err := Inspect(b)
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	assert.EqualError(t, err, "plugin file is not a valid module: code section at offset 93: instruction 0xb takes i32 and finds i64")
	_, err = Load(t.Context(), i, Options{})
	assert.Equal(t, refused, err)
}

// TestInspectIsLinear: a small module that has as many imports and exports of as long a type as it may is judged in
// memory of that order, and not of the product.
func TestInspectIsLinear(t *testing.T) {
	long := bytes.Repeat([]byte{pt.ExternRef}, 1000)
	m := &pt.Module{}
	m.Memory(1)
	wide := m.Type(long, long)
	for range 9_999 {
		m.RawImport("e", "f", pt.KindFunc, pt.U32(wide))
	}
	for n := range 9_998 {
		m.Export(strconv.Itoa(n), pt.KindFunc, 0)
	}
	m.Export("axis_abi_v1", pt.KindFunc, 0)
	m.Export("axis_v1_refusal", pt.KindFunc, 0)
	m.Manifest(manifest("refusal"))
	b := m.Bytes()
	require.Less(t, len(b), 250_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	i, err := Inspect(b)
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "imports e.f, which no host")
	assert.Equal(t, "e.f(externref"+strings.Repeat(", externref", 15)+", … 984 more) -> externref"+strings.Repeat(", externref", 15)+", … 984 more", i.Imports[0])
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
}
