package pebblestore

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
)

// unsynced are the shares of unsynced data, in percent, that survive the crashes of these tests.
var unsynced = [...]int{0, 50, 100}

// crash gives the file system as a crash at this instant may leave it.
func crash(fs *vfs.MemFS, percent int, seed uint64) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 1))})
}

// After each acknowledged step the machine crashes.
func TestCrashAfterEachStep(t *testing.T) {
	fs := vfs.NewCrashableMem()
	log, err := Open("dir", Options{FS: fs})
	require.NoError(t, err)
	w := newWorkload(1, 50, 40<<10) // enough for the engine to change its write-ahead log several times
	for n := 1; n <= w.steps; n++ {
		require.NoError(t, w.step(log, 0, n))
		for _, percent := range unsynced {
			w.check(t, crash(fs, percent, uint64(n)), []int{n}, []int{n})
		}
	}
	require.NoError(t, log.Compact(t.Context()))
	w.check(t, crash(fs, 0, 0), []int{w.steps}, []int{w.steps})
	require.NoError(t, log.Close())
	w.check(t, crash(fs, 0, 0), []int{w.steps}, []int{w.steps})
}

// The machine crashes before a file operation that writes, whichever, while several writers are at work.
func TestCrashAtAnyOperation(t *testing.T) {
	type image struct {
		name         string
		fs           *vfs.MemFS
		acked, tried []int
	}
	var (
		mu     sync.Mutex
		images []image
		points int
		mem    = vfs.NewCrashableMem()
		w      = newWorkload(3, 14, 30<<10)
	)
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		points++
		for _, percent := range unsynced {
			acked := w.counts(w.acked) // before the crash: all of it must be there
			clone := crash(mem, percent, uint64(points))
			tried := w.counts(w.tried) // after the crash: nothing else may be there
			images = append(images, image{fmt.Sprintf("point %d, %d%% survives", points, percent), clone, acked, tried})
		}
		return nil
	}))
	log, err := Open("dir", Options{FS: fs})
	require.NoError(t, err)
	require.NoError(t, w.run(log))
	require.NoError(t, log.Compact(t.Context()))
	require.NoError(t, log.Close())
	require.Greater(t, points, 80) // how many there are depends on how many commits share a sync
	for _, i := range images {
		t.Run(i.name, func(t *testing.T) { w.check(t, i.fs, i.acked, i.tried) })
	}
	if !t.Failed() {
		t.Logf("%d write points, each with %v%% of what was not synced: %d crashes, 0 losses", points, unsynced, len(images))
	}
}

// The machine crashes while a new directory is made. Nothing can be lost; but it must open.
func TestCrashWhileCreating(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var mu sync.Mutex // the engine writes from several goroutines
	var images []*vfs.MemFS
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			for seed := range uint64(8) {
				images = append(images, crash(mem, 50, seed))
			}
		}
		return nil
	}))
	log, err := Open("dir", Options{FS: fs})
	require.NoError(t, err)
	require.NoError(t, log.Close())
	require.Greater(t, len(images), 100)
	w := newWorkload(1, 0, 0)
	for _, image := range images {
		w.check(t, image, []int{0}, []int{0})
	}
}
