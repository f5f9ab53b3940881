//go:build unix

package wasmrt

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCacheOfPipes: a pipe in the place of a file, which whoever opens it waits for, is not opened.
func TestCacheOfPipes(t *testing.T) {
	for name, of := range map[string]func(code string) string{
		"code":     func(code string) string { return code },
		"seal":     func(code string) string { return code + sealSuffix },
		"draft":    func(code string) string { return code + draftSuffix },
		"versions": filepath.Dir,
		"module":   func(code string) string { return filepath.Dir(filepath.Dir(code)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, code := cached(t)
			require.NoError(t, os.RemoveAll(of(code)))
			require.NoError(t, syscall.Mkfifo(of(code), 0o600))
			assert.Equal(t, name != "draft", compiles(t, dir))
			assert.False(t, compiles(t, dir), "it was repaired")
		})
	}
	dir := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(dir, 0o600))
	assert.True(t, compiles(t, dir))
	assert.True(t, compiles(t, dir))
}

// TestCacheThatOthersCanWrite: code that somebody else could have put there is not run. Below a root that is this
// user's alone it is compiled again, with a root that is not it stays in memory.
func TestCacheThatOthersCanWrite(t *testing.T) {
	for name, of := range map[string]func(dir, code string) string{
		"root":     func(dir, _ string) string { return dir },
		"code":     func(_, code string) string { return code },
		"seal":     func(_, code string) string { return code + sealSuffix },
		"versions": func(_, code string) string { return filepath.Dir(code) },
		"module":   func(_, code string) string { return filepath.Dir(filepath.Dir(code)) },
	} {
		for _, bit := range []os.FileMode{0o020, 0o002} {
			t.Run(name, func(t *testing.T) {
				dir, code := cached(t)
				require.NoError(t, os.Chmod(of(dir, code), 0o700|bit))
				assert.True(t, compiles(t, dir))
				assert.Equal(t, name == "root", compiles(t, dir))
			})
		}
	}
}

// TestCacheOfAnotherUser is for root, who alone can give files away.
func TestCacheOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir, code := cached(t)
	require.NoError(t, os.Chown(code, 1, 1))
	assert.True(t, compiles(t, dir))
	assert.False(t, compiles(t, dir), "it was repaired")
	require.NoError(t, os.Chown(dir, 1, 1))
	for range 2 {
		assert.True(t, compiles(t, dir))
	}
}

// TestCacheRootIsALink: where the caller's directory is a link, what it leads to counts.
func TestCacheRootIsALink(t *testing.T) {
	dir, _ := cached(t)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	assert.False(t, compiles(t, link))
}
