package pebblestore

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

func TestCorruptValue(t *testing.T) {
	flip := func(i int) func([]byte) []byte {
		return func(value []byte) []byte {
			value[(i+len(value))%len(value)] ^= 0x10
			return value
		}
	}
	cut := func(value []byte) []byte { return value[:2] }
	gone := func([]byte) []byte { return nil }
	noRecord := make([]byte, sumLen+headLen)
	seal(headKey("t"), noRecord)
	other := append(make([]byte, sumLen), "two"...)
	seal(recordKey("t", 2), other)
	is := func(value []byte) func([]byte) []byte { return func([]byte) []byte { return value } }
	const badSum = "checksum mismatch"
	for _, tc := range []struct {
		name   string
		key    []byte
		change func(value []byte) []byte // nil: delete it
		call   string
		seq    uint64
		detail string
	}{
		{"a bit of a record", recordKey("t", 2), flip(-1), "Read", 2, badSum},
		{"a bit of a checksum", recordKey("t", 3), flip(0), "Read", 3, badSum},
		{"a record cut off", recordKey("t", 1), cut, "Read", 1, badSum},
		{"a record in the place of another", recordKey("t", 1), is(other), "Read", 1, badSum},
		{"a record gone", recordKey("t", 2), gone, "Read", 2, "it is missing"},
		{"the last record gone", recordKey("t", 3), gone, "Read", 3, "it is missing"},
		{"a head", headKey("t"), flip(10), "Head", 0, "head: " + badSum},
		{"a head cut off", headKey("t"), cut, "Read", 0, "head: " + badSum},
		{"a head, when committing", headKey("t"), flip(10), "Commit", 0, "head: " + badSum},
		{"a head, when listing", headKey("t"), flip(10), "List", 0, "head: " + badSum},
		{"a head, when watching", headKey("t"), flip(10), "Watch", 0, "head: " + badSum},
		{"a head without records", headKey("t"), is(noRecord), "Head", 0, "head: no record"},
		{"a blob", blobKey("t", "k"), flip(-1), "Blob", 0, `blob "k": ` + badSum},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := openThree(t)
			if value := tc.change(get(t, log, tc.key)); value == nil {
				require.NoError(t, log.db.Delete(tc.key, pebble.Sync))
			} else {
				require.NoError(t, log.db.Set(tc.key, value, pebble.Sync))
			}
			var corrupt *store.CorruptError
			require.ErrorAs(t, calls()[tc.call](t.Context(), log), &corrupt)
			require.Equal(t, store.CorruptError{Task: "t", Seq: tc.seq, Detail: tc.detail}, *corrupt)

			require.NoError(t, log.Commit(t.Context(), append1("other", 1, "r")), "the log goes on")
			_, err := log.Read(t.Context(), "other", 0, 0)
			require.NoError(t, err)
			require.NoError(t, log.Close())
		})
	}
}

// openThree opens a log with three records and a blob k in task t, and one record in another.
func openThree(t *testing.T) *Log {
	t.Helper()
	log, err := Open("dir", Options{FS: vfs.NewMem()})
	require.NoError(t, err)
	c := append1("t", 0, "one")
	c.Appends[0].Records = [][]byte{[]byte("one"), []byte("two"), []byte("three")}
	c.Blobs = []store.Blob{{Task: "t", Key: "k", Value: []byte("value")}}
	require.NoError(t, log.Commit(t.Context(), c))
	require.NoError(t, log.Commit(t.Context(), append1("other", 0, "r")))
	return log
}

// get gives a copy of a value as the engine has it.
func get(t *testing.T, log *Log, key []byte) []byte {
	t.Helper()
	value, closer, err := log.db.Get(key)
	require.NoError(t, err)
	defer closer.Close()
	return bytes.Clone(value)
}
