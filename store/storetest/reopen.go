package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// testReopen is for backends that are durable; nothing of it holds for the others.
func testReopen(t *testing.T, f Factory) {
	if !f.Durable {
		t.Skip("the backend is not durable")
	}
	t.Run("holds everything that was committed", func(t *testing.T) {
		dir := t.TempDir()
		log := f.openIn(t, dir)
		c := fenced("t", 0, 4, "1", "2")
		c.Appends[0].Index, c.Appends[0].Label = []byte("index"), "label"
		c.Blobs = blob("u", "k", "v").Blobs
		commit(t, log, c, fenced("t", 2, 5, "3"))
		for range 3 { // what is reopened is no worse than what was open
			require.NoError(t, log.Close())
			log = f.openIn(t, dir)
			requireRecords(t, log, "t", "1", "2", "3")
			require.Equal(t, "t", listed(t, log, store.Query{Labels: []string{"label"}}))
			h, err := log.Head(t.Context(), "t")
			require.NoError(t, err)
			requireSameHead(t, store.Head{Task: "t", Last: 3, Fence: 5, Index: []byte("index"), Label: "label"}, h)
			requireBlob(t, log, "u", "k", "v")
		}
	})
	t.Run("goes on where it was", func(t *testing.T) {
		dir := t.TempDir()
		log := f.openIn(t, dir)
		commit(t, log, fenced("t", 0, 4, "1"))
		require.NoError(t, log.Close())
		log = f.openIn(t, dir)
		require.ErrorIs(t, log.Commit(t.Context(), fenced("t", 1, 3, "x")), store.ErrFenced)
		require.ErrorIs(t, log.Commit(t.Context(), fenced("t", 0, 4, "x")), store.ErrConflict)
		commit(t, log, fenced("t", 1, 4, "2"))
		requireRecords(t, log, "t", "1", "2")
	})
}
