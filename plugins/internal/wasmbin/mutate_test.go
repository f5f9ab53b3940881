package wasmbin

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	mutations    = flag.Int("mutations", 10_000, "how many mutants TestMutants compares with wazero")
	mutationSeed = flag.Uint64("mutation-seed", 1, "seed of TestMutants")
)

// mutationCount is fewer under the race detector, which finds nothing in a package without goroutines.
func mutationCount() int {
	if raceEnabled {
		return *mutations / 10
	}
	return *mutations
}

// mutate changes a module in one to three places: bits, bytes, its end, and ranges put in, repeated or taken
// out. Most of what it does to structure also breaks a length, so changes within the code are as likely as
// all others: there, verdicts depend on types.
func mutate(random *rand.Rand, module []byte, code section) []byte {
	b := slices.Clone(module)
	for range 1 + random.IntN(3) {
		if len(b) == 0 {
			return b
		}
		at := random.IntN(len(b))
		if random.IntN(2) == 0 && code.end > code.body && code.end <= len(b) {
			at = code.body + random.IntN(code.end-code.body)
		}
		length := min(1+random.IntN(8), len(b)-at)
		switch random.IntN(12) {
		case 0, 1, 2:
			b[at] ^= 1 << random.IntN(8)
		case 3, 4, 5:
			b[at] = byte(random.Uint32())
		case 6:
			b[at] = opcodeBytes[random.IntN(len(opcodeBytes))]
		case 7:
			b = b[:at]
		case 8:
			b = slices.Insert(b, at, byte(random.Uint32()))
		case 9:
			b = slices.Insert(b, at, slices.Clone(b[at:at+length])...)
		case 10:
			b = slices.Delete(b, at, at+length)
		case 11: // swaps neighbours, which keeps all lengths
			copy(b[at:], append(slices.Clone(b[at+length/2:at+length]), b[at:at+length/2]...))
		}
	}
	return b
}

// opcodeBytes are bytes that instructions begin with or that name types: mutants with them often stay valid.
var opcodeBytes = []byte{0, 1, 2, 3, 4, 5, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x1a, 0x1b, 0x1c, 0x20, 0x21, 0x22,
	0x23, 0x24, 0x25, 0x26, 0x28, 0x36, 0x3f, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x6a, 0x7c, 0xc0, 0xd0, 0xd1, 0xd2, 0xfc, 0xfd,
	0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f}

// mutationBases gives a dozen small modules and a medium one: those of the specification that show most, and
// the hand-made one with every section.
func mutationBases(t testing.TB) map[string][]byte {
	t.Helper()
	bases := map[string][]byte{"sample": sample(), "everything": everything()}
	named := map[string]bool{
		"block.0.wasm": true, "br_table.0.wasm": true, "bulk.0.wasm": true, "call_indirect.0.wasm": true, "elem.7.wasm": true,
		"if.0.wasm": true, "memory_init.1.wasm": true, "ref_func.1.wasm": true, "select.0.wasm": true, "table_fill.0.wasm": true,
		"unreached-valid.0.wasm": true, "simd_lane.0.wasm": true, "local_tee.0.wasm": true,
	}
	for _, file := range specModules(t) {
		if b, err := os.ReadFile(file); err == nil && named[filepath.Base(file)] && len(b) < 64<<10 {
			if _, err := Parse(b); err == nil {
				bases[filepath.Base(file)] = b
			}
		}
	}
	return bases
}

// TestMutants compares verdicts on mutated modules, by a fixed seed.
func TestMutants(t *testing.T) {
	bases := mutationBases(t)
	var names []string
	for name := range bases {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare)
	require.GreaterOrEqual(t, len(names), 12)
	count := mutationCount()
	random := rand.New(rand.NewPCG(*mutationSeed, 2))
	r := newReferee(t)
	for i := range count {
		name := names[i%len(names)]
		parsed, err := Parse(bases[name])
		require.NoError(t, err, name)
		code := slices.IndexFunc(parsed.sections, func(s section) bool { return s.id == secCode })
		r.judge(t, name, mutate(random, bases[name], parsed.sections[max(code, 0)]))
		if r.counts["DIFFERENT"] > 10 {
			break
		}
	}
	t.Logf("%d mutants of %d modules, seed %d: %v", count, len(names), *mutationSeed, r.counts)
	assert.Greater(t, r.counts["accepted by both"], count/50)
	assert.Greater(t, r.counts["refused by both"], count/4)
}
