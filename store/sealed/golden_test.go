package sealed

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
)

// Stores as version 1 wrote them: they open for ever. A line of such a file is what, where, and the bytes in
// hexadecimal (a blob: its key in the inner log, a slash, the bytes). Never edit one; a new version adds a file.
func TestGolden(t *testing.T) {
	key, err := parseKey([]byte("axishost-key-1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"))
	require.NoError(t, err)
	require.Equal(t, "68518fa47ca0482b", key.ID())
	for file, opts := range map[string]Options{"plain-1.txt": {}, "encrypted-1.txt": {Key: key}} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", file))
			require.NoError(t, err)
			inner := memstore.New()
			for line := range strings.Lines(string(text)) {
				require.NoError(t, inner.Commit(t.Context(), goldenCommit(t, strings.Fields(line))))
			}
			requireGolden(t, open(t, inner, opts))
		})
	}
}

func requireGolden(t *testing.T, log *Log) {
	records, err := log.Read(t.Context(), "01J0GOLDEN", 0, 0)
	require.NoError(t, err)
	require.Equal(t, []store.Record{{Seq: 1, Data: []byte("first record")}, {Seq: 2, Data: []byte("second record")}}, records)
	h, err := log.Head(t.Context(), "01J0GOLDEN")
	require.NoError(t, err)
	require.Equal(t, store.Head{Task: "01J0GOLDEN", Last: 2, Index: []byte("index entry"), Label: "phase"}, h)
	blob, err := log.Blob(t.Context(), "01J0GOLDEN", "digest")
	require.NoError(t, err)
	require.Equal(t, "blob", string(blob))
}

// goldenCommit gives the commit that a line stands for.
func goldenCommit(t *testing.T, line []string) store.Commit {
	bytesOf := func(s string) []byte {
		b, err := hex.DecodeString(s)
		require.NoError(t, err)
		return b
	}
	switch line[0] {
	case "store":
		return appends(reserved, 0, string(bytesOf(line[2])))
	case "append": // two records and an index entry
		require.Len(t, line, 5)
		c := appends(line[1], 0, string(bytesOf(line[2])), string(bytesOf(line[3])))
		c.Appends[0].Index, c.Appends[0].Label = bytesOf(line[4]), "phase"
		return c
	}
	require.Equal(t, "blob", line[0])
	key, value, _ := strings.Cut(line[2], "/")
	return store.Commit{Blobs: []store.Blob{{Task: line[1], Key: key, Value: bytesOf(value)}}}
}
