package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/axishost/axishost/store/sealed"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// faulty runs one scene on disks with one fault each.
type faulty struct {
	scene   *scene
	sub     Submission
	key     *sealed.Key // where set, the store is encrypted with it
	modules sync.Map
	lasting bool // all writes fail after the first that does
}

// TestFaultAtEveryWrite: the n-th write of a disk fails, for every n, as on a full, a broken and a read-only one.
// The run ends with one error that says so, and once the disk works the task comes to the same answer.
func TestFaultAtEveryWrite(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	for i, s := range scenes() {
		if raced && i == 0 && !*crashAll {
			continue // its guests take long, and the others show the same
		}
		f := &faulty{scene: &s, sub: s.sub(t)}
		name := s.name
		if i == 2 {
			name += ", encrypted"
			f.key = newKey(t)
		}
		t.Run(name, func(t *testing.T) { f.all(t) })
		if *crashAll {
			f.lasting = true
			t.Run(name+", lasting", func(t *testing.T) { f.all(t) })
		}
	}
	goleak.VerifyNone(t, leaks)
}

func newKey(t testing.TB) *sealed.Key {
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, sealed.NewKeyFile(path))
	key, err := sealed.ReadKeyFile(path)
	require.NoError(t, err)
	return key
}

func (f *faulty) all(t *testing.T) {
	faults := []error{syscall.ENOSPC, syscall.EIO, syscall.EROFS}
	points, opening, running, resumed := 0, 0, 0, 0
	stride := 1
	if raced && !*crashAll {
		stride = 4 // and all faults in turn
	}
	for n := 1; ; n += stride {
		each := faults[n%len(faults) : n%len(faults)+1]
		if *crashAll {
			each = faults
		}
		reached := true
		for _, fault := range each {
			got := f.once(t, int64(n), fault)
			reached = reached && got.reached
			opening, running, resumed = opening+got.opening, running+got.running, resumed+got.resumed
		}
		if !reached {
			break
		}
		points++
	}
	require.Greater(t, running, 10/stride)
	t.Logf("%d write points; faults felt: %d by opening, %d by the run; %d tasks resumed; losses 0, repeats 0",
		points, opening, running, resumed)
}

// felt is what came of a fault.
type felt struct {
	reached                   bool // there was such a write
	opening, running, resumed int
}

func (f *faulty) once(t *testing.T, n int64, fault error) (out felt) {
	var writes atomic.Int64
	mem, w := vfs.NewMem(), &world{}
	fs := watch(mem, func(op errorfs.Op) error {
		if i := writes.Add(1); i == n || f.lasting && i > n {
			return fmt.Errorf("write %d, %s: %w", i, op.Path, fault)
		}
		return nil
	})
	log, err := f.open(fs)
	if err != nil {
		require.ErrorIs(t, err, fault, "write %d", n)
		require.NotContains(t, err.Error(), "\n")
		out.opening++
	} else {
		out.running += f.run(t, log, w, n)
	}
	out.reached = writes.Load() >= n
	told, executed := w.seen()
	log, err = f.open(mem)
	require.NoError(t, err, "write %d", n)
	if out.opening > 0 && !*crashAll { // nothing was begun
		require.Empty(t, theHistory(t, open(t, log, nil, Events{})))
		require.NoError(t, log.Close())
		return out
	}
	if f.scene.aftermath(t, log, f.sub, told, executed) > 0 {
		out.resumed++
	}
	require.NoError(t, log.Close())
	return out
}

// run runs the task and gives 1 where it failed because of the fault.
func (f *faulty) run(t *testing.T, log store.Log, w *world, n int64) int {
	h := open(t, log, &fakeModel{replies: f.scene.replies}, w.events())
	r, err := h.Run(context.Background(), f.sub)
	closed := log.Close()
	told, _ := w.seen()
	if err == nil {
		require.Equal(t, f.scene.answer, r.Answer)
		return 0
	}
	require.ErrorIs(t, err, store.ErrFailed, "write %d", n)
	require.NotContains(t, err.Error(), "\n")
	require.ErrorIs(t, closed, store.ErrFailed)
	require.Equal(t, told > 0, r != nil, "a run that has a task says which")
	return 1
}

func (f *faulty) open(fs vfs.FS) (store.Log, error) {
	inner, err := pebblestore.Open("dir", pebblestore.Options{FS: fs})
	if err != nil {
		return nil, err
	}
	log, err := sealed.Open(context.Background(), inner, sealed.Options{Key: f.key})
	if err != nil {
		return nil, errors.Join(err, ignoreFailed(inner.Close()))
	}
	return &thinLog{log, &f.modules}, nil
}

// ignoreFailed: what made a log fail was told of before.
func ignoreFailed(err error) error {
	if errors.Is(err, store.ErrFailed) {
		return nil
	}
	return err
}
