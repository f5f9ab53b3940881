package pebblestore

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// recordSize is about what one event takes.
const recordSize = 500

// BenchmarkCommit commits records of one size, next to the same bytes appended to a file and synced, which is
// what the disk can do for one writer. Compare within one run.
func BenchmarkCommit(b *testing.B) {
	for _, records := range []int{1, 10} {
		b.Run(fmt.Sprintf("records=%d/file", records), func(b *testing.B) { benchFile(b, records) })
		for _, writers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("records=%d/writers=%d", records, writers), func(b *testing.B) {
				benchCommit(b, records, writers)
			})
		}
	}
}

// BenchmarkCommitOneTask has 8 writers of one task, which cannot share a sync.
func BenchmarkCommitOneTask(b *testing.B) {
	log := openBench(b)
	var last atomic.Uint64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			for log.Commit(b.Context(), benchRecords("t", last.Load(), 1)) != nil {
			}
			last.Add(1)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	log := openBench(b)
	const records = 10_000
	for seq := uint64(0); seq < records; seq += 100 {
		require.NoError(b, log.Commit(b.Context(), benchRecords("t", seq, 100)))
	}
	for b.Loop() {
		got, err := log.Read(b.Context(), "t", 0, 0)
		require.NoError(b, err)
		require.Len(b, got, records)
	}
	b.ReportMetric(float64(b.N)*records/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkOpen opens a new directory and closes it.
func BenchmarkOpen(b *testing.B) {
	root := b.TempDir()
	n := 0
	for b.Loop() {
		n++
		log, err := Open(filepath.Join(root, fmt.Sprint(n)), Options{})
		require.NoError(b, err)
		require.NoError(b, log.Close())
	}
}

func openBench(b *testing.B) *Log {
	b.Helper()
	log, err := Open(filepath.Join(b.TempDir(), "log"), Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, log.Close()) })
	return log
}

func benchRecords(task string, expected uint64, n int) store.Commit {
	a := store.Append{Task: task, Expected: expected}
	for i := range n {
		r := make([]byte, recordSize)
		copy(r, fmt.Sprint(task, expected, i))
		a.Records = append(a.Records, r)
	}
	return store.Commit{Appends: []store.Append{a}}
}

func benchCommit(b *testing.B, records, writers int) {
	log := openBench(b)
	b.ResetTimer()
	b.SetBytes(int64(records * recordSize))
	shares := make(chan int, writers)
	for w := range writers { // each writer has its task, and its share of the commits
		go func() {
			task := fmt.Sprint("task", w)
			done := 0
			for i := w; i < b.N; i += writers {
				if err := log.Commit(b.Context(), benchRecords(task, uint64(done*records), records)); err != nil {
					b.Error(err)
					break
				}
				done++
			}
			shares <- done
		}()
	}
	for range writers {
		<-shares
	}
	b.ReportMetric(float64(b.N*records)/b.Elapsed().Seconds(), "records/s")
}

func benchFile(b *testing.B, records int) {
	file, err := os.Create(filepath.Join(b.TempDir(), "file"))
	require.NoError(b, err)
	b.SetBytes(int64(records * recordSize))
	for b.Loop() {
		var line []byte
		for _, r := range benchRecords("t", 0, records).Appends[0].Records {
			line = append(line, r...)
		}
		if _, err := file.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*records)/b.Elapsed().Seconds(), "records/s")
	require.NoError(b, file.Close())
}
