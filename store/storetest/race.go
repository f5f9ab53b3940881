package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

const (
	racers = 16
	rounds = 20
)

func testRace(t *testing.T, f Factory) {
	t.Run("exactly one of many writers gets each number", func(t *testing.T) { raceOneTask(t, f.open(t)) })
	t.Run("writers of many tasks", func(t *testing.T) { raceManyTasks(t, f.open(t)) })
	t.Run("overlapping commits do not lock each other", func(t *testing.T) { raceOverlapping(t, f.open(t)) })
	t.Run("a commit is seen whole", func(t *testing.T) { raceReaders(t, f.open(t)) })
	t.Run("a task is there whole or not at all", func(t *testing.T) { raceDelete(t, f.open(t)) })
}

// raceOneTask lets all writers append the same number, round after round.
func raceOneTask(t *testing.T, log store.Log) {
	var want []string
	for round := range uint64(rounds) {
		wins := make(chan string, racers)
		var writers sync.WaitGroup
		for w := range racers {
			writers.Go(func() {
				data := fmt.Sprintf("round %d writer %d", round, w)
				err := log.Commit(t.Context(), appends("t", round, data))
				if err == nil {
					wins <- data
					return
				}
				assert.ErrorIs(t, err, store.ErrConflict)
			})
		}
		writers.Wait()
		require.Len(t, wins, 1, "round %d", round)
		want = append(want, <-wins)
	}
	requireRecords(t, log, "t", want...)
}

// raceManyTasks lets each writer append to its own task, beside a watcher that follows it.
func raceManyTasks(t *testing.T, log store.Log) {
	var all sync.WaitGroup
	for w := range racers {
		task := fmt.Sprintf("task-%02d", w)
		all.Go(func() {
			for seq := range uint64(rounds) {
				c := appends(task, seq, fmt.Sprint(seq))
				c.Blobs = blob(task, fmt.Sprint(seq), task).Blobs
				assert.NoError(t, log.Commit(t.Context(), c))
			}
		})
		all.Go(func() {
			for seq := uint64(0); seq < rounds; {
				last, err := log.Watch(t.Context(), task, seq)
				if !assert.NoError(t, err) || !assert.Greater(t, last, seq) {
					return
				}
				got, err := log.Read(t.Context(), task, seq, int(last-seq))
				assert.NoError(t, err)
				assert.Len(t, got, int(last-seq), "what Watch announces can be read")
				seq = last
			}
		})
	}
	all.Wait()
	heads, err := log.List(t.Context(), store.Query{Prefix: "task-"})
	require.NoError(t, err)
	require.Len(t, heads, racers)
	for _, h := range heads {
		require.Equal(t, uint64(rounds), h.Last)
		requireBlob(t, log, h.Task, fmt.Sprint(rounds-1), h.Task)
	}
}

// raceOverlapping lets commits of two tasks each meet in a ring: writer w takes tasks w and w+1, in turns of
// either order.
func raceOverlapping(t *testing.T, log store.Log) {
	const tasks = 4
	var writers sync.WaitGroup
	for w := range tasks {
		writers.Go(func() {
			for range rounds {
				pair := []string{fmt.Sprint("t", w), fmt.Sprint("t", (w+1)%tasks)}
				if w%2 == 1 {
					pair[0], pair[1] = pair[1], pair[0]
				}
				for !appendBoth(t, log, pair) {
				}
			}
		})
	}
	writers.Wait()
	heads, err := log.List(t.Context(), store.Query{})
	require.NoError(t, err)
	require.Len(t, heads, tasks)
	for _, h := range heads {
		require.Equal(t, uint64(2*rounds), h.Last)
	}
}

// appendBoth tries once to append a record to both tasks; false when another writer was first.
func appendBoth(t *testing.T, log store.Log, pair []string) bool {
	var c store.Commit
	for _, task := range pair {
		h, err := log.Head(t.Context(), task)
		if err != nil && !assert.ErrorIs(t, err, store.ErrNotFound) {
			return true
		}
		c.Appends = append(c.Appends, store.Append{Task: task, Expected: h.Last, Records: records("r")})
	}
	err := log.Commit(t.Context(), c)
	return err == nil || !errors.Is(err, store.ErrConflict) && assert.NoError(t, err)
}

