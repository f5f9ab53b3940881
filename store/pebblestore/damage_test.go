package pebblestore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// filled gives a file system with a log of one task that has 400 records, as a crash leaves it, and as Close does.
func filled(t *testing.T) (crashed, closed *vfs.MemFS) {
	mem := vfs.NewCrashableMem()
	log, err := Open("dir", Options{FS: mem})
	require.NoError(t, err)
	record := strings.Repeat("0123456789", 30)
	for seq := range uint64(400) {
		require.NoError(t, log.Commit(t.Context(), append1("t", seq, record)))
	}
	crashed = crash(mem, 0, 0)
	require.NoError(t, log.Close())
	return crashed, mem
}

// After Close nothing is left in write-ahead logs, whose last block the engine cannot check.
func TestCloseLeavesNothingInTheWriteAheadLog(t *testing.T) {
	_, mem := filled(t)
	for _, name := range files(t, mem, ".log") {
		rewrite(t, mem, name, cut(0))
	}
	log, err := Open("dir", Options{FS: mem})
	require.NoError(t, err)
	records, err := log.Read(t.Context(), "t", 0, 0)
	require.NoError(t, err)
	require.Len(t, records, 400)
	require.NoError(t, log.Close())
}

// The contents of the directories that these tests damage: tasks "t0" to "t5", in one table each, or in a
// write-ahead log.
const (
	damageTasks   = 6
	damageRecords = 40
	damageSize    = 300
)

func damageTask(i int) string { return fmt.Sprint("t", i) }

// damageData gives bytes that tell what they are of, and do not compress.
func damageData(task string, n, size int) []byte {
	out := fmt.Appendf(nil, "%s/%d:", task, n)
	for r := rand.New(rand.NewPCG(uint64(n), uint64(task[1]))); len(out) < size; {
		out = append(out, byte(r.Uint32()))
	}
	return out
}

func damageCommit(task string) store.Commit {
	a := store.Append{Task: task, Index: []byte("index of " + task), Label: "label"}
	var blobs []store.Blob
	for n := 1; n <= damageRecords; n++ {
		a.Records = append(a.Records, damageData(task, n, damageSize))
		if n%8 == 0 {
			blobs = append(blobs, store.Blob{Task: task, Key: fmt.Sprint(n), Value: damageData(task, n, 10*damageSize)})
		}
	}
	return store.Commit{Appends: []store.Append{a}, Blobs: blobs}
}

// tables gives a closed log whose tasks are in tables that the next Open begins to compact.
func tables(t *testing.T) *vfs.MemFS {
	t.Helper()
	mem := vfs.NewCrashableMem()
	log, err := Open("dir", Options{FS: mem})
	require.NoError(t, err)
	log.fuse.compactions.stop(errors.New("not now"))
	for i := range damageTasks {
		require.NoError(t, log.Commit(t.Context(), damageCommit(damageTask(i))))
		require.NoError(t, log.db.Flush())
	}
	require.NoError(t, log.Close())
	return mem
}

// unflushed gives a log as a crash leaves it, with its tasks in the write-ahead log.
func unflushed(t *testing.T) *vfs.MemFS {
	t.Helper()
	mem := vfs.NewCrashableMem()
	log, err := Open("dir", Options{FS: mem})
	require.NoError(t, err)
	for i := range damageTasks {
		require.NoError(t, log.Commit(t.Context(), damageCommit(damageTask(i))))
	}
	crashed := crash(mem, 0, 0)
	require.NoError(t, log.Close())
	return crashed
}

// files gives the names of the files with the prefix or suffix, in order.
func files(t *testing.T, fs vfs.FS, affix string) []string {
	t.Helper()
	names, err := fs.List("dir")
	require.NoError(t, err)
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, affix) && !strings.HasSuffix(name, affix)
	})
	require.NotEmpty(t, names, affix)
	slices.Sort(names)
	return names
}

