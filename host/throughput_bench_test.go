package host

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
)

// benchSteps is how many steps a task of BenchmarkSteps has: a log and a conversation of ordinary length.
const benchSteps = 50

// BenchmarkSteps runs tasks beside each other, of steps that cost nothing themselves: a reply, a call of a tool, its
// result. In turns with each round, the engine alone commits and syncs what the round committed, task by task.
// Targets on two cores: 64 tasks 20,000 events/s and 4,000 steps/s; one task 400 steps/s.
func BenchmarkSteps(b *testing.B) {
	b.Run("tasks=1", func(b *testing.B) { benchTasks(b, 1) })
	b.Run("tasks=64", func(b *testing.B) { benchTasks(b, 64) })
}

func benchTasks(b *testing.B, tasks int) {
	var events atomic.Int64
	log := &keepingLog{Log: onDisk(b), kept: map[string][]store.Append{}}
	h := benchHost(b, log, stepping(benchSteps), &events)
	engine, err := pebble.Open(filepath.Join(b.TempDir(), "engine"), &pebble.Options{Logger: quiet{}, MemTableSize: 4 << 20})
	require.NoError(b, err)
	sub := trivialTask(b, benchSteps)
	require.NoError(b, runSteps(b.Context(), h, sub)) // compiles the tool
	var ours, engines, busy time.Duration
	events.Store(0)
	steps := 0
	for b.Loop() {
		log.take()
		before := cpuTime(b)
		ours += beside(tasks, func(int) { noError(b, runSteps(b.Context(), h, sub)) })
		busy += cpuTime(b) - before
		steps += tasks * benchSteps
		rounds := log.take()
		engines += beside(len(rounds), func(i int) { noError(b, commitBare(engine, rounds[i])) })
	}
	require.NoError(b, engine.Close())
	perCall := wasmCost(b, sub.Tools[0])
	b.ReportMetric(float64(events.Load())/ours.Seconds(), "events/s")
	b.ReportMetric(float64(steps)/ours.Seconds(), "steps/s")
	b.ReportMetric(float64(busy.Microseconds())/float64(steps), "cpu-µs/step")
	b.ReportMetric(float64(events.Load())/engines.Seconds(), "engine-events/s")
	b.ReportMetric(engines.Seconds()/ours.Seconds(), "engine-share")
	b.ReportMetric(perCall.Seconds()*float64(steps)/busy.Seconds(), "wasm-share")
}

// noError is for goroutines other than the test's own.
func noError(b *testing.B, err error) {
	if err != nil {
		b.Error(err)
	}
}

// beside runs n goroutines and says how long all of them took.
func beside(n int, run func(int)) time.Duration {
	start := time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { run(i) })
	}
	all.Wait()
	return time.Since(start)
}

// cpuTime is what this process has had of the processors so far: what others on the machine do not change much.
func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// wasmCost is what a call of the tool takes of the processors, by itself: an instance of its own, and the call.
func wasmCost(b *testing.B, tool *plugins.Inspection) time.Duration {
	p, err := plugins.Load(b.Context(), tool, plugins.Options{})
	require.NoError(b, err)
	defer func() { require.NoError(b, p.Close()) }()
	const calls = 2000
	before := cpuTime(b)
	for range calls {
		_, err := p.CallTool(b.Context(), abi.ToolInput{Tool: "act", Arguments: json.RawMessage(`{"n":1}`)}, nil)
		require.NoError(b, err)
	}
	return (cpuTime(b) - before) / calls
}

// keepingLog keeps what was appended, by task.
type keepingLog struct {
	store.Log
	mu   sync.Mutex
	kept map[string][]store.Append
}

func (l *keepingLog) Commit(ctx context.Context, c store.Commit) error {
	err := l.Log.Commit(ctx, c)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range c.Appends {
		l.kept[a.Task] = append(l.kept[a.Task], a)
	}
	return err
}

// take gives what was kept, and forgets it.
func (l *keepingLog) take() [][]store.Append {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out [][]store.Append
	for _, appends := range l.kept {
		out = append(out, appends)
	}
	clear(l.kept)
	return out
}

// commitBare puts the records of one task into the engine, with the same commits.
func commitBare(db *pebble.DB, appends []store.Append) error {
	for _, a := range appends {
		batch := db.NewBatch()
		_ = batch.Set([]byte(a.Task), a.Index, nil)
		for i, r := range a.Records {
			key := []byte(a.Task + "/01234567")
			for j := range 8 {
				key[len(key)-1-j] = byte((a.Expected + uint64(i)) >> (8 * j))
			}
			_ = batch.Set(key, r, nil)
		}
		if err := batch.Commit(pebble.Sync); err != nil {
			return err
		}
	}
	return nil
}

// quiet keeps the engine's lines out of the figures.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}
