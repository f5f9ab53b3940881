package wasmbin

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// goGuest builds the recipe lookup, a guest of 3.5 MB in stock Go.
func goGuest(t testing.TB) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "lookup.wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-o", out, "github.com/axishost/axishost/recipes/lookup")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	b, err := os.ReadFile(out)
	require.NoError(t, err)
	return b
}

func BenchmarkParse(b *testing.B) {
	module := goGuest(b)
	b.SetBytes(int64(len(module)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(module); err != nil {
			b.Fatal(err)
		}
	}
}

// TestParseAllocations: nothing is allocated for an instruction.
func TestParseAllocations(t *testing.T) {
	module := goGuest(t)
	var m *Module
	allocations := testing.AllocsPerRun(2, func() {
		var err error
		m, err = Parse(module)
		require.NoError(t, err)
	})
	t.Logf("%.0f allocations for %d functions in %d bytes", allocations, m.Functions, len(module))
	require.Less(t, allocations, 1000.0)
}
