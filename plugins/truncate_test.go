package plugins

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sectionEnds lists the offsets at which sections of a well-formed module end.
func sectionEnds(b []byte) (ends []int) {
	for pos := 8; pos < len(b); {
		size, n := binary.Uvarint(b[pos+1:])
		pos += 1 + n + int(size)
		ends = append(ends, pos)
	}
	return ends
}

// TestTruncatedSmall cuts a plugin with every kind of section at each byte: only the whole is accepted, or a cut
// right before a last section that says nothing to the host.
func TestTruncatedSmall(t *testing.T) {
	for _, b := range bases() {
		ends := sectionEnds(b.file)
		for n := range len(b.file) + 1 {
			i, err := Inspect(b.file[:n:n])
			require.NotNil(t, i)
			if n == len(b.file) || b.name == "whole" && n == ends[len(ends)-2] {
				require.NoError(t, err, "%s cut at %d of %d", b.name, n, len(b.file))
				continue
			}
			var refused *RefusedError
			require.ErrorAs(t, err, &refused, "%s cut at %d of %d", b.name, n, len(b.file))
			requireOneLine(t, err)
		}
	}
}

// TestTruncatedGuest cuts a packed Go guest around each end of a section and at random places: it is refused, in
// one line, wherever the cut is.
func TestTruncatedGuest(t *testing.T) {
	b := behave(t)
	var cuts []int
	for _, end := range append(sectionEnds(b), 8) { // 8 is where the first one begins
		cuts = append(cuts, end-1, end, end+1)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range full(500, 50) {
		cuts = append(cuts, random.IntN(len(b)))
	}
	for _, n := range cuts {
		if n >= len(b) {
			continue
		}
		i, err := Inspect(b[:n:n])
		require.NotNil(t, i)
		var refused *RefusedError
		require.ErrorAs(t, err, &refused, "cut at %d of %d", n, len(b))
		requireOneLine(t, err)
	}
}

// TestManyOfEverything: modules that are all sections, imports or exports are refused, and cheaply.
func TestManyOfEverything(t *testing.T) {
	sections := slices.Repeat([]byte{0, 1, 0}, 10<<20)
	_, err := Inspect(slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), sections))
	assert.EqualError(t, err, "plugin file is not a valid module: custom section at offset 3010: more than 1000 custom sections")
}
