package wasmbin

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
)

// specModules lists the modules of the specification's own tests, which lie in wazero's source.
func specModules(t testing.TB) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Skip("the source of wazero is not in the module cache")
	}
	var files []string
	for _, version := range []string{"v1", "v2"} {
		root := filepath.Join(dir, "internal", "integration_test", "spectest", version, "testdata")
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".wasm" {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Skipf("the source of wazero comes without the specification's tests: %v", err)
		}
	}
	return files
}

// TestSpecModules: wasmbin and wazero accept the same modules of the specification's tests.
func TestSpecModules(t *testing.T) {
	files := specModules(t)
	require.Greater(t, len(files), 1000)
	r := newReferee(t)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		r.judge(t, filepath.Base(file), b)
	}
	t.Logf("%d modules: %v %v", len(files), r.counts, r.exceptions)
	assert.Greater(t, r.counts["accepted by both"], 500)
	assert.Greater(t, r.counts["refused by both"], 500)
	// All of these take a constant from a mutable global. The specification's tests call them invalid.
	assert.ElementsMatch(t, r.exceptions, []string{"data.57.wasm", "data.60.wasm", "elem.47.wasm", "elem.50.wasm", "global.22.wasm"})
}

// compareBoundary compares the functions that cross the boundary with what wazero read.
func compareBoundary(t *testing.T, file string, m *Module, compiled wazero.CompiledModule) {
	t.Helper()
	imports := compiled.ImportedFunctions()
	for _, imp := range m.Imports {
		if imp.Kind != ExternFunc {
			continue
		}
		require.NotEmpty(t, imports, file)
		module, name, _ := imports[0].Import()
		assert.Equal(t, [2]string{imp.Module, imp.Name}, [2]string{module, name}, file)
		assert.Len(t, imp.Type.Params, len(imports[0].ParamTypes()), file)
		assert.Len(t, imp.Type.Results, len(imports[0].ResultTypes()), file)
		imports = imports[1:]
	}
	assert.Empty(t, imports, file)
	exports := compiled.ExportedFunctions()
	for _, e := range m.Exports {
		if e.Kind != ExternFunc {
			continue
		}
		theirs := exports[e.Name]
		if assert.NotNil(t, theirs, "%s: export %q", file, e.Name) {
			assert.Len(t, e.Type.Params, len(theirs.ParamTypes()), file)
			assert.Len(t, e.Type.Results, len(theirs.ResultTypes()), file)
		}
		delete(exports, e.Name)
	}
	assert.Empty(t, exports, file)
}
