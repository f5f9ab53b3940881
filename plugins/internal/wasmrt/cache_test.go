package wasmrt

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
	for _, file := range (codeCache{dir}).files() {
		if !strings.HasSuffix(file, sealSuffix) {
			require.Empty(t, code, "one module has one file")
			code = file
		}
	}
	require.FileExists(t, code)
	return dir, code
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

func TestCacheOfOddFiles(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, code string){
		"empty":         func(t *testing.T, code string) { require.NoError(t, os.Truncate(code, 0)) },
		"cut short":     func(t *testing.T, code string) { require.NoError(t, os.Truncate(code, 30)) },
		"longer":        func(t *testing.T, code string) { require.NoError(t, os.Truncate(code, 100_000)) },
		"not sealed":    func(t *testing.T, code string) { require.NoError(t, os.Remove(code+sealSuffix)) },
		"bad seal":      func(t *testing.T, code string) { require.NoError(t, os.WriteFile(code+sealSuffix, []byte("0"), 0o600)) },
		"gone":          func(t *testing.T, code string) { require.NoError(t, os.Remove(code)) },
		"other content": func(t *testing.T, code string) { require.NoError(t, os.WriteFile(code, []byte("WAZEVO"), 0o600)) },
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

// TestCacheThatCannotBeRepaired: what stands in the way of the code and cannot be removed costs time, and no more.
func TestCacheThatCannotBeRepaired(t *testing.T) {
	dir, code := cached(t)
	require.NoError(t, os.Remove(code))
	require.NoError(t, os.MkdirAll(filepath.Join(code, "below"), 0o700))
	for range 2 {
		assert.True(t, compiles(t, dir))
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

// TestCacheThatAllCanWrite: code from a directory in which anybody can put some is not run.
func TestCacheThatAllCanWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such permissions")
	}
	dir, _ := cached(t)
	require.NoError(t, os.Chmod(dir, 0o777))
	for range 2 {
		assert.True(t, compiles(t, dir))
	}
}
