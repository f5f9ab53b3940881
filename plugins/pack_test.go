package plugins

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

func unpacked() []byte {
	m := pt.New()
	m.Hook("refusal", pt.Const(0))
	return m.Bytes()
}

func TestPack(t *testing.T) {
	want := manifest("refusal")
	module := unpacked()
	packed, err := Pack(module, []byte(want), PackOptions{})
	require.NoError(t, err)
	i, err := Inspect(packed)
	require.NoError(t, err)
	assert.Equal(t, "small", i.Manifest.Name)
	assert.True(t, strings.HasSuffix(string(packed), want), "the manifest is put in verbatim")
	assert.Equal(t, unpacked(), module, "the module is not changed")

	again, err := Pack(packed, []byte(want), PackOptions{})
	require.ErrorIs(t, err, ErrPacked)
	assert.Nil(t, again)

	other := strings.Replace(want, "small", "other", 1)
	replaced, err := Pack(packed, []byte(other), PackOptions{Replace: true})
	require.NoError(t, err)
	i, err = Inspect(replaced)
	require.NoError(t, err)
	assert.Equal(t, "other", i.Manifest.Name)

	fresh, err := Pack(module, []byte(other), PackOptions{Replace: true})
	require.NoError(t, err)
	assert.Equal(t, replaced, fresh, "nothing of the first manifest is left")
}

// TestPackReplacesAll: a module that was given two manifests by other means is mended.
func TestPackReplacesAll(t *testing.T) {
	m := pt.New()
	m.Hook("refusal", pt.Const(0))
	m.Manifest("{}")
	m.Manifest("not even JSON")
	packed, err := Pack(m.Bytes(), []byte(manifest("refusal")), PackOptions{Replace: true})
	require.NoError(t, err)
	_, err = Inspect(packed)
	assert.NoError(t, err)
}

func TestPackRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		module   []byte
		manifest string
		want     string
	}{
		"empty module":      {nil, manifest("refusal"), "plugin file is empty"},
		"text":              {[]byte("package main"), manifest("refusal"), `plugin file is not WebAssembly (it starts with "package ")`},
		"truncated":         {unpacked()[:30], manifest("refusal"), "plugin file is not a valid module: export section at offset 30: ends too early"},
		"not JSON":          {unpacked(), "{", "manifest: manifest is not JSON: unexpected end of JSON input"},
		"two problems":      {unpacked(), `{"abi": {"major": 1, "minor": 0}, "name": "A", "version": "1.0.0", "kind": "x"}`, `manifest: name "A" must be 1 to 64 of a-z 0-9 _ -; kind "x" must be recipe, tools or both`},
		"hook not exported": {unpacked(), manifest("refusal start"), `plugin "small" 1.0.0 declares a hook and does not export axis_v1_start`},
		"manifest too long": {unpacked(), manifest("refusal", `"license": "`+strings.Repeat("x", abi.MaxManifestBytes)+`", `), "manifest: manifest of 65661 bytes is over the limit of 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			packed, err := Pack(tt.module, []byte(tt.manifest), PackOptions{})
			assert.EqualError(t, err, tt.want)
			assert.Nil(t, packed)
		})
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	text := write("text.wasm", "hello")
	b, err := ReadFile(text)
	require.NoError(t, err)
	assert.Equal(t, "hello", string(b))
	_, err = Inspect(b)
	assert.EqualError(t, err, `plugin file is not WebAssembly (it starts with "hello")`)

	large := write("large.wasm", "")
	require.NoError(t, os.Truncate(large, abi.MaxModuleBytes+1000))
	b, err = ReadFile(large)
	require.NoError(t, err)
	assert.Len(t, b, abi.MaxModuleBytes+1, "no more is read than tells that it is too large")
	i, err := Inspect(b)
	assert.EqualError(t, err, "plugin file is over the limit of 32 MiB")
	assert.Zero(t, i.Bytes, "what was read says nothing of the file")
	assert.Empty(t, i.Digest)

	for path, want := range map[string]string{
		filepath.Join(dir, "missing.wasm"): "does not exist; build it first, or check the path",
		filepath.Join(text, "below"):       "cannot be read: not a directory",
		dir:                                "is a directory; give the .wasm file in it",
		os.DevNull:                         "is not a regular file",
	} {
		b, err := ReadFile(path)
		assert.Nil(t, b)
		var refused *RefusedError
		require.ErrorAs(t, err, &refused)
		assert.EqualError(t, err, "plugin "+path+" "+want)
		assert.Empty(t, refused.Class)
	}
}
