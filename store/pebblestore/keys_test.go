package pebblestore

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

// What is on disk in released versions. Never edit a line; add one for a new format version.
func TestGolden(t *testing.T) {
	head := make([]byte, sumLen+headLen+4)
	encodeHead(head[sumLen:], store.Head{Task: "t", Last: 258, Fence: 3, Index: []byte("ix"), Label: "la"})
	seal(headKey("t"), head)
	record := append(make([]byte, sumLen), "data"...)
	seal(recordKey("t", 258), record)
	for _, tc := range []struct {
		name string
		got  []byte
		want string
	}{
		{"format key", formatKey(), "66"},
		{"head key", headKey("t/1"), "68 742f31"},
		{"record key", recordKey("t/1", 258), "72 742f31 00 0000000000000102"},
		{"blob key", blobKey("t/1", "k"), "62 742f31 00 6b"},
		{"head", head, "32426d73 0000000000000102 0000000000000003 02 6c61 6978"},
		{"record", record, "3105d385 64617461"},
	} {
		require.Equal(t, strings.ReplaceAll(tc.want, " ", ""), hex.EncodeToString(tc.got), tc.name)
	}
}

func TestKeyOrder(t *testing.T) {
	keys := [][]byte{
		blobKey("a", "k"), blobKey("a!", "k"), blobKey("b", "k"),
		headKey("a"), headKey("a!"), headKey("aa"),
		recordKey("a", 1), recordKey("a", 255), recordKey("a", 256), recordKey("a", 1<<63), recordKey("a!", 1), recordKey("aa", 1),
	}
	require.True(t, slices.IsSortedFunc(keys, slices.Compare))
}

func TestSuccessor(t *testing.T) {
	for prefix, want := range map[string]string{"h": "i", "ha": "hb", "ha\xff": "hb", "h\xff\xff": "i", "h~": "h\x7f"} {
		require.Equal(t, want, string(successor([]byte(prefix))))
	}
}

// A head is decoded from whatever the disk gives.
func FuzzDecodeHead(f *testing.F) {
	good := make([]byte, sumLen+headLen+2)
	encodeHead(good[sumLen:], store.Head{Last: 1, Fence: 2, Index: []byte("ix")})
	seal(headKey("t"), good)
	f.Add(good)
	f.Add([]byte{})
	f.Add(make([]byte, sumLen+headLen-1))
	f.Fuzz(func(t *testing.T, value []byte) {
		h, err := decodeHead("t", headKey("t"), value)
		if err != nil {
			var corrupt *store.CorruptError
			require.True(t, errors.As(err, &corrupt))
			return
		}
		again := make([]byte, sumLen+headLen+len(h.Label)+len(h.Index))
		encodeHead(again[sumLen:], h)
		seal(headKey("t"), again)
		require.Equal(t, value, again)
	})
}
