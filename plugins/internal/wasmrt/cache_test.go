package wasmrt

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pt "github.com/axishost/axishost/plugins/plugintest"
)

// compiles makes an instance with a cache, asks it, and tells whether it was compiled.
func compiles(t *testing.T, dir string) (compiled bool) {
	t.Helper()
	opts := host(identity)
	opts.CacheDir, opts.Compiling = dir, func() { compiled = true }
	m, err := Compile(t.Context(), guest(pt.Const(7)).Bytes(), opts)
	require.NoError(t, err)
	i, err := m.Instantiate(t.Context(), nil)
	require.NoError(t, err)
	got, err := i.Call(t.Context(), run, 0)
	require.NoError(t, err)
	assert.Equal(t, int32(7), got)
	i.Close()
	require.NoError(t, m.Close(t.Context()))
	return compiled
}

// cached makes a cache of one module, and gives the file of its code.
func cached(t *testing.T) (dir, code string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "cache [1] *?")
	require.True(t, compiles(t, dir), "first use")
	require.False(t, compiles(t, dir), "second use")
	files, ok := newCodeCache(dir, guest(pt.Const(7)).Bytes()).files()
	require.True(t, ok)
	require.Len(t, files, 1, "one module has one file")
	return dir, files[0]
}

func TestCacheIsNotNeeded(t *testing.T) {
	assert.True(t, compiles(t, ""))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.True(t, compiles(t, file))
	assert.True(t, compiles(t, filepath.Join(file, "below")))
}

// TestCacheIsRepaired damages each byte of compiled code, which wazero would take lengths and addresses from: it is
// compiled again, once.
func TestCacheIsRepaired(t *testing.T) {
	dir, code := cached(t)
	whole, err := os.ReadFile(code)
	require.NoError(t, err)
	for at := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= byte(1 + at%255)
		require.NoError(t, os.WriteFile(code, damaged, 0o600))
		require.True(t, compiles(t, dir), "byte %d", at)
	}
	assert.False(t, compiles(t, dir))
	again, err := os.ReadFile(code)
	require.NoError(t, err)
	assert.Equal(t, whole, again, "a compilation gives the same code")
	t.Logf("each of %d bytes", len(whole))
}

// move puts what is at path elsewhere, and something that leads there in its place.
func move(t *testing.T, path string, link func(from, to string) error) {
	t.Helper()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.Rename(path, elsewhere))
	require.NoError(t, link(elsewhere, path))
}

// TestCacheOfOddFiles: whatever stands in the place of code or of its checksum is neither read nor waited for, and is
// made good.
func TestCacheOfOddFiles(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, code string){
		"empty":         func(t *testing.T, code string) { require.NoError(t, os.Truncate(code, 0)) },
		"cut short":     func(t *testing.T, code string) { require.NoError(t, os.Truncate(code, 30)) },
		"longer":        func(t *testing.T, code string) { require.NoError(t, os.Truncate(code, 100_000)) },
		"not sealed":    func(t *testing.T, code string) { require.NoError(t, os.Remove(code+sealSuffix)) },
		"bad seal":      func(t *testing.T, code string) { require.NoError(t, os.WriteFile(code+sealSuffix, []byte("0"), 0o600)) },
		"gone":          func(t *testing.T, code string) { require.NoError(t, os.Remove(code)) },
		"other content": func(t *testing.T, code string) { require.NoError(t, os.WriteFile(code, []byte("WAZEVO"), 0o600)) },
		"far too long":  func(t *testing.T, code string) { require.NoError(t, os.Truncate(code, 20<<30)) },
		"long seal":     func(t *testing.T, code string) { require.NoError(t, os.Truncate(code+sealSuffix, 8<<30)) },
		"a link":        func(t *testing.T, code string) { move(t, code, os.Symlink) },
		"a linked seal": func(t *testing.T, code string) { move(t, code+sealSuffix, os.Symlink) },
		"linked versions": func(t *testing.T, code string) {
			move(t, filepath.Dir(code), os.Symlink)
		},
		"a linked module": func(t *testing.T, code string) {
			move(t, filepath.Dir(filepath.Dir(code)), os.Symlink)
		},
		"a directory": func(t *testing.T, code string) {
			require.NoError(t, os.Remove(code))
			require.NoError(t, os.MkdirAll(filepath.Join(code, "below"), 0o700))
		},
		"a directory of a seal": func(t *testing.T, code string) {
			require.NoError(t, os.Remove(code+sealSuffix))
			require.NoError(t, os.MkdirAll(filepath.Join(code+sealSuffix, "below"), 0o700))
		},
		"a file of versions": func(t *testing.T, code string) {
			require.NoError(t, os.RemoveAll(filepath.Dir(code)))
			require.NoError(t, os.WriteFile(filepath.Dir(code), nil, 0o600))
		},
		"an empty directory": func(t *testing.T, code string) {
			require.NoError(t, os.Remove(code))
			require.NoError(t, os.Mkdir(code, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, code := cached(t)
			damage(t, code)
			assert.True(t, compiles(t, dir))
			assert.False(t, compiles(t, dir), "it was repaired")
		})
	}
}

// TestCacheDrafts: what an interrupted compilation left is not taken for code, and goes when nobody can be
// writing it any more.
func TestCacheDrafts(t *testing.T) {
	dir, code := cached(t)
	young, old := code+".1"+draftSuffix, code+".2"+draftSuffix
	require.NoError(t, os.Rename(code, young))
	require.NoError(t, os.WriteFile(old, nil, 0o600))
	long := time.Now().Add(-2 * draftAge)
	require.NoError(t, os.Chtimes(old, long, long))
	assert.True(t, compiles(t, dir))
	assert.FileExists(t, young)
	assert.NoFileExists(t, old)
}

// TestCodeIsWithinItsCap: of a module whose code is as long for its size as can be, it is kept.
func TestCodeIsWithinItsCap(t *testing.T) {
	const n = 50_000
	repeat := func(item ...byte) []byte { return bytes.Repeat(item, n) }
	binary := pt.Binary(pt.Section(1, pt.Vec(pt.FuncType(nil, nil))), pt.Section(3, pt.U32(n), repeat(0)), pt.Section(10, pt.U32(n), repeat(2, 0, 0x0b)))
	dir := filepath.Join(t.TempDir(), "cache")
	m, err := Compile(t.Context(), binary, Options{CacheDir: dir})
	require.NoError(t, err)
	require.NoError(t, m.Close(t.Context()))
	cache := newCodeCache(dir, binary)
	files, _ := cache.files()
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	t.Logf("%d bytes of code, %d for each of the module's", info.Size(), info.Size()/int64(len(binary)))
	assert.True(t, cache.sealed(files[0]))
}
