package pebblestore

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// TestDeletedForGood: of a deleted task no byte is left once the log is closed, though the process that deleted
// it died, and another has closed the log.
func TestDeletedForGood(t *testing.T) {
	const secret = "the confidential text"
	mem := vfs.NewCrashableMem()
	log, err := Open("dir", Options{FS: mem})
	require.NoError(t, err)
	for _, task := range []string{"a", "b", "c"} {
		c := append1(task, 0, task+" record")
		if task == "b" {
			c = append1(task, 0, secret)
			c.Appends[0].Index, c.Appends[0].Label = []byte(secret), "done"
			c.Blobs = []store.Blob{{Task: task, Key: "k", Value: []byte(secret)}}
		}
		require.NoError(t, log.Commit(t.Context(), c))
	}
	require.NoError(t, log.Close())
	require.True(t, holds(t, mem, secret), "the test cannot see what is stored")

	log, err = Open("dir", Options{FS: mem})
	require.NoError(t, err)
	require.NoError(t, log.Delete(t.Context(), "b", 1))
	killed := crash(mem, 100, 1)
	require.NoError(t, log.Close())
	require.False(t, holds(t, mem, secret))

	require.True(t, holds(t, killed, secret))
	for range 2 {
		log, err = Open("dir", Options{FS: killed})
		require.NoError(t, err)
		for _, task := range []string{"a", "c"} {
			_, err = log.Read(t.Context(), task, 0, 0)
			require.NoError(t, err)
		}
		_, err = log.Head(t.Context(), "b")
		require.ErrorIs(t, err, store.ErrNotFound)
		require.NoError(t, log.Close())
		require.False(t, holds(t, killed, secret))
	}
}

// TestPurgeNeedsRoom: on a disk that is nearly full a log is closed without, and what is left goes later.
func TestPurgeNeedsRoom(t *testing.T) {
	mem := vfs.NewMem()
	log, err := Open("dir", Options{FS: mem})
	require.NoError(t, err)
	require.NoError(t, log.Commit(t.Context(), append1("t", 0, "r")))
	require.NoError(t, log.Delete(t.Context(), "t", 1))
	for _, avail := range []uint64{purgeRoom - 1, purgeRoom + 1, purgeRoom + 1} {
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: avail})
		require.NoError(t, log.Close())
		log, err = Open("dir", Options{FS: mem})
		require.NoError(t, err)
		left, err := log.purges()
		require.NoError(t, err)
		require.Equal(t, avail < purgeRoom, len(left) == 1, "%d bytes are free", avail)
	}
	require.NoError(t, log.Close())
}

// holds tells whether a text is in any file; snappy leaves short ones as they are.
func holds(t *testing.T, mem *vfs.MemFS, text string) bool {
	t.Helper()
	names, err := mem.List("dir")
	require.NoError(t, err)
	for _, name := range names {
		data, err := readFile(mem, "dir/"+name)
		if err != nil && strings.Contains(err.Error(), "directory") {
			continue
		}
		require.NoError(t, err)
		if bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}
