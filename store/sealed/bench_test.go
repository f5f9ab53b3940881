package sealed

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
	"github.com/axishost/axishost/store/pebblestore"
)

// Each benchmark has the inner log alone beside the two modes: the difference is what this package costs.
// Compare within one run.

// BenchmarkCommit commits an event with a blob to memory, where nothing hides the cost.
func BenchmarkCommit(b *testing.B) {
	eachLog(b, func(b *testing.B) store.Log { return memstore.New() }, benchCommit)
}

// BenchmarkCommitDisk is the same with a sync, which is what a user waits for.
func BenchmarkCommitDisk(b *testing.B) {
	eachLog(b, func(b *testing.B) store.Log {
		inner, err := pebblestore.Open(b.TempDir(), pebblestore.Options{})
		require.NoError(b, err)
		return inner
	}, benchCommit)
}

func benchCommit(b *testing.B, log store.Log) {
	c := benchEvent()
	n := uint64(0)
	for b.Loop() {
		c.Appends[0].Expected = n % 1000 // a new task now and then, so that memory does not grow without end
		if n%1000 == 0 && n > 0 {
			require.NoError(b, log.Delete(bg, "task", 1000))
		}
		require.NoError(b, log.Commit(bg, c))
		n++
	}
}

// benchEvent is about what a step of a task commits: an event, its index entry, and a result.
func benchEvent() store.Commit {
	c := appends("task", 0, string(make([]byte, 500)))
	c.Appends[0].Index = make([]byte, 300)
	c.Blobs = []store.Blob{{Task: "task", Key: "digest", Value: make([]byte, 64<<10)}}
	return c
}

func BenchmarkRead(b *testing.B) {
	const records = 1000
	inMemory(b, func(b *testing.B, log store.Log) {
		c := appends("task", 0)
		for range records {
			c.Appends[0].Records = append(c.Appends[0].Records, make([]byte, 500))
		}
		require.NoError(b, log.Commit(bg, c))
		for b.Loop() {
			got, err := log.Read(bg, "task", 0, 0)
			require.NoError(b, err)
			require.Len(b, got, records)
		}
		b.ReportMetric(float64(b.N)*records/b.Elapsed().Seconds(), "records/s")
	})
}

// BenchmarkReadOne shows what a call costs beside its records: the task's key.
func BenchmarkReadOne(b *testing.B) {
	inMemory(b, func(b *testing.B, log store.Log) {
		require.NoError(b, log.Commit(bg, benchEvent()))
		for b.Loop() {
			_, err := log.Read(bg, "task", 0, 0)
			require.NoError(b, err)
		}
	})
}

func BenchmarkBlob(b *testing.B) {
	inMemory(b, func(b *testing.B, log store.Log) {
		require.NoError(b, log.Commit(bg, benchEvent()))
		b.SetBytes(64 << 10)
		for b.Loop() {
			_, err := log.Blob(bg, "task", "digest")
			require.NoError(b, err)
		}
	})
}

func BenchmarkList(b *testing.B) {
	const tasks = 100_000
	inMemory(b, func(b *testing.B, log store.Log) {
		for i := range tasks {
			c := appends(fmt.Sprintf("01J0TASK%018d", i), 0, "r")
			c.Appends[0].Index = make([]byte, 300)
			require.NoError(b, log.Commit(bg, c))
		}
		for b.Loop() {
			heads, err := log.List(bg, store.Query{})
			require.NoError(b, err)
			require.Len(b, heads, tasks)
		}
	})
}

func inMemory(b *testing.B, run func(*testing.B, store.Log)) {
	eachLog(b, func(*testing.B) store.Log { return memstore.New() }, run)
}

func eachLog(b *testing.B, inner func(*testing.B) store.Log, run func(*testing.B, store.Log)) {
	for _, mode := range []string{"inner alone", "plain", "encrypted"} {
		b.Run(mode, func(b *testing.B) {
			log := inner(b)
			if opts, ok := modes[mode]; ok {
				log = open(b, log, opts)
			}
			run(b, log)
			require.NoError(b, log.Close())
		})
	}
}
