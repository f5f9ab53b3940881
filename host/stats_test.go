package host

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// putHistory puts a recorded history into a log, as a task of a time whose id ends with last.
func putHistory(t testing.TB, log store.Log, at time.Time, last, name, phase string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(histories, "v1", name+".log"))
	require.NoError(t, err)
	var records [][]byte
	for line := range strings.Lines(string(text)) {
		var seq int
		var record string
		if n, _ := fmt.Sscanf(line, "%d %s", &seq, &record); n != 2 {
			continue
		}
		data, err := hex.DecodeString(record)
		require.NoError(t, err)
		records = append(records, data)
	}
	index, err := cbor.Marshal(listed{Created: at.UnixMicro(), Model: "m", Task: name})
	require.NoError(t, err)
	id := strings.TrimSuffix(firstID(at), "0") + last
	a := store.Append{Task: id, Records: records, Index: index, Label: phase}
	require.NoError(t, log.Commit(t.Context(), store.Commit{Appends: []store.Append{a}}))
	return id
}

// requireStats gives the numbers of all tasks, which have to agree with the list of tasks and with each other.
func requireStats(t testing.TB, h *Host) *Stats {
	t.Helper()
	s, err := h.Stats(t.Context(), Query{}, nil, nil)
	require.NoError(t, err)
	require.Empty(t, s.Damage)
	tasks, err := h.List(t.Context(), Query{})
	require.NoError(t, err)
	phases := map[string]int64{"succeeded": 0, "partial": 0, "failed": 0, "cancelled": 0, "not ended": 0}
	for i := range tasks {
		phase := tasks[i].Phase
		if !tasks[i].Ended() {
			phase = "not ended"
		}
		phases[phase]++
	}
	assert.Equal(t, phases, map[string]int64{
		"succeeded": s.Tasks.Succeeded, "partial": s.Tasks.Partial, "failed": s.Tasks.Failed, "cancelled": s.Tasks.Cancelled,
		"not ended": s.Tasks.Stopped + s.Tasks.Waiting + s.Tasks.Running,
	})
	assert.EqualValues(t, len(tasks), s.Tasks.All)
	assert.Equal(t, s.Effects.Unknown, s.Effects.Found+s.Effects.Absent+s.Effects.Open)
	assert.LessOrEqual(t, s.Effects.Unknown, s.Effects.Attempts)
	assert.LessOrEqual(t, s.Effects.Attempts, s.Calls.Attempts)
	assert.LessOrEqual(t, s.Model.Replies+s.Model.Failed.Sum(), s.Model.Calls)
	for _, tool := range s.Tools {
		assert.LessOrEqual(t, tool.Succeeded+tool.Failed.Sum()+tool.Unknown, tool.Attempts, tool.Name)
	}
	return s
}

// TestStatsOfAQuery: the tasks that are selected are counted, and who runs one is known.
func TestStatsOfAQuery(t *testing.T) {
	log, runners := memstore.New(), newRunners()
	putHistory(t, log, noon, "1", "demo", "succeeded")
	halted := putHistory(t, log, noon, "2", "halted", "planning")
	putHistory(t, log, noon.Add(time.Hour), "3", "partial", "partial")
	h := shared(t, log, runners, nil)
	var told []int
	all, err := h.Stats(t.Context(), Query{}, nil, func(done, total int) { told = append(told, done, total) })
	require.NoError(t, err)
	assert.Empty(t, all.Damage)
	assert.EqualValues(t, 3, all.Tasks.All)
	assert.EqualValues(t, 1, all.Tasks.Succeeded)
	assert.EqualValues(t, 1, all.Tasks.Stopped)
	assert.InDelta(t, 0.5, *all.Tasks.SuccessRate, 0)
	assert.Equal(t, []int{0, 3, 1, 3, 2, 3}, told)

	end, err := runners.Begin(t.Context(), halted)
	require.NoError(t, err)
	early, err := h.Stats(t.Context(), Query{Until: noon.Add(time.Minute)}, nil, nil)
	require.NoError(t, err)
	assert.EqualValues(t, 2, early.Tasks.All)
	assert.EqualValues(t, 1, early.Tasks.Running)
	end()

	chosen, err := h.Stats(t.Context(), Query{}, func(tasks []Summary) []Summary {
		require.Len(t, tasks, 3)
		return tasks[1:2]
	}, nil)
	require.NoError(t, err)
	assert.EqualValues(t, 1, chosen.Tasks.All)
	assert.EqualValues(t, 1, chosen.Model.Failed["auth"])

	none, err := h.Stats(t.Context(), Query{Phases: []string{"failed"}}, nil, nil)
	require.NoError(t, err)
	assert.Nil(t, none.Tasks.SuccessRate)
	assert.Contains(t, toJSON(t, none), `"success_rate":null`)
	assert.Contains(t, toJSON(t, none), `"tools":[],"rejected_plugins":{},"damage":[]}`)
}

