package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// listed gives the ids that a query selects, in the order in which they come.
func listed(t *testing.T, log store.Log, q store.Query) string {
	t.Helper()
	heads, err := log.List(t.Context(), q)
	require.NoError(t, err, "%+v", q)
	ids := make([]string, len(heads))
	for i, h := range heads {
		ids[i] = h.Task
	}
	return strings.Join(ids, " ")
}

func testListSelects(t *testing.T, f Factory) {
	log := f.open(t)
	commit(t, log, labelled("01", 0, "i", "done"), labelled("02", 0, "i", "run"), labelled("02/a", 0, "i", "done"),
		appends("03", 0, "r"), labelled("03/a", 0, "i", "run"), labelled("04", 0, "i", "done"), blob("05", "k", "v"))
	const all = "01 02 02/a 03 03/a 04"
	for _, tc := range []struct {
		query store.Query
		want  string
	}{
		{store.Query{}, all},
		{store.Query{From: "02"}, "02 02/a 03 03/a 04"},
		{store.Query{From: "02!"}, "02/a 03 03/a 04"},
		{store.Query{From: "0"}, all},
		{store.Query{From: "04!"}, ""},
		{store.Query{Before: "03"}, "01 02 02/a"},
		{store.Query{Before: "03!"}, "01 02 02/a 03"},
		{store.Query{Before: "01"}, ""},
		{store.Query{Before: "~"}, all},
		{store.Query{From: "02", Before: "03"}, "02 02/a"},
		{store.Query{From: "03", Before: "03"}, ""},
		{store.Query{From: "04", Before: "02"}, ""},
		{store.Query{Prefix: "02", From: "02/"}, "02/a"},
		{store.Query{Prefix: "02", From: "01"}, "02 02/a"},
		{store.Query{Prefix: "02", Before: "04"}, "02 02/a"},
		{store.Query{Prefix: "02", Before: "02/a"}, "02"},
		{store.Query{Prefix: "02", From: "03"}, ""},
		{store.Query{Prefix: "03", Before: "02"}, ""},
		{store.Query{Labels: []string{"done"}}, "01 02/a 04"},
		{store.Query{Labels: []string{"run"}}, "02 03/a"},
		{store.Query{Labels: []string{"run", "done"}}, "01 02 02/a 03/a 04"},
		{store.Query{Labels: []string{""}}, "03"},
		{store.Query{Labels: []string{"don", "done!"}}, ""},
		{store.Query{Last: 2}, "03/a 04"},
		{store.Query{Last: 6}, all},
		{store.Query{Last: 7}, all},
		{store.Query{Last: 1, Before: "04"}, "03/a"},
		{store.Query{Last: 1, Prefix: "02"}, "02/a"},
		{store.Query{Last: 2, Labels: []string{"done"}}, "02/a 04"},
		{store.Query{Last: 2, Labels: []string{"run"}, Before: "03"}, "02"},
		{store.Query{Last: 1, Labels: []string{"done"}, Prefix: "0", From: "02", Before: "04"}, "02/a"},
	} {
		require.Equal(t, tc.want, listed(t, log, tc.query), "%+v", tc.query)
	}
}

func testLabel(t *testing.T, f Factory) {
	t.Run("it is kept without an index and replaced with one", func(t *testing.T) {
		log := f.open(t)
		most := strings.Repeat("l", store.MaxLabelLen)
		for i, step := range []struct {
			index []byte
			label string
			want  string // index and label
		}{
			{nil, "", " "},
			{[]byte("i"), "first", "i first"},
			{nil, "", "i first"},
			{[]byte("j"), "second", "j second"},
			{[]byte{}, most, " " + most},
			{[]byte("k"), "", "k "},
			{[]byte{}, "", " "},
		} {
			c := appends("t", uint64(i), "r")
			c.Appends[0].Index, c.Appends[0].Label = step.index, step.label
			commit(t, log, c)
			h, err := log.Head(t.Context(), "t")
			require.NoError(t, err)
			require.Equal(t, step.want, string(h.Index)+" "+h.Label)
			heads, err := log.List(t.Context(), store.Query{Labels: []string{h.Label}})
			require.NoError(t, err)
			require.Len(t, heads, 1)
			requireSameHead(t, h, heads[0])
		}
	})
	t.Run("any bytes", func(t *testing.T) {
		log := f.open(t)
		for i := range 256 {
			label := string([]byte{byte(i), 0, byte(i)})
			commit(t, log, labelled(fmt.Sprintf("t%03d", i), 0, "i", label))
		}
		heads, err := log.List(t.Context(), store.Query{})
		require.NoError(t, err)
		for i, h := range heads {
			require.Equal(t, string([]byte{byte(i), 0, byte(i)}), h.Label)
			require.Equal(t, "i", string(h.Index))
		}
	})
	t.Run("a refused commit leaves it", func(t *testing.T) {
		log := f.open(t)
		commit(t, log, labelled("t", 0, "i", "old"))
		require.ErrorIs(t, log.Commit(t.Context(), labelled("t", 0, "j", "new")), store.ErrConflict)
		require.ErrorIs(t, log.Commit(t.Context(), labelled("t", 1, "j", strings.Repeat("l", store.MaxLabelLen+1))),
			store.ErrInvalid)
		c := appends("t", 1, "r")
		c.Appends[0].Label = "new"
		require.ErrorIs(t, log.Commit(t.Context(), c), store.ErrInvalid, "without an index")
		h, err := log.Head(t.Context(), "t")
		require.NoError(t, err)
		require.Equal(t, "old", h.Label)
	})
}
