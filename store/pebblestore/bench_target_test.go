package pebblestore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// BenchmarkAgainstFile takes turns between one append of a record and the same bytes written to a file and
// synced, on the same disk. Target: file-ratio at most 1.5.
func BenchmarkAgainstFile(b *testing.B) {
	log := openBench(b)
	file, err := os.Create(filepath.Join(b.TempDir(), "file"))
	require.NoError(b, err)
	var ours, files []time.Duration
	seq := uint64(0)
	for b.Loop() {
		c := benchRecords("t", seq, 1)
		start := time.Now()
		err := log.Commit(b.Context(), c)
		ours = append(ours, time.Since(start))
		require.NoError(b, err)
		seq++

		start = time.Now()
		_, err = file.Write(c.Appends[0].Records[0])
		serr := file.Sync()
		files = append(files, time.Since(start))
		require.NoError(b, err)
		require.NoError(b, serr)
	}
	require.NoError(b, file.Close())
	b.ReportMetric(float64(median(ours).Microseconds()), "append-p50-µs")
	b.ReportMetric(float64(median(files).Microseconds()), "file-p50-µs")
	b.ReportMetric(float64(median(ours))/float64(median(files)), "file-ratio")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkAgainstEngine takes turns between 64 writers of the log and 64 that put the same bytes into the
// engine, with the same options. Target: engine-share at least 0.7.
func BenchmarkAgainstEngine(b *testing.B) {
	const writers, each = 64, 8
	log := openBench(b)
	db, err := pebble.Open(filepath.Join(b.TempDir(), "engine"), engineOptions(vfs.Default, newFuse()))
	require.NoError(b, err)
	var ours, engines time.Duration
	round := 0
	for b.Loop() {
		ours += timed(writers, func(w int) {
			task := fmt.Sprint("task", w)
			for i := range each {
				if err := log.Commit(b.Context(), benchRecords(task, uint64(round*each+i), 1)); err != nil {
					b.Error(err)
				}
			}
		})
		engines += timed(writers, func(w int) {
			task := fmt.Sprint("task", w)
			for i := range each {
				batch := db.NewBatch()
				seq := uint64(round*each + i)
				record := benchRecords(task, seq, 1).Appends[0].Records[0]
				_ = batch.Set(headKey(task), make([]byte, sumLen+headLen), nil)
				_ = batch.Set(recordKey(task, seq+1), append(make([]byte, sumLen), record...), nil)
				if err := batch.Commit(pebble.Sync); err != nil {
					b.Error(err)
				}
			}
		})
		round++
	}
	require.NoError(b, db.Close())
	n := float64(round * writers * each)
	b.ReportMetric(n/ours.Seconds(), "commits/s")
	b.ReportMetric(n/engines.Seconds(), "engine-commits/s")
	b.ReportMetric(engines.Seconds()/ours.Seconds(), "engine-share")
}

// timed runs n goroutines and says how long all of them took.
func timed(n int, run func(int)) time.Duration {
	start := time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { run(i) })
	}
	all.Wait()
	return time.Since(start)
}

const (
	millionTasks  = 100
	millionCommit = 10
	million       = 1_000_000
)

// buildMillion fills a log with a million records, in commits of 10, past the syncs. It gives a copy of the
// directory as a crash leaves it, with the last commits in the write-ahead log only, and closes the log.
func buildMillion(b *testing.B, dir, crashed string) {
	b.Helper()
	log, err := Open(dir, Options{})
	require.NoError(b, err)
	noise := make([]byte, 1<<20) // half of each record does not compress
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	heads := make([]store.Head, millionTasks)
	for n := range million / millionCommit {
		h := &heads[n%millionTasks]
		a := store.Append{Task: fmt.Sprintf("task%04d", n%millionTasks), Expected: h.Last, Index: noise[:200]}
		for i := range millionCommit {
			r := make([]byte, recordSize)
			copy(r, noise[(n*millionCommit+i)*7%(len(noise)-recordSize):][:recordSize/2])
			a.Records = append(a.Records, r)
		}
		*h, err = a.Next(*h)
		require.NoError(b, err)
		batch, err := log.fill(store.Commit{Appends: []store.Append{a}}, []store.Head{*h})
		require.NoError(b, err)
		require.NoError(b, batch.Commit(pebble.NoSync))
		require.NoError(b, batch.Close())
	}
	require.NoError(b, log.Commit(b.Context(), benchRecords("last", 0, 1))) // syncs all before it
	if crashed != "" {
		require.NoError(b, log.db.Checkpoint(crashed)) // with the write-ahead log as it is
	}
	require.NoError(b, log.Close())
}

// BenchmarkOpenMillion opens a log with a million records. Target: 300 ms.
func BenchmarkOpenMillion(b *testing.B) {
	root := b.TempDir()
	closed, crashed := filepath.Join(root, "closed"), filepath.Join(root, "crashed")
	buildMillion(b, closed, crashed)
	b.Run("closed", func(b *testing.B) {
		for b.Loop() {
			log, err := Open(closed, Options{})
			require.NoError(b, err)
			b.StopTimer()
			require.NoError(b, log.Close())
			b.StartTimer()
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/open")
	})
	b.Run("crashed", func(b *testing.B) {
		n := 0
		for b.Loop() {
			b.StopTimer()
			n++
			dir := filepath.Join(root, fmt.Sprint("copy", n))
			require.NoError(b, os.CopyFS(dir, os.DirFS(crashed)))
			syscall.Sync() // else the first sync of Open writes the copy
			b.StartTimer()
			log, err := Open(dir, Options{})
			require.NoError(b, err)
			b.StopTimer()
			require.NoError(b, log.Close())
			require.NoError(b, os.RemoveAll(dir))
			b.StartTimer()
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/open")
	})
}

// BenchmarkReadMillion reads a million records as a replay does. Target: 700 ns a record.
func BenchmarkReadMillion(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "log")
	buildMillion(b, dir, "")
	log, err := Open(dir, Options{})
	require.NoError(b, err)
	for b.Loop() {
		read := 0
		for task := range millionTasks {
			for after := uint64(0); ; {
				records, err := log.Read(b.Context(), fmt.Sprintf("task%04d", task), after, 512)
				require.NoError(b, err)
				if len(records) == 0 {
					break
				}
				read += len(records)
				after = records[len(records)-1].Seq
			}
		}
		require.Equal(b, million, read)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/record")
	require.NoError(b, log.Close())
}

// BenchmarkList lists 100,000 tasks with an index of 200 bytes each. Target: well below 100 ms.
func BenchmarkList(b *testing.B) {
	const tasks = 100_000
	log := openBench(b)
	for i := range tasks {
		a := store.Append{
			Task: fmt.Sprintf("01J%023d", i), Records: [][]byte{{1}},
			Index: fmt.Appendf(nil, "%0200d", i), Label: []string{"done", "failed", "running"}[i%3],
		}
		h, err := a.Next(store.Head{})
		require.NoError(b, err)
		batch, err := log.fill(store.Commit{Appends: []store.Append{a}}, []store.Head{h})
		require.NoError(b, err)
		require.NoError(b, batch.Commit(pebble.NoSync))
		require.NoError(b, batch.Close())
	}
	require.NoError(b, log.db.Flush())
	for name, tc := range map[string]struct {
		query store.Query
		want  int
	}{
		"all":     {store.Query{}, tasks},
		"label":   {store.Query{Labels: []string{"failed"}}, tasks / 3},
		"last=20": {store.Query{Last: 20}, 20},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				heads, err := log.List(b.Context(), tc.query)
				require.NoError(b, err)
				require.Len(b, heads, tc.want)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/list")
		})
	}
}
