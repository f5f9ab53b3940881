package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TestSpread: nearest rank, and exact for what is small or alone.
func TestSpread(t *testing.T) {
	for name, c := range map[string]struct {
		values   []int64
		p50, p95 int64
	}{
		"none":             {nil, 0, 0},
		"one":              {[]int64{1_234_567}, 1_234_567, 1_234_567},
		"two":              {[]int64{1, 2}, 1, 2},
		"twenty":           {[]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, 10, 19},
		"twenty-one":       {[]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}, 11, 20},
		"a clock set back": {[]int64{-5, -5, -5}, 0, 0},
		"the largest":      {[]int64{math.MaxInt64, math.MaxInt64}, math.MaxInt64, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			var h histogram
			for _, v := range c.values {
				h.add(v)
			}
			assert.Equal(t, Spread{int64(len(c.values)), c.p50, c.p95}, h.spread())
		})
	}
}

// TestSpreadIsNear: within 0.4 % of what an exact sort gives, in whatever parts it was counted.
func TestSpreadIsNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt64), 1, 300).Draw(t, "values")
		shift := rapid.IntRange(0, 62).Draw(t, "shift")
		parts := make([]histogram, 3)
		for i := range values {
			values[i] >>= shift
			parts[i%3].add(values[i])
		}
		var h histogram
		for i := range parts {
			h.merge(&parts[i])
		}
		slices.Sort(values)
		got := h.spread()
		for percent, near := range map[int]int64{50: got.P50, 95: got.P95} {
			exact := values[(len(values)*percent+99)/100-1]
			if exact < 256 {
				assert.Equal(t, exact, near)
			} else {
				assert.InEpsilon(t, float64(exact), float64(near), 0.004)
			}
		}
		assert.LessOrEqual(t, len(h.buckets), 7296)
		assert.Less(t, bucket(math.MaxInt64), uint16(7296))
	})
}