// TestStatsGoOnAfterDamage: a task that cannot be read whole is named, and nothing of it is counted.
func TestStatsGoOnAfterDamage(t *testing.T) {
	log := memstore.New()
	garbled := putHistory(t, log, noon, "1", "demo", "succeeded")
	appendRaw(t, log, garbled, "", nil, []byte("garbage"))
	unlisted := putHistory(t, log, noon, "2", "demo", "succeeded")
	appendRaw(t, log, unlisted, "", []byte("garbage"), rawEvent(t, log, unlisted, &event.Claimed{Worker: "w", Fence: 2}))
	putHistory(t, log, noon, "3", "demo", "succeeded")
	s, err := shared(t, log, nil, nil).Stats(t.Context(), Query{}, nil, nil)
	require.NoError(t, err)
	assert.EqualValues(t, 1, s.Tasks.All)
	assert.EqualValues(t, 1, s.Calls.All)
	require.Len(t, s.Damage, 2)
	assert.Equal(t, unlisted, s.Damage[0].Task)
	assert.Equal(t, garbled, s.Damage[1].Task)
	assert.EqualValues(t, 36, s.Damage[1].Seq)
}

// shorterLog gives fewer events than its lists promise.
type shorterLog struct{ store.Log }

func (l *shorterLog) Read(ctx context.Context, id string, after uint64, limit int) ([]store.Record, error) {
	records, err := l.Log.Read(ctx, id, after, limit)
	return records[:len(records)-1], err
}

func TestStatsOfATaskThatIsCutOff(t *testing.T) {
	log := memstore.New()
	putHistory(t, log, noon, "1", "demo", "succeeded")
	s, err := shared(t, &shorterLog{log}, nil, nil).Stats(t.Context(), Query{}, nil, nil)
	require.NoError(t, err)
	assert.Zero(t, s.Tasks.All)
	require.Len(t, s.Damage, 1)
	assert.Equal(t, "it has 35 events in lists, and 34 are there", s.Damage[0].What)
}

// TestStatsInterrupted: between two tasks, and by a log that fails.
func TestStatsInterrupted(t *testing.T) {
	log := memstore.New()
	putHistory(t, log, noon, "1", "demo", "succeeded")
	putHistory(t, log, noon, "2", "demo", "succeeded")
	ctx, stop := context.WithCancel(t.Context())
	_, err := shared(t, log, nil, nil).Stats(ctx, Query{}, nil, func(done, _ int) {
		if done == 1 {
			stop()
		}
	})
	require.ErrorIs(t, err, ErrInterrupted)
	_, err = shared(t, &failingReads{log}, nil, nil).Stats(t.Context(), Query{}, nil, nil)
	require.ErrorIs(t, err, store.ErrFailed)
}

type failingReads struct{ store.Log }

func (l *failingReads) Read(context.Context, string, uint64, int) ([]store.Record, error) {
	return nil, errors.Join(store.ErrFailed, errors.New("no disk"))
}

// BenchmarkStats counts a store on disk of 10,000 tasks with 35 events each.
func BenchmarkStats(b *testing.B) {
	log, err := pebblestore.Open(b.TempDir(), pebblestore.Options{})
	require.NoError(b, err)
	defer func() { _ = log.Close() }()
	const tasks = 10_000
	first := putHistory(b, log, noon, "1", "demo", "succeeded")
	head, err := log.Head(b.Context(), first)
	require.NoError(b, err)
	records, err := log.Read(b.Context(), first, 0, 0)
	require.NoError(b, err)
	var data [][]byte
	for _, r := range records {
		data = append(data, r.Data)
	}
	for done := 1; done < tasks; {
		var c store.Commit
		for ; len(c.Appends) < 1000 && done < tasks; done++ {
			id := firstID(noon.Add(time.Duration(done) * time.Second))
			c.Appends = append(c.Appends, store.Append{Task: id, Records: data, Index: head.Index, Label: head.Label})
		}
		require.NoError(b, log.Commit(b.Context(), c))
	}
	h := shared(b, log, nil, nil)
	b.ReportAllocs()
	for b.Loop() {
		s, err := h.Stats(b.Context(), Query{}, nil, nil)
		require.NoError(b, err)
		require.EqualValues(b, tasks, s.Tasks.Succeeded)
		require.EqualValues(b, tasks, s.Latency.Verification.N+s.Calls.All)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/tasks, "us/task")
}
