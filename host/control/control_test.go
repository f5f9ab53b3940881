package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/axishost/axishost/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestConformance: a shared store is a store, for the process that has it and for one that has it from another.
func TestConformance(t *testing.T) {
	t.Run("own", func(t *testing.T) {
		storetest.Run(t, storetest.Factory{
			Open: func(t *testing.T, dir string) store.Log { return share(t, dir, memory()) },
		})
	})
	t.Run("another's", func(t *testing.T) {
		storetest.Run(t, storetest.Factory{
			Open: func(t *testing.T, dir string) store.Log {
				open := memory()
				holder := share(t, dir, open)
				t.Cleanup(func() { require.NoError(t, holder.Close()) })
				return share(t, dir, open)
			},
		})
	})
	t.Run("on disk", func(t *testing.T) {
		storetest.Run(t, storetest.Factory{
			Durable: true,
			Open:    func(t *testing.T, dir string) store.Log { return share(t, dir, disk(dir)) },
		})
	})
}

// memory opens a store in memory, which one Log at a time can have.
func memory() func() (store.Log, error) {
	var mu sync.Mutex
	taken := false
	return func() (store.Log, error) {
		mu.Lock()
		defer mu.Unlock()
		if taken {
			return nil, store.ErrInUse
		}
		taken = true
		return memstore.New(), nil
	}
}

func disk(dir string) func() (store.Log, error) {
	return func() (store.Log, error) { return pebblestore.Open(dir, pebblestore.Options{}) }
}

func share(t *testing.T, dir string, open func() (store.Log, error)) *Log {
	t.Helper()
	log, err := Open(t.Context(), Options{Dir: dir, Open: open, Version: "test"})
	require.NoError(t, err)
	return log
}

func append1(task string, expected uint64, data string) store.Commit {
	return store.Commit{Appends: []store.Append{{Task: task, Expected: expected, Records: [][]byte{[]byte(data)}}}}
}

func TestSocketIsPrivate(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, socketName+".12"), nil, 0o600)) // of one that was killed
	log := share(t, dir, memory())
	info, err := os.Stat(filepath.Join(dir, socketName))
	require.NoError(t, err)
	assert.Equal(t, os.ModeSocket|0o600, info.Mode())
	require.NoError(t, log.Close())
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, names, "the socket goes with its process")
}

// TestStaleSocket: what a dead process left in the place of the socket is no obstacle.
func TestStaleSocket(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, dir string){
		"a dead socket": func(t *testing.T, dir string) {
			s, err := listen(dir)
			require.NoError(t, err)
			require.NoError(t, s.Close())
			require.FileExists(t, filepath.Join(dir, socketName))
		},
		"a file": func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, socketName), []byte("x"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			leave(t, dir)
			open := memory()
			holder := share(t, dir, open)
			other := share(t, dir, open)
			require.NoError(t, other.Commit(t.Context(), append1("t", 0, "r")))
			require.NoError(t, other.Close())
			require.NoError(t, holder.Close())
		})
	}
}

// TestLongPath: a directory whose path is longer than a socket's may be.
func TestLongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	require.NoError(t, os.Mkdir(dir, 0o700))
	open := memory()
	holder := share(t, dir, open)
	other := share(t, dir, open)
	require.NoError(t, other.Commit(t.Context(), append1("t", 0, "r")))
	require.NoError(t, other.Close())
	require.NoError(t, holder.Close())
}

// TestTakeOver: when the process that has the store ends, another takes it, and nobody notices.
func TestTakeOver(t *testing.T) {
	dir := t.TempDir()
	first := share(t, dir, disk(dir))
	second := share(t, dir, disk(dir))
	third := share(t, dir, disk(dir))
	require.NoError(t, second.Commit(t.Context(), append1("t", 0, "one")))
	watched := make(chan error, 1)
	go func() {
		_, err := third.Watch(context.Background(), "t", 1)
		watched <- err
	}()
	require.NoError(t, first.Close())
	require.NoError(t, second.Commit(t.Context(), append1("t", 1, "two")))
	require.NoError(t, <-watched)
	require.NoError(t, second.Close())
	records, err := third.Read(t.Context(), "t", 0, 0)
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.NoError(t, third.Close())
}