// rewrite replaces a file's contents by what change makes of them; nil: it is removed.
func rewrite(t *testing.T, fs *vfs.MemFS, name string, change func([]byte) []byte) {
	t.Helper()
	name = path.Join("dir", name)
	old, err := fs.UnsafeGetFileDataBuffer(name)
	require.NoError(t, err)
	data := change(slices.Clone(old))
	require.NoError(t, fs.Remove(name))
	if data == nil {
		return
	}
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(data)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func flip(at int) func([]byte) []byte {
	return func(data []byte) []byte {
		data[at] ^= 1 << (at % 8)
		return data
	}
}

func cut(percent int) func([]byte) []byte {
	return func(data []byte) []byte { return append([]byte{}, data[:len(data)*percent/100]...) }
}

func garbage(data []byte) []byte {
	return []byte(strings.Repeat("what is this? ", 1+len(data)/14))
}

func remove([]byte) []byte { return nil }

// within ends the test when call hangs.
func within(t *testing.T, what string, call func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	watchdog := time.NewTimer(2 * time.Minute)
	defer watchdog.Stop()
	select {
	case <-done:
	case <-watchdog.C:
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s hangs\n%s", what, stacks[:runtime.Stack(stacks, true)])
	}
}

// outcome counts what came of damages.
type outcome struct{ refused, partial, whole int }

// judge opens a damaged directory, twice. It may refuse to, in one line; else each call either gives what was
// written or says what is damaged. lossy: what was not flushed may be gone, from some task on.
func (o *outcome) judge(t *testing.T, fs vfs.FS, lossy bool) {
	t.Helper()
	for range 2 {
		var log *Log
		var err error
		within(t, "Open", func() { log, err = Open("dir", Options{FS: fs}) })
		if err != nil {
			requireLine(t, err, "dir", "")
			o.refused++
			return
		}
		var unread int
		within(t, "reading", func() { unread = readDamaged(t, log, lossy) })
		within(t, "Compact", func() { allowDamage(t, log.Compact(t.Context())) })
		within(t, "Commit", func() { allowDamage(t, log.Commit(t.Context(), append1("new", lastOf(t, log, "new"), "r"))) })
		within(t, "Close", func() { err = log.Close() })
		require.NoError(t, err)
		if unread > 0 {
			o.partial++
		} else {
			o.whole++
		}
	}
}

func lastOf(t *testing.T, log *Log, task string) uint64 {
	h, err := log.Head(t.Context(), task)
	if !errors.Is(err, store.ErrNotFound) {
		allowDamage(t, err)
	}
	return h.Last
}

// allowDamage accepts no error, and one that tells in a line what is damaged; it says which of the two it is.
func allowDamage(t *testing.T, err error) (damaged bool) {
	t.Helper()
	if err == nil {
		return false
	}
	var corrupt *store.CorruptError
	require.ErrorAs(t, err, &corrupt)
	require.NotErrorIs(t, err, store.ErrFailed)
	require.NotContains(t, err.Error(), "\n")
	require.Regexp(t, `[0-9]{6}\.sst|checksum|missing`, corrupt.Detail)
	return true
}

// readDamaged reads everything, and says how many tasks could not be read whole.
func readDamaged(t *testing.T, log *Log, lossy bool) (unread int) {
	_, err := log.List(t.Context(), store.Query{})
	allowDamage(t, err)
	lost := false
	for i := range damageTasks {
		task := damageTask(i)
		records, err := log.Read(t.Context(), task, 0, 0)
		if lossy && errors.Is(err, store.ErrNotFound) {
			lost = true
			continue
		}
		require.False(t, lost, "what was committed later is there")
		damaged := allowDamage(t, err)
		if !damaged {
			require.Len(t, records, damageRecords)
		}
		for n := 1; n <= damageRecords && !damaged; n++ {
			require.Equal(t, damageData(task, n, damageSize), records[n-1].Data)
		}
		for n := 8; n <= damageRecords; n += 8 {
			blob, err := log.Blob(t.Context(), task, fmt.Sprint(n))
			if allowDamage(t, err) {
				damaged = true
				continue
			}
			require.Equal(t, damageData(task, n, 10*damageSize), blob)
		}
		if damaged {
			unread++
		}
	}
	return unread
}

// Every kind of damage to a table; the compaction that Open begins meets it.
func TestDamagedTable(t *testing.T) {
	undamaged := tables(t)
	names := files(t, undamaged, ".sst")
	require.Greater(t, len(names), damageTasks)
	for _, name := range []string{names[0], names[1], names[len(names)-1]} { // the first has the format version alone
		info, err := undamaged.Stat("dir/" + name)
		require.NoError(t, err)
		size := int(info.Size())
		changes := map[string]func([]byte) []byte{
			"empty": cut(0), "half": cut(50), "a bit short": cut(99), "gone": remove, "garbage": garbage,
			"longer": func(b []byte) []byte { return append(b, "and more"...) },
		}
		for at := 0; at < size; at += max(1, size/30) {
			changes[fmt.Sprint("bit of byte ", at)] = flip(at)
		}
		for at := max(0, size-600); at < size; at += 13 { // index, properties, footer
			changes[fmt.Sprint("bit of byte ", at)] = flip(at)
		}
		var o outcome
		for change, do := range changes {
			t.Run(name+" "+change, func(t *testing.T) {
				fs := crash(undamaged, 100, 0)
				rewrite(t, fs, name, do)
				o.judge(t, fs, false)
			})
		}
		t.Logf("%s of %d bytes: %d damages, %+v", name, size, len(changes), o)
	}
}

// The engine searches a block whose checksum is wrong for the bit that is; with a large block that is as good as
// to hang. A compaction reads it, a reader does, and Verify again and again.
func TestDamagedLargeBlob(t *testing.T) {
	mem := vfs.NewMem()
	log, err := Open("dir", Options{FS: mem})
	require.NoError(t, err)
	blob := store.Blob{Task: "t", Key: "k", Value: damageData("t0", 1, 2<<20)}
	require.NoError(t, log.Commit(t.Context(), store.Commit{Blobs: []store.Blob{blob, {Task: "u", Key: "k"}}}))
	require.NoError(t, log.Close())
	rewrite(t, mem, files(t, mem, tableSuffix)[1], flip(1<<20))
	log, err = Open("dir", Options{FS: mem})
	require.NoError(t, err)
	within(t, "all of it", func() {
		_, err := log.Blob(t.Context(), "t", "k")
		require.True(t, allowDamage(t, err))
		_, err = log.Blob(t.Context(), "u", "k")
		require.NoError(t, err)
		report, err := log.Verify(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, report.Damage, 1)
		require.Equal(t, 1, report.Blobs)
		require.NoError(t, log.Commit(t.Context(), store.Commit{Blobs: []store.Blob{{Task: "t", Key: "a"}, {Task: "t", Key: "z"}}}))
		allowDamage(t, log.Compact(t.Context())) // it may move tables only
		_, err = log.Blob(t.Context(), "t", "k")
		require.True(t, allowDamage(t, err))
		require.NoError(t, log.Close())
	})
}

// Every kind of damage to what the engine keeps beside its tables.
func TestDamagedMetadata(t *testing.T) {
	undamaged := tables(t)
	names := slices.DeleteFunc(files(t, undamaged, ""), func(name string) bool {
		return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".log") || name == "LOCK"
	})
	require.Len(t, names, 5, "manifest and its sum, options, and two markers")
	for _, name := range names {
		info, err := undamaged.Stat("dir/" + name)
		require.NoError(t, err)
		changes := map[string]func([]byte) []byte{
			"empty": cut(0), "half": cut(50), "a bit short": cut(99), "gone": remove, "garbage": garbage,
		}
		for at := 0; at < int(info.Size()); at += max(1, int(info.Size())/60) {
			changes[fmt.Sprint("bit of byte ", at)] = flip(at)
		}
		var o outcome
		for change, do := range changes {
			t.Run(name+" "+change, func(t *testing.T) {
				fs := crash(undamaged, 100, 0)
				rewrite(t, fs, name, do)
				o.judge(t, fs, false)
			})
		}
		t.Logf("%s: %d damages, %+v", name, len(changes), o)
	}
}

