package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
)

// manyTasks is how many tasks are recovered, or wait, at once.
const manyTasks = 1000

// stepsBefore is how many steps each of them has made.
const stepsBefore = 3

// waitingModel answers for the first steps; then it counts who asks, and keeps them.
type waitingModel struct {
	waiting atomic.Int64
	all     chan struct{} // closed when all wait
}

func newWaitingModel() *waitingModel { return &waitingModel{all: make(chan struct{})} }

func (m *waitingModel) Complete(ctx context.Context, req model.Request, _ func(model.Progress)) (*model.Reply, error) {
	if req.Ordinal <= stepsBefore {
		return stepping(stepsBefore)(ctx, req)
	}
	m.arrive()
	<-ctx.Done()
	return nil, ctx.Err()
}

func (m *waitingModel) arrive() {
	if m.waiting.Add(1) == manyTasks {
		close(m.all)
	}
}

// crowd runs tasks beside each other until all of them wait, and says how long that took since start; whileWaiting is
// called then. It returns once all were interrupted.
func (m *waitingModel) crowd(b *testing.B, start time.Time, run func(ctx context.Context, i int) error, whileWaiting func()) time.Duration {
	ctx, stop := context.WithCancel(b.Context())
	var all sync.WaitGroup
	for i := range manyTasks {
		all.Go(func() {
			if err := run(ctx, i); !errors.Is(err, ErrInterrupted) {
				b.Error(err)
			}
		})
	}
	select {
	case <-m.all:
	case <-time.After(2 * time.Minute):
		b.Error("only", m.waiting.Load(), "tasks wait")
	}
	took := time.Since(start)
	whileWaiting()
	stop()
	all.Wait()
	return took
}

// BenchmarkRecovery takes over a thousand tasks that were each waiting for a reply when their worker died, as a new one
// that claims them all does: the store is opened, each log folded, each task claimed, and its call made again. The code
// of plugins is in the cache. Target: 2 s.
func BenchmarkRecovery(b *testing.B) {
	dir, cache := filepath.Join(b.TempDir(), "log"), filepath.Join(b.TempDir(), "cache")
	begin := func() (*Host, store.Log, *waitingModel) {
		log, err := pebblestore.Open(dir, pebblestore.Options{})
		require.NoError(b, err)
		m := newWaitingModel()
		h, err := Open(Options{Log: log, Model: m, CacheDir: cache})
		require.NoError(b, err)
		return h, log, m
	}
	h, log, m := begin()
	sub := trivialTask(b, 100)
	m.crowd(b, time.Now(), func(ctx context.Context, _ int) error { _, err := h.Run(ctx, sub); return err }, func() {})
	require.NoError(b, log.Close())
	var took time.Duration
	for b.Loop() {
		start := time.Now()
		h, log, m := begin()
		tasks, err := h.List(b.Context(), Query{})
		require.NoError(b, err)
		require.Len(b, tasks, manyTasks)
		took += m.crowd(b, start, func(ctx context.Context, i int) error { _, err := h.Resume(ctx, tasks[i].ID); return err }, func() {})
		require.NoError(b, log.Close())
	}
	b.ReportMetric(took.Seconds()/float64(b.N), "s/recovery")
}

// BenchmarkWaiting has a thousand tasks wait in one process, and says what of its memory each takes: of the Go heap and
// the stacks of goroutines, and of what the system counts. Target: 64 KB. A task that waits for a person is not in here:
// its run has ended, and nothing of it is left in memory.
func BenchmarkWaiting(b *testing.B) {
	b.Run("reply", func(b *testing.B) {
		benchWaiting(b, func(m *waitingModel) Model { return m })
	})
	b.Run("timer", func(b *testing.B) {
		benchWaiting(b, func(m *waitingModel) Model {
			return modelFunc(func(ctx context.Context, req model.Request) (*model.Reply, error) {
				if req.Ordinal <= stepsBefore {
					return stepping(stepsBefore)(ctx, req)
				}
				return nil, &model.Error{Class: model.ClassRateLimited, Status: 429, RetryAfter: 50 * time.Minute}
			})
		})
	})
}

func benchWaiting(b *testing.B, of func(*waitingModel) Model) {
	for b.Loop() {
		b.StopTimer()
		m := newWaitingModel()
		h, err := Open(Options{Log: onDisk(b), Model: of(m), CacheDir: filepath.Join(b.TempDir(), "cache"), Events: Events{
			Committed: func(e *Event) {
				if e.Payload.Type() == event.TypeRetryScheduled {
					m.arrive()
				}
			},
		}})
		require.NoError(b, err)
		sub := trivialTask(b, 100)
		sub.Config.Limits.RetryMax = time.Hour.Milliseconds()
		before := measure()
		b.StartTimer()
		m.crowd(b, time.Now(), func(ctx context.Context, _ int) error { _, err := h.Run(ctx, sub); return err }, func() {
			after := measure()
			b.ReportMetric((after.heap-before.heap)/1024/manyTasks, "heap-KB/task")
			b.ReportMetric((after.stacks-before.stacks)/1024/manyTasks, "stack-KB/task")
			b.ReportMetric((after.resident-before.resident)/1024/manyTasks, "rss-KB/task")
			b.ReportMetric((after.goroutines-before.goroutines)/manyTasks, "goroutines/task")
		})
	}
}

// footprint is what a process uses, in bytes.
type footprint struct{ heap, stacks, resident, goroutines float64 }

func measure() footprint {
	debug.FreeOSMemory() // collects first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := footprint{heap: float64(m.HeapAlloc), stacks: float64(m.StackInuse), goroutines: float64(runtime.NumGoroutine())}
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil { // Linux alone
		if fields := strings.Fields(string(statm)); len(fields) > 1 {
			pages, _ := strconv.Atoi(fields[1])
			u.resident = float64(pages * os.Getpagesize())
		}
	}
	return u
}