// TestHammer has many processes' worth of logs come and go while each commits. Nothing is lost or done twice,
// and each number follows the last.
func TestHammer(t *testing.T) {
	dir := t.TempDir()
	const writers, rounds, commits = 8, 6, 8
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			task, seq := fmt.Sprint("task", w), uint64(0)
			for range rounds {
				log, err := Open(t.Context(), Options{Dir: dir, Open: disk(dir), Version: "test"})
				if !assert.NoError(t, err) {
					return
				}
				for range commits {
					if !assert.NoError(t, log.Commit(t.Context(), append1(task, seq, fmt.Sprint(seq)))) {
						return
					}
					seq++
				}
				assert.NoError(t, log.Close())
			}
		})
	}
	all.Wait()
	log := share(t, dir, disk(dir))
	for w := range writers {
		records, err := log.Read(t.Context(), fmt.Sprint("task", w), 0, 0)
		require.NoError(t, err)
		require.Len(t, records, rounds*commits)
		for i, r := range records {
			require.Equal(t, fmt.Sprint(i), string(r.Data))
		}
	}
	require.NoError(t, log.Close())
}

// holderThatDies serves dir with inner like another process, which dies after it has done the n-th call and
// before it answers; inner is then free for the next.
func holderThatDies(t *testing.T, dir string, inner store.Log, n int) {
	t.Helper()
	s, err := listen(dir)
	require.NoError(t, err)
	real := &server{Log: inner, runners: runners{tasks: map[string]int{}}, calls: context.Background()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+helloPath, real.hello)
	web := &http.Server{Handler: mux}
	mux.HandleFunc("POST "+callPath, func(w http.ResponseWriter, r *http.Request) {
		if n--; n > 0 {
			real.call(w, r)
			return
		}
		req := receive(w, r)
		_, _ = real.perform(r.Context(), req)
		s.remove()
		_ = web.Close()
	})
	go func() { _ = web.Serve(s) }()
}

// TestAnswerLost: the process that has the store dies when it has done a call and before it has answered. The
// call is neither lost nor done twice.
func TestAnswerLost(t *testing.T) {
	for name, call := range map[string]func(log *Log) error{
		"commit": func(log *Log) error { return log.Commit(context.Background(), append1("t", 1, "two")) },
		"delete": func(log *Log) error { return log.Delete(context.Background(), "t", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, inner := t.TempDir(), memstore.New()
			require.NoError(t, inner.Commit(t.Context(), append1("t", 0, "one")))
			holderThatDies(t, dir, inner, 1)
			log := share(t, dir, func() (store.Log, error) { return inner, nil })
			require.NoError(t, call(log))
			if name == "commit" {
				head, err := log.Head(t.Context(), "t")
				require.NoError(t, err)
				require.EqualValues(t, 2, head.Last)
			} else {
				_, err := log.Head(t.Context(), "t")
				require.ErrorIs(t, err, store.ErrNotFound)
			}
			require.NoError(t, log.Close())
		})
	}
}

// TestConflictIsNotMistaken: where the answer got lost and another writer has the number now, it is a conflict.
func TestConflictIsNotMistaken(t *testing.T) {
	dir, inner := t.TempDir(), memstore.New()
	require.NoError(t, inner.Commit(t.Context(), append1("t", 0, "one")))
	require.NoError(t, inner.Commit(t.Context(), append1("t", 1, "other")))
	holderThatDies(t, dir, inner, 1)
	log := share(t, dir, func() (store.Log, error) { return inner, nil })
	require.ErrorIs(t, log.Commit(t.Context(), append1("t", 1, "two")), store.ErrConflict)
	require.NoError(t, log.Close())
}

// TestHungHolder: a process that has the store and does not answer is an error that names it.
func TestHungHolder(t *testing.T) {
	dir := t.TempDir()
	s, err := listen(dir)
	require.NoError(t, err)
	defer s.Close()
	var waited atomic.Bool
	_, err = Open(t.Context(), Options{
		Dir: dir, Open: memory(), Patience: 50 * time.Millisecond, Waiting: func() { waited.Store(true) },
	})
	require.ErrorIs(t, err, store.ErrInUse)
	require.ErrorContains(t, err, fmt.Sprintf("opening the log in %q", dir))
	require.ErrorContains(t, err, fmt.Sprintf("process %d has it and does not answer; end it (kill -9 %[1]d)", os.Getpid()))
	require.True(t, waited.Load())
}

// TestHolderWithoutSocket: so is one that has the lock and serves nothing.
func TestHolderWithoutSocket(t *testing.T) {
	_, err := Open(t.Context(), Options{
		Dir: t.TempDir(), Patience: 20 * time.Millisecond, Open: func() (store.Log, error) { return nil, store.ErrInUse },
	})
	require.ErrorIs(t, err, store.ErrInUse)
	require.ErrorContains(t, err, "does not serve it to others; end the axishost that has it, or name another directory")
}

