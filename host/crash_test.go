package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
)

// unsynced are the shares of unsynced data, in percent, that survive the crashes of these tests.
var unsynced = [...]int{0, 50, 100}

// image is a disk as a crash leaves it, with what the world had seen before.
type image struct {
	point, percent int
	fs             *vfs.MemFS
	told           uint64
	executed       map[string]int
}

func crash(fs *vfs.MemFS, percent, seed int) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(uint64(seed), 1))})
}

// watch gives a file system that tells of each operation that writes, before it is done.
func watch(fs vfs.FS, inject errorfs.InjectorFunc) vfs.FS {
	writes := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
			return nil
		}
		return inject(op)
	})
	return &watchedFS{errorfs.Wrap(fs, writes), writes}
}

// watchedFS sees the writes to files that are used again as well, as write-ahead logs are; errorfs does not.
type watchedFS struct {
	*errorfs.FS
	inject errorfs.Injector
}

func (fs *watchedFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := fs.FS.ReuseForWrite(from, to, category)
	if err != nil {
		return nil, err
	}
	return errorfs.WrapFile(file, fs.inject), nil
}

// thinLog keeps blobs beside its log.
type thinLog struct {
	store.Log
	blobs *sync.Map
}

func (l *thinLog) Commit(ctx context.Context, c store.Commit) error {
	for _, b := range c.Blobs {
		l.blobs.Store(b.Key, b.Value)
	}
	c.Blobs = nil
	return l.Log.Commit(ctx, c)
}

func (l *thinLog) Blob(_ context.Context, _, key string) ([]byte, error) {
	if b, ok := l.blobs.Load(key); ok {
		return b.([]byte), nil
	}
	return nil, store.ErrNotFound
}

// TestCrashAtEveryWrite: the machine crashes before each operation that writes, from the making of the store to
// its closing. Whatever of the unsynced data survives: the store opens, it has every event that was told of, and
// the resumed task comes to the same answer, with no tool call run again whose result is in the log.
func TestCrashAtEveryWrite(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			c := &crashes{scene: &s, sub: s.sub(t), resumed: map[[2]int]bool{}}
			if (s.name != "demo" || raced) && !*crashAll {
				c.modules = &sync.Map{} // what a module does to the disk the demo shows
			}
			for i := range shoot(t, c) {
				c.judge(t, i)
			}
			require.NoError(t, c.err)
			require.Len(t, c.lines, c.events, "no crash came after the last event")
			require.Greater(t, c.points, 60)
			require.Greater(t, len(c.resumed), 5)
			t.Logf("%d write points, %d clones opened, %d resumed of %d distinct logs; losses 0, repeats 0",
				c.points, c.opened, c.resumptions, len(c.resumed))
		})
	}
}

// crashes is what is known of the crashes of one run.
type crashes struct {
	scene *scene
	sub   Submission

	modules *sync.Map // kept beside the store where set: so the clones are small
	err     error     // of the run
	events  int       // that it had in the end
	points  int       // writes

	opened, resumptions int
	resumed             map[[2]int]bool // by the last event and the share that survived
	lines               []string        // of the events of all clones: one history
}

// shoot runs the scene, and gives a picture of each crash. The run waits while one is looked at: a picture is as
// large as the plugins.
func shoot(t *testing.T, c *crashes) <-chan image {
	images, over := make(chan image), make(chan struct{})
	var ended sync.WaitGroup
	t.Cleanup(func() { close(over); ended.Wait() })
	var mu sync.Mutex
	w, mem, blocks := &world{}, vfs.NewCrashableMem(), 0
	fs := watch(mem, func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		c.points++
		if blocks++; op.Kind != errorfs.OpFileWrite {
			blocks = 0
		}
		if blocks > 4 && blocks%32 != 0 && !*crashAll {
			return nil // one more block of a module
		}
		for _, percent := range unsynced {
			told, executed := w.seen() // before the crash: all of it must be there
			select {
			case images <- image{c.points, percent, crash(mem, percent, c.points), told, executed}:
			case <-over:
			}
		}
		return nil
	})
	ended.Go(func() {
		defer close(images)
		c.err = c.run(fs, w)
	})
	return images
}

func (c *crashes) open(fs vfs.FS) (store.Log, error) {
	log, err := pebblestore.Open("dir", pebblestore.Options{FS: fs})
	if err == nil && c.modules != nil {
		return &thinLog{log, c.modules}, nil
	}
	return log, err
}

func (c *crashes) run(fs vfs.FS, w *world) error {
	log, err := c.open(fs)
	if err != nil {
		return err
	}
	h, err := Open(Options{Log: log, Model: &fakeModel{replies: c.scene.replies}, CacheDir: cacheDir(), Events: w.events()})
	if err == nil {
		_, err = h.Run(context.Background(), c.sub)
	}
	told, _ := w.seen()
	c.events = int(told)
	return errors.Join(err, log.Close())
}

// judge opens a clone, and resumes its task where no clone with the same log was resumed yet.
func (c *crashes) judge(t *testing.T, i image) {
	name := fmt.Sprintf("write %d, %d%% survives", i.point, i.percent)
	log, err := c.open(i.fs)
	require.NoError(t, err, name)
	defer func() { require.NoError(t, log.Close()) }()
	c.opened++
	events := theHistory(t, open(t, log, nil, Events{}))
	for n, line := range lines(t, events) {
		if n == len(c.lines) {
			c.lines = append(c.lines, line)
		}
		require.Equal(t, c.lines[n], line, "%s: event %d is not what it was", name, n+1)
	}
	require.GreaterOrEqual(t, len(events), int(i.told), "%s: an event that was told of is lost", name)
	reached := operations(events)
	for operation := range i.executed {
		require.Contains(t, reached, operation, "%s: a tool ran of whose start the log does not know", name)
	}
	key := [2]int{len(events), i.percent}
	if raced {
		key[1] = 0
	}
	if c.resumed[key] && !*crashAll {
		return
	}
	c.resumed[key] = true
	c.resumptions++
	c.scene.aftermath(t, log, c.sub, i.told, i.executed)
}
