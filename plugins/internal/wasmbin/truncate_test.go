package wasmbin

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTruncated cuts a module with every section at each byte: it parses only where a section ends.
func TestTruncated(t *testing.T) {
	b := sample()
	whole, err := Parse(b)
	require.NoError(t, err)
	for n := range b {
		m, err := Parse(b[:n:n])
		boundary := n == 8 || slices.ContainsFunc(whole.sections, func(s section) bool { return s.end == n })
		switch {
		case n < 8:
			assert.ErrorIs(t, err, ErrNotWasm, "cut at %d", n)
		case err == nil:
			assert.True(t, boundary, "a module cut at %d parses", n)
			assert.NotNil(t, m)
		default:
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.LessOrEqual(t, e.Offset, n)
		}
	}
}

// TestMutated changes bytes of a module, by a fixed seed: an error or a module, never a panic.
func TestMutated(t *testing.T) {
	b := sample()
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 20_000 {
		mutant := slices.Clone(b)
		for range 1 + random.IntN(3) {
			mutant[random.IntN(len(mutant))] = byte(random.Uint32())
		}
		checkParsed(t, mutant, &refused)
	}
	assert.NotZero(t, refused)
	assert.Less(t, refused, 20_000)
}

// checkParsed parses b, and when that works checks what must hold of any module: the edits give modules that
// parse, with what they are to have.
func checkParsed(t *testing.T, b []byte, refused *int) {
	t.Helper()
	m, err := Parse(b)
	if err != nil {
		*refused++
		return
	}
	appended, err := Parse(m.AppendCustom("axis.test", []byte("data")))
	if len(m.Customs) < maxCustoms {
		require.NoError(t, err)
		assert.Equal(t, Custom{Name: "axis.test", Data: []byte("data")}, appended.Customs[len(appended.Customs)-1])
		without, err := Parse(appended.WithoutCustom("axis.test"))
		require.NoError(t, err)
		assert.Equal(t, m.Exports, without.Exports)
	}
	rewritten, names := m.ExportGlobals()
	exported, err := Parse(rewritten)
	if len(m.Exports)+len(names) <= maxItems {
		require.NoError(t, err)
		assert.Len(t, exported.Exports, len(m.Exports)+len(names))
		assert.Equal(t, m.Restorable(), exported.Restorable())
	}
	stripped, err := Parse(m.Strip(m.CapTables(b)))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(stripped.Customs), 1)
	assert.Equal(t, m.Imports, stripped.Imports)
}

func FuzzParse(f *testing.F) {
	b := sample()
	f.Add(b)
	f.Add(everything())
	for _, n := range []int{0, 4, 8, 9, len(b) / 2, len(b) - 1} {
		f.Add(b[:n])
	}
	f.Add([]byte("\x00asm\x0d\x00\x01\x00"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x01\x80\x80\x80\x80\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var refused int
		checkParsed(t, b, &refused)
	})
}
