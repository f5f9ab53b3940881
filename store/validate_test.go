package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

func one(task string) store.Append {
	return store.Append{Task: task, Records: [][]byte{{1}}}
}

func TestValidate(t *testing.T) {
	long := strings.Repeat("x", store.MaxIDLen)
	huge := make([]byte, store.MaxCommitSize/4)
	for _, tc := range []struct {
		name   string
		commit store.Commit
		want   string // part of the error; "" for a valid commit
	}{
		{"one append", store.Commit{Appends: []store.Append{one("t")}}, ""},
		{"one blob", store.Commit{Blobs: []store.Blob{{Task: "t", Key: "k"}}}, ""},
		{"first and last printable byte", store.Commit{Appends: []store.Append{one("!~")}}, ""},
		{"longest ids", store.Commit{Blobs: []store.Blob{{Task: long, Key: long}}}, ""},
		{"largest", store.Commit{Appends: []store.Append{{Task: "t", Records: [][]byte{huge, huge, huge}, Index: huge}}}, ""},
		{"nothing", store.Commit{}, "neither an append nor a blob"},
		{"empty id", store.Commit{Appends: []store.Append{one("")}}, "a task id is empty"},
		{"long id", store.Commit{Appends: []store.Append{one(long + "x")}}, "of 129 bytes is longer than 128"},
		{"space", store.Commit{Appends: []store.Append{one("a b")}}, `not printable ASCII without spaces: "a b"`},
		{"delete byte", store.Commit{Appends: []store.Append{one("a\x7f")}}, "not printable ASCII"},
		{"line break", store.Commit{Appends: []store.Append{one("a\nb")}}, `"a\nb"`},
		{"beyond ASCII", store.Commit{Appends: []store.Append{one("é")}}, "not printable ASCII"},
		{"no record", store.Commit{Appends: []store.Append{{Task: "t"}}}, `task "t": no record`},
		{
			"empty record",
			store.Commit{Appends: []store.Append{{Task: "t", Records: [][]byte{{1}, {}}}}},
			`task "t": record 2 of the append is empty`,
		},
		{"task twice", store.Commit{Appends: []store.Append{one("a"), one("b"), one("a")}}, `task "a" appears twice`},
		{"blob without key", store.Commit{Blobs: []store.Blob{{Task: "t"}}}, `task "t": a blob's key is empty`},
		{"blob with a bad key", store.Commit{Blobs: []store.Blob{{Task: "t", Key: "a\x00"}}}, "a blob's key is not printable"},
		{"blob without task", store.Commit{Blobs: []store.Blob{{Key: "k"}}}, "a blob's task id is empty"},
		{
			"too large",
			store.Commit{
				Appends: []store.Append{{Task: "t", Records: [][]byte{huge, huge}, Index: huge}},
				Blobs:   []store.Blob{{Task: "t", Key: "k", Value: huge}, {Task: "t", Key: "l", Value: []byte{1}}},
			},
			"268435457 bytes, at most 268435456",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.commit.Validate()
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, store.ErrInvalid)
			assert.Contains(t, err.Error(), tc.want)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestValidateLabel(t *testing.T) {
	label := strings.Repeat("l", store.MaxLabelLen)
	for _, tc := range []struct {
		name   string
		change func(*store.Append)
		want   string // part of the error; "" for a valid commit
	}{
		{"longest", func(a *store.Append) { a.Index, a.Label = []byte{}, label }, ""},
		{"an index alone", func(a *store.Append) { a.Index = []byte{} }, ""},
		{
			"too long", func(a *store.Append) { a.Index, a.Label = []byte{}, label+"l" },
			`task "t": a label of 65 bytes is longer than 64`,
		},
		{"without an index", func(a *store.Append) { a.Label = "l" }, `task "t": a label without an index`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := one("t")
			tc.change(&a)
			err := store.Commit{Appends: []store.Append{a}}.Validate()
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, store.ErrInvalid)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestNext(t *testing.T) {
	before := store.Head{Task: "t", Last: 5, Fence: 2, Index: []byte("old"), Label: "was"}
	records := [][]byte{{1}, {2}}
	for _, tc := range []struct {
		name   string
		append store.Append
		want   store.Head
		err    error
	}{
		{"goes on", store.Append{Expected: 5, Fence: 2}, store.Head{Task: "t", Last: 7, Fence: 2, Index: []byte("old"), Label: "was"}, nil},
		{"takes over", store.Append{Expected: 5, Fence: 9}, store.Head{Task: "t", Last: 7, Fence: 9, Index: []byte("old"), Label: "was"}, nil},
		{
			"new index", store.Append{Expected: 5, Fence: 2, Index: []byte("new")},
			store.Head{Task: "t", Last: 7, Fence: 2, Index: []byte("new")}, nil,
		},
		{
			"new label", store.Append{Expected: 5, Fence: 2, Index: []byte("new"), Label: "is"},
			store.Head{Task: "t", Last: 7, Fence: 2, Index: []byte("new"), Label: "is"}, nil,
		},
		{
			"emptied index", store.Append{Expected: 5, Fence: 2, Index: []byte{}},
			store.Head{Task: "t", Last: 7, Fence: 2, Index: []byte{}}, nil,
		},
		{"behind", store.Append{Expected: 4, Fence: 2}, store.Head{}, store.ErrConflict},
		{"ahead", store.Append{Expected: 6, Fence: 2}, store.Head{}, store.ErrConflict},
		{"fenced off", store.Append{Expected: 5, Fence: 1}, store.Head{}, store.ErrFenced},
		{"fenced off and behind", store.Append{Expected: 4, Fence: 1}, store.Head{}, store.ErrFenced},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.append.Task, tc.append.Records = "t", records
			got, err := tc.append.Next(before)
			require.ErrorIs(t, err, tc.err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestCorruptError(t *testing.T) {
	var err error = &store.CorruptError{Task: "t", Seq: 7, Detail: "checksum mismatch"}
	assert.EqualError(t, err, `store: task "t" is corrupt: record 7: checksum mismatch`)
	err = &store.CorruptError{Task: "t", Detail: "head: checksum mismatch"}
	assert.EqualError(t, err, `store: task "t" is corrupt: head: checksum mismatch`)
	assert.False(t, errors.Is(err, store.ErrFailed))
	err = &store.CorruptError{Detail: "file 000007.sst is damaged"}
	assert.EqualError(t, err, `store: the log is corrupt: file 000007.sst is damaged`)
}
