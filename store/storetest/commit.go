package storetest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

func testCommit(t *testing.T, f Factory) {
	t.Run("numbers records without a gap", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("t", 0, "one"), appends("t", 1, "two", "three", "four"), appends("t", 4, "five"))
		requireRecords(t, log, "t", "one", "two", "three", "four", "five")
		requireHead(t, log, "t", 5, 0, "")
	})
	t.Run("an equal fence goes on", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, fenced("t", 0, 3, "a"), fenced("t", 1, 3, "b"))
		requireHead(t, log, "t", 2, 3, "")
	})
	t.Run("a higher fence takes the task over", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, fenced("t", 0, 3, "a"), fenced("t", 1, 1<<63, "b"))
		requireHead(t, log, "t", 2, 1<<63, "")
		require.ErrorIs(t, log.Commit(t.Context(), fenced("t", 2, 3, "c")), store.ErrFenced)
	})
	t.Run("several tasks at once", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("b", 0, "b1"))
		commit(t, log, store.Commit{
			Appends: []store.Append{
				{Task: "c", Records: records("c1", "c2")},
				{Task: "a", Records: records("a1"), Fence: 7, Index: []byte("ia")},
				{Task: "b", Expected: 1, Records: records("b2")},
			},
			Blobs: []store.Blob{{Task: "a", Key: "k", Value: []byte("va")}, {Task: "d", Key: "k", Value: []byte("vd")}},
		})
		requireRecords(t, log, "a", "a1")
		requireRecords(t, log, "b", "b1", "b2")
		requireRecords(t, log, "c", "c1", "c2")
		requireHead(t, log, "a", 1, 7, "ia")
		requireBlob(t, log, "a", "k", "va")
		requireBlob(t, log, "d", "k", "vd")
	})
	t.Run("the index is kept when nil and replaced when not", func(t *testing.T) {
		log := f.open(t)
		for i, step := range []struct {
			index []byte
			want  string
		}{{nil, ""}, {[]byte("first"), "first"}, {nil, "first"}, {[]byte("second"), "second"}, {[]byte{}, ""}, {nil, ""}} {
			c := appends("t", uint64(i), "r")
			c.Appends[0].Index = step.index
			commit(t, log, c)
			requireHead(t, log, "t", uint64(i)+1, 0, step.want)
		}
	})
}

func testCommitBytes(t *testing.T, f Factory) {
	t.Run("keeps no reference to the commit's memory", func(t *testing.T) {
		log := f.open(t)
		c := appends("t", 0, "record")
		c.Appends[0].Index = []byte("index")
		c.Blobs = blob("t", "key", "value").Blobs
		commit(t, log, c)
		for _, b := range [][]byte{c.Appends[0].Records[0], c.Appends[0].Index, c.Blobs[0].Value} {
			copy(b, "XXXXXXXXX")
		}
		c.Appends[0].Records[0] = nil
		requireRecords(t, log, "t", "record")
		requireHead(t, log, "t", 1, 0, "index")
		requireBlob(t, log, "t", "key", "value")
	})
	t.Run("bytes of any value and number", func(t *testing.T) {
		log := f.open(t)
		every := make([]byte, 256)
		for i := range every {
			every[i] = byte(i)
		}
		large := string(bytes.Repeat(every, 3<<20/len(every)))
		c := appends("t", 0, "\x00", string(every), large, "last")
		c.Appends[0].Index = every
		c.Blobs = []store.Blob{{Task: "t", Key: "large", Value: []byte(large)}}
		commit(t, log, c, appends("t", 4, "more"))
		requireRecords(t, log, "t", "\x00", string(every), large, "last", "more")
		requireHead(t, log, "t", 5, 0, string(every))
		requireBlob(t, log, "t", "large", large)
	})
}

