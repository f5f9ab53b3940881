package sealed

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewKeyFile(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	require.NoError(t, NewKeyFile(one))
	require.NoError(t, NewKeyFile(two))
	a, err := ReadKeyFile(one)
	require.NoError(t, err)
	b, err := ReadKeyFile(two)
	require.NoError(t, err)
	require.NotEqual(t, a.secret(), b.secret())
	require.NotEqual(t, a.ID(), b.ID())

	info, err := os.Stat(one)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	text, err := os.ReadFile(one)
	require.NoError(t, err)
	require.Regexp(t, `^axishost-key-1:[A-Za-z0-9+/]{43}=\n$`, string(text))

	err = NewKeyFile(one)
	require.ErrorIs(t, err, fs.ErrExist)
	require.ErrorContains(t, err, "name another path")
	again, err := os.ReadFile(one)
	require.NoError(t, err)
	require.Equal(t, text, again)

	require.NoError(t, NewKeyFile(filepath.Join(dir, "new", "place", "key")), "the directories are made")
	err = NewKeyFile(filepath.Join(one, "key"))
	require.ErrorIs(t, err, syscall.ENOTDIR)
	require.Equal(t, 1, strings.Count(err.Error(), one), "the path is said once: %v", err)
}

func TestKeyFileText(t *testing.T) {
	right := string(formatKey(*testKey(7)))
	encoded := func(n int) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, n)) }
	for _, tc := range []struct {
		name, text string
		want       string // part of the error; "" for a key file
	}{
		{"as made", right, ""},
		{"without a line break", strings.TrimSpace(right), ""},
		{"line break of another system", strings.TrimSpace(right) + "\r\n", ""},
		{"empty", "", "it is empty"},
		{"empty line", "\n", "it is empty"},
		{"base64 alone", encoded(32) + "\n", "it is not a key file, which is one line: axishost-key-1:, and the key in base64"},
		{"an identity of age", "AGE-SECRET-KEY-1QQQQQQQQ\n", "it is not a key file"},
		{"no version", "axishost-key-:" + encoded(32), "it is not a key file"},
		{"a secret for a version", "axishost-key-SECRET:" + encoded(32), "it is not a key file"},
		{"a long version", "axishost-key-12345:" + encoded(32), "it is not a key file"},
		{"no colon", "axishost-key-1", "it is not a key file"},
		{"newer", "axishost-key-2:xyz\n", "it has version 2 and this axishost reads version 1: use a newer axishost"},
		{"no key", "axishost-key-1:\n", "its key has 0 bytes and needs 32"},
		{"short", "axishost-key-1:" + encoded(31) + "\n", "its key has 31 bytes and needs 32"},
		{"long", "axishost-key-1:" + encoded(33) + "\n", "its key has 33 bytes and needs 32"},
		{"cut off", right[:len(right)-4], "its key is not one line of base64"},
		{"not base64", "axishost-key-1:SECRET SECRET\n", "its key is not one line of base64"},
		{"bits left over", strings.Replace(right, "c=", "d=", 1), "its key is not one line of base64"},
		{"two lines", right + "\n", "its key is not one line of base64"},
		{"a line break within", right[:30] + "\n" + right[30:], "its key is not one line of base64"},
		{"too large", right + strings.Repeat("#", maxKeyFile), "it is not a key file: it has more than 256 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "key")
			require.NoError(t, os.WriteFile(path, []byte(tc.text), 0o600))
			k, err := ReadKeyFile(path)
			if tc.want == "" {
				require.NoError(t, err)
				require.Equal(t, testKey(7).secret(), k.secret())
				return
			}
			require.ErrorContains(t, err, "key file "+path+": "+tc.want)
			for _, leak := range []string{"SECRET", "QQQ", "BwcH", "\n"} {
				require.NotContains(t, err.Error(), leak)
			}
		})
	}
}

func TestKeyFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	made := func(name string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, NewKeyFile(path))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(made("target", 0o600), link))
	for _, tc := range []struct{ path, want string }{
		{made("own", 0o600), ""},
		{made("read-only", 0o400), ""},
		{link, ""},
		{made("group", 0o640), "its mode is 0640, and only its owner may have access: chmod 600 " + filepath.Join(dir, "group")},
		{made("others", 0o604), "its mode is 0604"},
		{made("writable", 0o620), "chmod 600"},
		{dir, "it is a directory"},
		{pipe, "it is not a regular file"},
		{filepath.Join(dir, "missing"), "no such file"},
		{filepath.Join(dir, "own", "below"), "not a directory"},
	} {
		_, err := ReadKeyFile(tc.path)
		if tc.want == "" {
			require.NoError(t, err, tc.path)
			continue
		}
		require.ErrorContains(t, err, "key file "+tc.path+": ")
		require.ErrorContains(t, err, tc.want)
	}
	_, err := ReadKeyFile(filepath.Join(dir, "missing"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}