// raceReaders looks on while one writer appends two records to each of two tasks at a time.
func raceReaders(t *testing.T, log store.Log) {
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					lookWhole(t, log)
				}
			}
		})
	}
	for round := range uint64(4 * rounds) {
		c := appends("a", 2*round, "1", "2")
		c.Appends = append(c.Appends, appends("b", 2*round, "1", "2").Appends...)
		for i := range c.Appends {
			c.Appends[i].Index = fmt.Append(nil, 2*round+2)
		}
		assert.NoError(t, log.Commit(t.Context(), c))
	}
	close(done)
	readers.Wait()
}

// lookWhole checks that no reader sees a part of a commit.
func lookWhole(t *testing.T, log store.Log) {
	heads, err := log.List(t.Context(), store.Query{})
	assert.NoError(t, err)
	if len(heads) == 0 {
		return
	}
	if !assert.Len(t, heads, 2) {
		return
	}
	assert.Equal(t, heads[0].Last, heads[1].Last)
	assert.Equal(t, fmt.Sprint(heads[0].Last), string(heads[0].Index))
	got, err := log.Read(t.Context(), "b", 0, 0)
	assert.NoError(t, err)
	assert.Zero(t, len(got)%2)
	assert.GreaterOrEqual(t, uint64(len(got)), heads[1].Last, "what was listed can be read")
}

// raceDelete makes a task and its twin in one commit and deletes them again, one after the other, while others
// look on, another task comes and goes, and the log is compacted.
func raceDelete(t *testing.T, log store.Log) {
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	for _, look := range []func(*testing.T, store.Log){lookTwins, lookWholeTask, lookWholeTask, compact} {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					look(t, log)
				}
			}
		})
	}
	for _, tasks := range [][]string{{"a", "b"}, {"c"}} {
		writers.Go(func() {
			for round := range 2 * rounds {
				comeAndGo(t, log, tasks, round%3+1)
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

// comeAndGo makes tasks with n records each in one commit, and deletes them, the last one first. All that they
// have tells of n, so that no two incarnations can be taken for one.
func comeAndGo(t *testing.T, log store.Log, tasks []string, n int) {
	data := strings.Repeat("r", n)
	var c store.Commit
	for _, task := range tasks {
		a := store.Append{Task: task, Index: []byte(data), Label: data}
		for range n {
			a.Records = append(a.Records, []byte(data))
		}
		c.Appends = append(c.Appends, a)
		c.Blobs = append(c.Blobs, blob(task, "k", data).Blobs...)
	}
	assert.NoError(t, log.Commit(t.Context(), c))
	for i := range tasks {
		assert.NoError(t, log.Delete(t.Context(), tasks[len(tasks)-1-i], uint64(n)))
	}
}

// lookTwins checks that b is never there without a, which is deleted after it.
func lookTwins(t *testing.T, log store.Log) {
	heads, err := log.List(t.Context(), store.Query{Before: "c"})
	assert.NoError(t, err)
	for _, h := range heads {
		assert.Equal(t, int(h.Last), len(h.Label))
		assert.Equal(t, h.Label, string(h.Index))
	}
	if len(heads) > 0 {
		assert.Equal(t, "a", heads[0].Task)
	}
}

// lookWholeTask checks that what is read of a task is all of one incarnation.
func lookWholeTask(t *testing.T, log store.Log) {
	got, err := log.Read(t.Context(), "a", 0, 0)
	if err != nil {
		assert.ErrorIs(t, err, store.ErrNotFound)
		return
	}
	for _, r := range got {
		assert.Len(t, r.Data, len(got))
	}
	if value, err := log.Blob(t.Context(), "a", "k"); err != nil {
		assert.ErrorIs(t, err, store.ErrNotFound)
	} else {
		assert.NotEmpty(t, value)
	}
}

func compact(t *testing.T, log store.Log) {
	assert.NoError(t, log.Compact(t.Context()))
}
