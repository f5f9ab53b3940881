package plugins

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	mutants    = flag.Int("mutants", 10_000, "how many small mutants TestMutants makes; TestMutatedGuest makes a twentieth of that, without the race detector")
	mutantSeed = flag.Uint64("mutant-seed", 1, "their seed")
)

// cost is what one step took at most, over all mutants.
type cost struct {
	time  time.Duration
	bytes uint64 // allocated, be it freed again
}

func (c *cost) measure(step func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	step()
	c.time = max(c.time, time.Since(began))
	runtime.ReadMemStats(&after)
	c.bytes = max(c.bytes, after.TotalAlloc-before.TotalAlloc)
}

// jury judges mutants, and keeps what came of them.
type jury struct {
	accepted, refused      int
	answers, faults, stops int // of calls; stops are those at the deadline
	inspect, load, call    cost
}

// one judges a file, and shows it when something is wrong.
func (j *jury) one(t *testing.T, what string, file []byte) {
	defer func() {
		if t.Failed() {
			t.Logf("%s: %x", what, file)
		}
	}()
	require.NotPanics(t, func() { j.judge(t, file) })
}

// judge lets a file be refused in one line, or accepted, loaded and called.
func (j *jury) judge(t *testing.T, file []byte) {
	i := j.look(t, file)
	if i == nil {
		return
	}
	p := j.compile(t, i)
	if p == nil {
		return
	}
	defer func() { require.NoError(t, p.Close()) }()
	for _, h := range p.Manifest().Hooks {
		var err error
		j.call.measure(func() { _, err = p.Hook(context.Background(), h, []byte("input")) })
		j.countCall(t, err)
	}
	for _, tool := range p.Manifest().Tools {
		var err error
		in := act("")
		in.Tool = tool.Name
		j.call.measure(func() { _, err = p.CallTool(context.Background(), in, nil) })
		j.countCall(t, err)
	}
}

// look inspects a file, and is nil when it is refused.
func (j *jury) look(t *testing.T, file []byte) *Inspection {
	var i *Inspection
	var err error
	j.inspect.measure(func() { i, err = Inspect(file) })
	require.NotNil(t, i)
	if err != nil {
		j.refuse(t, err)
		return nil
	}
	j.accepted++
	return i
}

func (j *jury) refuse(t *testing.T, err error) {
	j.refused++
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	requireOneLine(t, err)
}

// compile loads what was accepted, which may fail for no reason but the operator's limit.
func (j *jury) compile(t *testing.T, i *Inspection) *Plugin {
	var p *Plugin
	var err error
	j.load.measure(func() { p, err = Load(context.Background(), i, mutantOptions) })
	if i.startBytes() > mutantOptions.MemoryBytes {
		j.accepted--
		j.refuse(t, err)
		return nil
	}
	require.NoError(t, err, "what Inspect accepts compiles")
	return p
}

// requireOneLine: it cannot break a line, or drive a terminal.
func requireOneLine(t *testing.T, err error) {
	t.Helper()
	require.Equal(t, Printable(err.Error(), len(err.Error())), err.Error())
}

// mutantOptions give less memory than the ABI does, since an instance that is put back takes its memory twice.
// Their time is enough for some hundred bytes of code on a busy machine.
var mutantOptions = Options{MemoryBytes: 16 << 20, HookTimeout: 50 * time.Millisecond, ToolTimeout: 50 * time.Millisecond}

func (j *jury) countCall(t *testing.T, err error) {
	if err == nil {
		j.answers++
		return
	}
	var fault *CallError
	require.ErrorAs(t, err, &fault)
	requireOneLine(t, err)
	if j.faults++; fault.Kind == FaultTimeout {
		j.stops++
	}
}

// report logs what it cost. The bounds are the aim for bytes, which do not depend on the machine, and 20 times the
// aim for time. A call may also take what a guest is given: its memory twice, and wazero's stack, which grows by
// doubling up to 80 MiB until depth is counted.
func (j *jury) report(t *testing.T) {
	const most, slack, mebibytes = 100 * time.Millisecond, 20, 1 << 20
	for _, s := range []struct {
		name  string
		cost  cost
		time  time.Duration
		bytes uint64
	}{
		{"inspect", j.inspect, most, 64 * mebibytes}, {"load", j.load, most, 64 * mebibytes},
		{"call", j.call, mutantOptions.HookTimeout, 256 * mebibytes},
	} {
		t.Logf("%s: at most %s and %d KiB", s.name, s.cost.time, s.cost.bytes>>10)
		assert.Less(t, s.cost.time, slack*s.time, s.name)
		assert.Less(t, s.cost.bytes, s.bytes, s.name)
	}
	t.Logf("%d accepted, %d refused; calls: %d answers, %d faults, %d of them at the deadline", j.accepted, j.refused, j.answers, j.faults, j.stops)
}

// TestMutants: whatever is done to small plugins, they are refused in one line, or compile and answer or fault
// when they are called, in bounded time and memory.
func TestMutants(t *testing.T) {
	count := long(*mutants, *mutants/20)
	list := bases()
	random := rand.New(rand.NewPCG(*mutantSeed, 7))
	var j jury
	for n := range count {
		b := list[n%len(list)]
		j.one(t, fmt.Sprintf("mutant %d, of %s", n, b.name), mutate(random, b.file))
	}
	j.report(t)
	assert.Greater(t, j.accepted, count/10)
	assert.Greater(t, j.refused, count/4)
	assert.NotZero(t, j.answers)
	assert.NotZero(t, j.faults)
}

// TestMutatedGuest changes bytes of a Go guest: it is accepted or refused in one line, and compiles when it is
// accepted. It is not called: a change in 3 MB of code may do anything that code can do.
func TestMutatedGuest(t *testing.T) {
	b := slices.Clone(behave(t))
	code := slices.IndexFunc(split(b), func(s section) bool { return s.id == 10 })
	ends := sectionEnds(b)
	random := rand.New(rand.NewPCG(*mutantSeed, 6))
	// Compiling takes 20 s under the race detector, which has nothing to find here.
	rounds, loads := full(*mutants/20, 30), full(5, 0)
	var j jury
	for range rounds {
		at := random.IntN(len(b))
		old := b[at]
		b[at] += byte(1 + random.IntN(255))
		i := j.look(t, b)
		if i != nil && loads > 0 && at > ends[code-1] && at < ends[code] {
			loads--
			require.NoError(t, j.compile(t, i).Close())
		}
		b[at] = old
	}
	t.Logf("inspect: at most %s and %d KiB; load: at most %s and %d KiB; %d accepted, %d refused",
		j.inspect.time, j.inspect.bytes>>10, j.load.time, j.load.bytes>>10, j.accepted, j.refused)
	assert.Less(t, j.inspect.time, 20*100*time.Millisecond)
	assert.Less(t, j.inspect.bytes, uint64(64<<20))
	assert.NotZero(t, j.accepted, "most bytes are data")
	assert.NotZero(t, j.refused)
	assert.Zero(t, loads)
}