// Without manifest.sum, as after a crash: all damage is found but that to the last edit, which loses nothing.
func TestDamagedManifestAfterACrash(t *testing.T) {
	undamaged := tables(t)
	require.NoError(t, undamaged.Remove("dir/"+sumFile))
	name := files(t, undamaged, "MANIFEST-")[0]
	data, err := undamaged.UnsafeGetFileDataBuffer("dir/" + name)
	require.NoError(t, err)
	last := 0 // where the last edit begins
	for at := 0; at < len(data); {
		kind, payload := chunk(data, at)
		require.Equal(t, byte(chunkFull), kind)
		last, at = at, at+chunkHeader+len(payload)
	}
	require.Greater(t, last, len(data)/2)
	var found, lastEdit outcome
	for at := 0; at < len(data); at += 3 {
		t.Run(fmt.Sprint("bit of byte ", at), func(t *testing.T) {
			fs := crash(undamaged, 100, 0)
			rewrite(t, fs, name, flip(at))
			if at < last {
				found.judge(t, fs, false)
				return
			}
			lastEdit.judge(t, fs, false)
		})
	}
	t.Logf("before the last edit %+v, in it %+v", found, lastEdit)
	require.Equal(t, outcome{refused: (last + 2) / 3}, found)
}

// A damaged write-ahead log: it is refused, or read up to the damage (see RATIONALE.md).
func TestDamagedWriteAheadLog(t *testing.T) {
	undamaged := unflushed(t)
	names := files(t, undamaged, ".log")
	name := names[len(names)-1]
	info, err := undamaged.Stat("dir/" + name)
	require.NoError(t, err)
	changes := map[string]func([]byte) []byte{"empty": cut(0), "half": cut(50), "a bit short": cut(99), "gone": remove, "garbage": garbage}
	for at := 0; at < int(info.Size()); at += int(info.Size()) / 30 {
		changes[fmt.Sprint("bit of byte ", at)] = flip(at)
	}
	var o outcome
	for change, do := range changes {
		t.Run(change, func(t *testing.T) {
			fs := crash(undamaged, 100, 0)
			rewrite(t, fs, name, do)
			o.judge(t, fs, true)
		})
	}
	t.Logf("%d damages, %+v", len(changes), o)
}
