package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestManPages: each command has a page with examples and exit codes, the same on every day, and a formatter finds
// nothing wrong with it.
func TestManPages(t *testing.T) {
	write := func() string {
		dir := filepath.Join(t.TempDir(), "man")
		root := newRoot(&terminal{in: strings.NewReader(""), out: &results{file: os.Stdout}, err: &strings.Builder{}})
		root.SetArgs([]string{"man", dir})
		require.NoError(t, root.Execute())
		return dir
	}
	first, second := write(), write()
	root := newRoot(&terminal{})
	commands := documented(root)
	pages, err := os.ReadDir(first)
	require.NoError(t, err)
	assert.Len(t, pages, len(commands))
	assert.Greater(t, len(commands), 15)
	mandoc, _ := exec.LookPath("mandoc")
	groff, _ := exec.LookPath("groff")
	for _, cmd := range commands {
		name := filepath.Join(first, pageName(cmd)+".1")
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		again, err := os.ReadFile(filepath.Join(second, pageName(cmd)+".1"))
		require.NoError(t, err)
		assert.Equal(t, string(text), string(again))
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"} {
			assert.Contains(t, string(text), "\n.SH "+section+"\n", pageName(cmd))
		}
		assert.Contains(t, string(text), "\n    0  succeeded\n", pageName(cmd))
		assert.NotRegexp(t, `20[0-9][0-9]-|[A-Z][a-z]{2} 20[0-9][0-9]`, strings.ReplaceAll(string(text), `2026\-11\-30`, ""))
		assert.NotContains(t, string(text), "`")
		assert.NotContains(t, string(text), "####")
		for line := range strings.Lines(string(text)) {
			assert.Regexp(t, `^(\.(TH|SH|PP|EX|EE|TP|B|BR|br)\b|[^.']|$)`, line, pageName(cmd))
		}
		if cmd == commands[0] {
			assert.Contains(t, string(text), ".TP\n\\fB\\-v, \\-\\-version\\fR\n")
			for _, name := range []string{"NO_COLOR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "OPENAI_API_KEY", "AXISHOST_STORE"} {
				assert.Contains(t, string(text), ".TP\n.B "+name+"\n")
			}
			assert.Contains(t, string(text), "\n.SH ENVIRONMENT\n")
		}
		switch {
		case mandoc != "":
			out, err := exec.Command(mandoc, "-T", "lint", "-W", "error", name).CombinedOutput()
			assert.NoError(t, err, "%s", out)
		case groff != "":
			out, err := exec.Command(groff, "-man", "-Tascii", "-ww", "-z", name).CombinedOutput()
			assert.NoError(t, err, "%s", out)
			assert.Empty(t, string(out))
		}
	}
}
