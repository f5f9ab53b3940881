package pebblestore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// A list has the heads before the flights that are aloft, whatever the engine shows: an append as one less, a
// deletion as not yet, a creation as not at all.
func TestListBeforeFlights(t *testing.T) {
	for name, tc := range map[string]struct {
		query store.Query
		want  string
	}{
		"all":                  {store.Query{}, "a1 b2 c4 d1 f7"},
		"last":                 {store.Query{Last: 2}, "d1 f7"},
		"last, one of a view":  {store.Query{Last: 1, Before: "e"}, "d1"},
		"last, only deletions": {store.Query{Last: 1}, "f7"},
		"from":                 {store.Query{From: "c"}, "c4 d1 f7"},
		"before":               {store.Query{Before: "c"}, "a1 b2"},
		"label":                {store.Query{Labels: []string{"old"}}, "b2 f7"},
		"the new label":        {store.Query{Labels: []string{"new"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			log, err := Open("dir", Options{FS: vfs.NewMem()})
			require.NoError(t, err)
			for _, task := range []string{"a", "b", "c", "d", "e"} {
				c := append1(task, 0, "r")
				if task == "b" {
					c.Appends[0].Index, c.Appends[0].Label = []byte("i"), "new"
				}
				require.NoError(t, log.Commit(t.Context(), c))
			}
			for _, prior := range []store.Head{
				{Task: "b", Last: 2, Label: "old"}, {Task: "c", Last: 4}, {Task: "e"}, {Task: "f", Last: 7, Label: "old"},
			} {
				f := &flight{tasks: []string{prior.Task}, landed: make(chan struct{})}
				require.Nil(t, log.seize(prior.Task, f))
				log.takeOff(f, map[string]store.Head{prior.Task: prior}, nil)
			}
			heads, err := log.List(t.Context(), tc.query)
			require.NoError(t, err)
			var got []string
			for _, h := range heads {
				got = append(got, fmt.Sprint(h.Task, h.Last))
			}
			require.Equal(t, tc.want, strings.Join(got, " "))
			require.NoError(t, log.Close())
		})
	}
}
