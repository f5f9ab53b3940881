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

// section gives what follows a text in README.md, up to another.
func section(t *testing.T, readme, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(readme, from)
	require.True(t, found, from)
	text, _, found := strings.Cut(rest, to)
	require.True(t, found, to)
	return text
}

// TestReadme does what README.md says, to the letter and without a network: a recipe in a module of its own, and a
// configuration with everything in it.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	readme, dir := string(text), t.TempDir()
	_, recipe, _ := strings.Cut(readme, "## A recipe in ten lines")
	for name, content := range map[string]string{
		"main.go":     section(t, recipe, "```go\n", "```\n"),
		"axis.json":   section(t, recipe, "```json\n", "```\n"),
		"shout.yaml":  section(t, recipe, "```yaml\n", "```\n"),
		"config.yaml": section(t, readme[strings.Index(readme, "## Configuration"):], "```yaml\n", "```\n"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	sh := func(lines string) string {
		cmd := exec.Command("sh", "-e", "-c", lines)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off",
			"PATH="+filepath.Dir(builtBinary(t))+string(os.PathListSeparator)+os.Getenv("PATH"),
			"AXISHOST_STORE="+filepath.Join(dir, "store"), "AXISHOST_CACHE="+filepath.Join(dir, "cache"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	build := section(t, recipe, "and there:\n\n", "\n\n")
	out := sh(strings.ReplaceAll(build, "/path/to/clone", root))
	assert.Regexp(t, `packed shout\.wasm \([0-9]+ bytes\): hook direct_final, no tools\n$`, out)
	assert.NotContains(t, out, "warning")
	out = sh(`axishost run --quiet --config config.yaml --recipe shout.wasm --model script:shout.yaml "How many legs has a spider?"`)
	assert.Equal(t, "8\n", out)
	out = sh(`axishost run --quiet --config config.yaml --model script:shout.yaml "How many legs has a spider?"`)
	assert.Contains(t, out, "ANSWER 8")
	assert.NotContains(t, readme, "    bin/axishost ", "there is one way of naming the binary")
}
