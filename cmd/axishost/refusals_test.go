package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/plugins/plugintest"
)

// TestRefusals: each bad plugin is refused with exit code 8 and one clear line that says what is wrong with it;
// what could be read of it is shown, with every reason, for people and for machines.
func TestRefusals(t *testing.T) {
	all := plugintest.AllRefused()
	assert.GreaterOrEqual(t, len(all), 24)
	dir, binary := t.TempDir(), builtBinary(t)
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			file := r.Name + ".wasm"
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), r.File, 0o600))
			inspect := func(more ...string) (string, string) {
				var stdout, stderr bytes.Buffer
				cmd := exec.Command(binary, append([]string{"plugin", "inspect", file}, more...)...)
				cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
				var exit *exec.ExitError
				require.ErrorAs(t, cmd.Run(), &exit)
				assert.Equal(t, exitRefused, exit.ExitCode())
				return stdout.String(), stderr.String()
			}
			shown, stderr := inspect()
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			line, err := errorLine(stderr)
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(line, "plugin "+file+" "), line)
			assert.Contains(t, line, r.Why)
			t.Log(line)

			text, stderr := inspect("--json")
			assert.Empty(t, stderr)
			var v inspectionView
			require.NoError(t, json.Unmarshal([]byte(text), &v))
			assert.False(t, v.Accepted)
			assert.Contains(t, []string{"format", "version", "import", "grant"}, v.Class)
			assert.True(t, slices.IsSorted(v.Reasons), v.Reasons)
			assert.Contains(t, line, strings.Join(v.Reasons, "; "))
			assert.Equal(t, len(v.Reasons), strings.Count(shown, "\nrefused "))
			assert.Equal(t, v.Manifest != nil, strings.HasPrefix(shown, "plugin "), shown)
			assert.Equal(t, len(v.Imports), strings.Count(shown, "\nimport "))
			assert.Equal(t, len(v.Exports), strings.Count(shown, "\nexport "))
		})
	}
}