func TestOtherProtocol(t *testing.T) {
	dir := t.TempDir()
	s, err := listen(dir)
	require.NoError(t, err)
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"protocol": 7, "version": "v9", "pid": 12, "more": true}`)
	})}
	go func() { _ = web.Serve(s) }()
	defer web.Close()
	_, err = Open(t.Context(), Options{Dir: dir, Open: memory()})
	require.ErrorIs(t, err, store.ErrInUse)
	require.ErrorContains(t, err, "process 12 has it (axishost v9) and speaks version 7 of the protocol, this one speaks 1; use the same version")
}

// TestErrorsKeepTheirMeaning: an error of the store is the same on the other side.
func TestErrorsKeepTheirMeaning(t *testing.T) {
	for _, err := range []error{
		store.ErrConflict, store.ErrFenced, store.ErrNotFound, store.ErrInvalid, store.ErrFailed,
		&store.CorruptError{Task: "t", Seq: 3, Detail: "checksum mismatch"}, &BusyError{Task: "t", PID: 3},
	} {
		far := failed(fmt.Errorf("%w: task %q", err, "t")).err()
		require.ErrorIs(t, far, errors.Unwrap(fmt.Errorf("%w", far)))
		switch known := err.(type) {
		case *store.CorruptError, *BusyError:
			require.Equal(t, known, far)
		default:
			require.ErrorIs(t, far, err)
			require.Equal(t, err.Error()+`: task "t"`, far.Error())
		}
	}
	require.EqualError(t, failed(errors.New("disk on fire")).err(), "disk on fire")
}

// TestRunning: a task is run by one process at a time, and by none when that has ended or died.
func TestRunning(t *testing.T) {
	dir, open := t.TempDir(), memory()
	holder, other := share(t, dir, open), share(t, dir, open)
	for _, log := range []*Log{holder, other} {
		end, err := log.Begin(t.Context(), "t")
		require.NoError(t, err)
		for _, asking := range []*Log{holder, other} {
			_, err = asking.Begin(t.Context(), "t")
			var busy *BusyError
			require.ErrorAs(t, err, &busy)
			require.Equal(t, &BusyError{Task: "t", PID: os.Getpid()}, busy)
			running, err := asking.Running(t.Context())
			require.NoError(t, err)
			require.Equal(t, map[string]int{"t": os.Getpid()}, running)
		}
		end()
		require.Eventually(t, func() bool { // the holder hears of it by the end of a connection
			running, err := holder.Running(t.Context())
			return err == nil && len(running) == 0
		}, 10*time.Second, time.Millisecond)
	}
	_, err := other.Begin(t.Context(), "t")
	require.NoError(t, err)
	require.NoError(t, other.Close())
	require.NoError(t, holder.Close())
}

// TestRunningOutlivesTheHolder: the next process that has the store knows of the tasks too.
func TestRunningOutlivesTheHolder(t *testing.T) {
	dir := t.TempDir()
	first, second := share(t, dir, disk(dir)), share(t, dir, disk(dir))
	end, err := second.Begin(t.Context(), "t")
	require.NoError(t, err)
	require.NoError(t, first.Close())
	third := share(t, dir, disk(dir))
	require.Eventually(t, func() bool {
		running, err := third.Running(t.Context())
		return err == nil && running["t"] != 0
	}, 10*time.Second, time.Millisecond)
	end()
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
}

// FuzzRequest: whatever arrives on the socket, it is answered.
func FuzzRequest(f *testing.F) {
	enc, _ := encoding()
	for _, m := range []method{methodCommit, methodRead, methodBlob, methodHead, methodList, methodDelete, methodRunning, "other"} {
		body, err := enc.Marshal(&request{Method: m, Task: "t", Key: "k", Seq: 1, Commit: append1("t", 0, "r")})
		require.NoError(f, err)
		f.Add(body)
	}
	f.Add([]byte("\xbf"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := &server{Log: memstore.New(), runners: runners{tasks: map[string]int{}}, calls: context.Background()}
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nothing waits
		w := &quiet{header: http.Header{}}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, callPath, strings.NewReader(string(body)))
		require.NoError(t, err)
		s.call(w, r)
		require.Positive(t, w.written)
	})
}

// quiet takes a response and keeps its size.
type quiet struct {
	header  http.Header
	written int
}

func (q *quiet) Header() http.Header { return q.header }
func (q *quiet) WriteHeader(int)     {}
func (q *quiet) Write(b []byte) (int, error) {
	q.written += len(b)
	return len(b), nil
}
