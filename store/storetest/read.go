package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

func testRead(t *testing.T, f Factory) {
	t.Run("after and limit", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("s", 0, "other"), appends("t", 0, "1", "2"), appends("t", 2, "3", "4", "5"), appends("u", 0, "other"))
		for _, tc := range []struct {
			after uint64
			limit int
			want  string // the records' data, which are their numbers
		}{
			{0, 0, "12345"},
			{0, -1, "12345"},
			{0, 1, "1"},
			{0, 5, "12345"},
			{0, 6, "12345"},
			{1, 0, "2345"},
			{1, 3, "234"},
			{4, 0, "5"},
			{4, 9, "5"},
			{5, 0, ""},
			{6, 2, ""},
			{1<<64 - 1, 0, ""},
		} {
			got, err := log.Read(t.Context(), "t", tc.after, tc.limit)
			require.NoError(t, err)
			var data strings.Builder
			for _, r := range got {
				require.Equal(t, fmt.Sprint(r.Seq), string(r.Data))
				data.Write(r.Data)
			}
			require.Equal(t, tc.want, data.String(), "after %d limit %d", tc.after, tc.limit)
		}
	})
	t.Run("order over many records", func(t *testing.T) {
		log := f.open(t)
		var data []string
		for i := range 700 { // sequence numbers of more than one byte
			data = append(data, fmt.Sprint(i))
		}
		commit(t, log, appends("t", 0, data[:300]...), appends("t", 300, data[300:]...))
		requireRecords(t, log, "t", data...)
	})
	t.Run("records are the caller's own", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("t", 0, "one", "two"))
		got, err := log.Read(t.Context(), "t", 0, 0)
		require.NoError(t, err)
		for range 8 {
			got[0].Data = append(got[0].Data, 'X') // room behind a record is not its neighbour's
			require.Equal(t, "two", string(got[1].Data))
		}
		copy(got[0].Data, "XXX")
		copy(got[1].Data, "XXX")
		requireRecords(t, log, "t", "one", "two")
	})
}

func testReadMissing(t *testing.T, f Factory) {
	log := f.open(t)
	commit(t, log, appends("task", 0, "a"))
	for _, id := range []string{"tas", "task1", "", "a b", "task\x00"} {
		_, err := log.Read(t.Context(), id, 0, 0)
		require.ErrorIs(t, err, store.ErrNotFound, id)
		_, err = log.Read(t.Context(), id, 7, 1)
		require.ErrorIs(t, err, store.ErrNotFound, id)
	}
}

func testBlob(t *testing.T, f Factory) {
	t.Run("put and put again", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, blob("t", "k", "one"), blob("t", "other", ""))
		requireBlob(t, log, "t", "k", "one")
		requireBlob(t, log, "t", "other", "")
		commit(t, log, blob("t", "k", "two"))
		requireBlob(t, log, "t", "k", "two")
	})
	t.Run("the last of a key in one commit stays", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, store.Commit{Blobs: append(blob("t", "k", "one").Blobs, blob("t", "k", "two").Blobs...)})
		requireBlob(t, log, "t", "k", "two")
	})
	t.Run("keys are those of one task", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, blob("a", "bc", "1"), blob("ab", "c", "2"), blob("a", "b", "3"))
		requireBlob(t, log, "a", "bc", "1")
		requireBlob(t, log, "ab", "c", "2")
		requireBlob(t, log, "a", "b", "3")
	})
	t.Run("no such blob", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("t", 0, "a"), blob("t", "k", "v"))
		for _, id := range []struct{ task, key string }{{"t", "k2"}, {"t2", "k"}, {"t", ""}, {"", "k"}, {"t\x00k", ""}} {
			_, err := log.Blob(t.Context(), id.task, id.key)
			require.ErrorIs(t, err, store.ErrNotFound, id)
		}
	})
	t.Run("a blob does not make a task", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, blob("t", "k", "v"))
		requireNoTask(t, log, "t")
		commit(t, log, appends("t", 0, "a"))
		requireBlob(t, log, "t", "k", "v")
	})
	t.Run("it is the caller's own", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, blob("t", "k", "value"))
		got, err := log.Blob(t.Context(), "t", "k")
		require.NoError(t, err)
		copy(got, "XXXXX")
		requireBlob(t, log, "t", "k", "value")
	})
}

func testHead(t *testing.T, f Factory) {
	t.Run("last, fence and index", func(t *testing.T) {
		log := f.open(t)
		c := fenced("t", 0, 2, "a", "b")
		c.Appends[0].Index = []byte("index")
		commit(t, log, c, fenced("t", 2, 3, "c"))
		requireHead(t, log, "t", 3, 3, "index")
	})
	t.Run("no such task", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, appends("task", 0, "a"))
		for _, id := range []string{"tas", "task1", "", "\xff"} {
			_, err := log.Head(t.Context(), id)
			require.ErrorIs(t, err, store.ErrNotFound, id)
		}
	})
	t.Run("the index is the caller's own", func(t *testing.T) {
		log := f.open(t)
		c := appends("t", 0, "a")
		c.Appends[0].Index = []byte("index")
		commit(t, log, c)
		h, err := log.Head(t.Context(), "t")
		require.NoError(t, err)
		copy(h.Index, "XXXXX")
		heads, err := log.List(t.Context(), store.Query{})
		require.NoError(t, err)
		copy(heads[0].Index, "YYYYY")
		requireHead(t, log, "t", 1, 0, "index")
	})
}

func testList(t *testing.T, f Factory) {
	t.Run("prefix and order", func(t *testing.T) {
		log := f.open(t)
		long := strings.Repeat("~", store.MaxIDLen)
		ids := []string{"!", "B", "a", "a!", "a/1", "a/10", "a/2", "aa", "b", "~", long}
		for i := range ids {
			id := ids[(i*7+3)%len(ids)] // not in order
			c := fenced(id, 0, uint64(i), "r")
			c.Appends[0].Index = []byte("i" + id)
			commit(t, log, c, blob(id, "k", "v"), blob("with-blob-only/"+id[:1], "k", "v"))
		}
		for _, tc := range []struct {
			prefix string
			want   []string
		}{
			{"", ids},
			{"a", ids[2:8]},
			{"a/", ids[4:7]},
			{"a/1", ids[4:6]},
			{"a/10", ids[5:6]},
			{"~", ids[9:]},
			{long, ids[10:]},
			{"c", nil},
			{"a/100", nil},
			{long + "~", nil},
			{"\xff", nil},
			{"a\xff", nil},
		} {
			heads, err := log.List(t.Context(), store.Query{Prefix: tc.prefix})
			require.NoError(t, err)
			var got []string
			for _, h := range heads {
				got = append(got, h.Task)
				require.Equal(t, "i"+h.Task, string(h.Index))
			}
			require.Equal(t, tc.want, got, "prefix %q", tc.prefix)
		}
	})
	t.Run("gives what Head gives", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, fenced("a", 0, 2, "1", "2"), fenced("b", 0, 9, "1"))
		heads, err := log.List(t.Context(), store.Query{})
		require.NoError(t, err)
		require.Len(t, heads, 2)
		requireSameHead(t, store.Head{Task: "a", Last: 2, Fence: 2}, heads[0])
		requireSameHead(t, store.Head{Task: "b", Last: 1, Fence: 9}, heads[1])
	})
	t.Run("an empty log", func(t *testing.T) {
		heads, err := f.open(t).List(t.Context(), store.Query{})
		require.NoError(t, err)
		require.Empty(t, heads)
	})
}
