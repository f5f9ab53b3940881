package plugins

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// footprint is what this process holds. What the system does not tell is 0.
type footprint struct {
	objects    uint64 // on the heap
	goroutines int
	files      int   // open
	resident   int64 // bytes of memory
	executable int64 // bytes of address space: compiled code, which the heap does not count
}

func takeFootprint() footprint {
	for range 3 { // finalizers free in the next collection
		debug.FreeOSMemory()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	files, _ := os.ReadDir("/proc/self/fd")
	return footprint{stats.HeapObjects, runtime.NumGoroutine(), len(files), residentBytes(), executableBytes()}
}

func residentBytes() int64 {
	var total, resident int64
	statm, _ := os.ReadFile("/proc/self/statm")
	_, _ = fmt.Sscan(string(statm), &total, &resident)
	return resident * int64(os.Getpagesize())
}

func executableBytes() (sum int64) {
	maps, _ := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var permissions string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &permissions); err == nil && strings.Contains(permissions, "x") {
			sum += to - from
		}
	}
	return sum
}

// sameAfter compares with what is held after so many cycles: compiled code, files and goroutines are the same, less
// than one object is left of each cycle, and the memory that the allocator keeps for itself is bounded.
func (before footprint) sameAfter(t *testing.T, cycles int) {
	t.Helper()
	after := takeFootprint()
	t.Logf("%d cycles: before %+v, after %+v", cycles, before, after)
	assert.Less(t, after.objects, before.objects+uint64(cycles))
	assert.LessOrEqual(t, after.goroutines, before.goroutines)
	assert.LessOrEqual(t, after.files, before.files)
	if !raceEnabled { // which keeps a shadow of memory
		assert.Less(t, after.resident, before.resident+32<<20)
	}
	assert.LessOrEqual(t, after.executable, before.executable)
}

// TestFootprint: it sees what it is for, where the system tells.
func TestFootprint(t *testing.T) {
	before := takeFootprint()
	if before.executable == 0 {
		t.Skip("/proc/self/maps is not here")
	}
	p := load(t, bases()[0].file, Options{})
	f, err := os.Open(os.DevNull)
	assert.NoError(t, err)
	after := takeFootprint()
	assert.NoError(t, f.Close())
	assert.Greater(t, after.executable, before.executable)
	assert.Greater(t, after.files, before.files)
	assert.Greater(t, after.objects, before.objects)
	assert.Positive(t, after.resident)
	runtime.KeepAlive(p)
}
