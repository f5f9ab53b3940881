package plugins

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

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

// TestTruncatedGuest cuts a packed Go guest around each end of a section and at random places: it is refused, in
// one line, wherever the cut is.
func TestTruncatedGuest(t *testing.T) {
	b := behave(t)
	var cuts []int
	for _, end := range sectionEnds(b) {
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
		assert.NotContains(t, err.Error(), "\n")
	}
}

// TestMutatedGuest changes bytes of a Go guest: it is accepted or refused in one line, and never takes long.
func TestMutatedGuest(t *testing.T) {
	b := slices.Clone(behave(t))
	random := rand.New(rand.NewPCG(5, 6))
	rounds, accepted := full(200, 30), 0
	began := time.Now()
	for range rounds {
		at := random.IntN(len(b))
		old := b[at]
		b[at] = byte(random.Uint32())
		_, err := Inspect(b)
		b[at] = old
		if err == nil {
			accepted++
			continue
		}
		var refused *RefusedError
		require.ErrorAs(t, err, &refused)
		assert.NotContains(t, err.Error(), "\n")
	}
	assert.NotZero(t, accepted, "most bytes are data")
	assert.Less(t, accepted, rounds)
	t.Logf("%d of %d accepted, %s each", accepted, rounds, time.Since(began)/time.Duration(rounds))
}

// TestManyOfEverything: modules that are all sections, imports or exports are refused, and cheaply.
func TestManyOfEverything(t *testing.T) {
	sections := slices.Repeat([]byte{0, 1, 0}, 10<<20)
	_, err := Inspect(slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), sections))
	assert.EqualError(t, err, "plugin file is not a valid module: custom section at offset 3010: more than 1000 custom sections")
}