func testCommitRefused(t *testing.T, f Factory) {
	for _, tc := range []struct {
		name   string
		commit store.Commit // to a log with one record of task t, fence 5
		want   error
	}{
		{"the task is further", fenced("t", 0, 5, "x"), store.ErrConflict},
		{"the task is not so far", fenced("t", 2, 5, "x"), store.ErrConflict},
		{"there is no such task", fenced("new", 1, 5, "x"), store.ErrConflict},
		{"a higher fence on a wrong number", fenced("t", 0, 9, "x"), store.ErrConflict},
		{"a lower fence", fenced("t", 1, 4, "x"), store.ErrFenced},
		{"no fence", appends("t", 1, "x"), store.ErrFenced},
		{"a lower fence on a wrong number", fenced("t", 0, 4, "x"), store.ErrFenced},
		{"the greatest number", fenced("t", 1<<64-1, 5, "x"), store.ErrConflict},
	} {
		good := store.Append{Task: "good", Records: records("g")}
		extra := []store.Blob{{Task: "t", Key: "k", Value: []byte("new")}, {Task: "good", Key: "k"}}
		for _, order := range []struct {
			name    string
			appends []store.Append
		}{
			{"alone", tc.commit.Appends},
			{"after a good one", append([]store.Append{good}, tc.commit.Appends...)},
			{"before a good one", append(append([]store.Append{}, tc.commit.Appends...), good)},
		} {
			t.Run(tc.name+" "+order.name, func(t *testing.T) {
				log := f.open(t)
				first := fenced("t", 0, 5, "first")
				first.Blobs = []store.Blob{{Task: "t", Key: "k", Value: []byte("old")}}
				first.Appends[0].Index = []byte("index")
				commit(t, log, first)
				for i := range order.appends {
					order.appends[i].Index = []byte("changed")
				}
				require.ErrorIs(t, log.Commit(t.Context(), store.Commit{Appends: order.appends, Blobs: extra}), tc.want)

				requireRecords(t, log, "t", "first")
				requireHead(t, log, "t", 1, 5, "index")
				requireBlob(t, log, "t", "k", "old")
				requireNoTask(t, log, "good")
				requireNoTask(t, log, "new")
				_, err := log.Blob(t.Context(), "good", "k")
				require.ErrorIs(t, err, store.ErrNotFound)
				commit(t, log, fenced("t", 1, 5, "second"), appends("good", 0, "g")) // nothing is held back
			})
		}
	}
}

func testCommitInvalid(t *testing.T, f Factory) {
	long := strings.Repeat("x", store.MaxIDLen+1)
	good := store.Append{Task: "good", Records: records("g")}
	with := func(more ...store.Append) store.Commit {
		return store.Commit{Appends: append([]store.Append{good}, more...)}
	}
	for _, tc := range []struct {
		name   string
		commit store.Commit
	}{
		{"neither append nor blob", store.Commit{}},
		{"an append without records", with(store.Append{Task: "t"})},
		{"an empty record", with(store.Append{Task: "t", Records: records("a", "")})},
		{"a nil record", with(store.Append{Task: "t", Records: [][]byte{nil}})},
		{"an empty task id", with(store.Append{Records: records("a")})},
		{"a long task id", with(store.Append{Task: long, Records: records("a")})},
		{"a space in a task id", with(store.Append{Task: "a b", Records: records("a")})},
		{"a zero byte in a task id", with(store.Append{Task: "a\x00b", Records: records("a")})},
		{"a task id beyond ASCII", with(store.Append{Task: "ä", Records: records("a")})},
		{"a task twice", with(store.Append{Task: "good", Expected: 1, Records: records("a")})},
		{"a long label", with(store.Append{Task: "t", Records: records("a"), Index: []byte{}, Label: long})},
		{"a label without an index", with(store.Append{Task: "t", Records: records("a"), Label: "l"})},
		{"a blob without a key", store.Commit{Appends: with().Appends, Blobs: []store.Blob{{Task: "t"}}}},
		{"a blob with a long key", store.Commit{Appends: with().Appends, Blobs: []store.Blob{{Task: "t", Key: long}}}},
		{"a line break in a key", store.Commit{Appends: with().Appends, Blobs: []store.Blob{{Task: "t", Key: "a\nb"}}}},
		{"a blob without a task", store.Commit{Appends: with().Appends, Blobs: []store.Blob{{Key: "k"}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := f.open(t)
			require.ErrorIs(t, log.Commit(t.Context(), tc.commit), store.ErrInvalid)
			heads, err := log.List(t.Context(), store.Query{})
			require.NoError(t, err)
			require.Empty(t, heads)
			commit(t, log, with()) // the valid part is accepted
		})
	}
}
