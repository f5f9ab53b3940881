package sealed

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/axishost/axishost/store/storetest"
)

var bg = context.Background()

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// modes are the ways to keep a new store.
var modes = map[string]Options{"plain": {}, "encrypted": {Key: testKey(1)}}

// testKey gives a key that is the same in each run.
func testKey(n byte) *Key {
	return &Key{newSecret(bytes.Repeat([]byte{n}, keyLen))}
}

func open(t testing.TB, inner store.Log, opts Options) *Log {
	t.Helper()
	log, err := Open(context.Background(), inner, opts)
	require.NoError(t, err)
	return log
}

func TestConformance(t *testing.T) {
	for name, opts := range modes {
		t.Run(name+" in memory", func(t *testing.T) {
			storetest.Run(t, storetest.Factory{
				Open: func(t *testing.T, _ string) store.Log { return open(t, memstore.New(), opts) },
			})
		})
		t.Run(name+" durable", func(t *testing.T) {
			fs := vfs.NewMem()
			storetest.Run(t, storetest.Factory{
				Durable: true,
				Open: func(t *testing.T, dir string) store.Log {
					inner, err := pebblestore.Open(dir, pebblestore.Options{FS: fs})
					require.NoError(t, err)
					return open(t, inner, opts)
				},
			})
		})
	}
}

func appends(task string, expected uint64, records ...string) store.Commit {
	a := store.Append{Task: task, Expected: expected}
	for _, r := range records {
		a.Records = append(a.Records, []byte(r))
	}
	return store.Commit{Appends: []store.Append{a}}
}

// full is a commit with one of everything.
func full(task string, expected uint64, name string) store.Commit {
	c := appends(task, expected, "record of "+name, "second record of "+name)
	c.Appends[0].Index = []byte("index of " + name)
	c.Appends[0].Label = "phase"
	c.Blobs = []store.Blob{{Task: task, Key: "key-of-" + name, Value: []byte("blob of " + name)}}
	return c
}

// recorder keeps what an inner log was given.
type recorder struct {
	store.Log
	commits []store.Commit
}

func (r *recorder) Commit(ctx context.Context, c store.Commit) error {
	r.commits = append(r.commits, c)
	return r.Log.Commit(ctx, c)
}

// bytes gives every byte that the inner log was given, labels and task ids aside.
func (r *recorder) bytes() []byte {
	var all bytes.Buffer
	for _, c := range r.commits {
		for _, a := range c.Appends {
			all.Write(bytes.Join(a.Records, []byte{0}))
			all.Write(a.Index)
		}
		for _, b := range c.Blobs {
			all.WriteString(b.Key + "\x00")
			all.Write(b.Value)
		}
	}
	return all.Bytes()
}

func TestNothingPlainReachesTheInnerLog(t *testing.T) {
	ctx := t.Context()
	inner := &recorder{Log: memstore.New()}
	log := open(t, inner, modes["encrypted"])
	for i, task := range []string{"a", "b"} {
		require.NoError(t, log.Commit(ctx, full(task, 0, "secret")))
		require.NoError(t, log.Commit(ctx, full(task, 2, fmt.Sprint("secret", i))))
	}
	require.NoError(t, log.Commit(ctx, store.Commit{Blobs: full("c", 0, "secret").Blobs}))

	require.Len(t, inner.commits, 6, "the store's record, and ours")
	for _, leak := range []string{"secret", "record", "index", "blob", "key"} {
		require.NotContains(t, string(inner.bytes()), leak)
	}
	for _, secret := range [][]byte{log.keys.store(), testKey(1).secret(), testKey(1).wrapping(), log.keys.derive("data", "a", keyLen)} {
		require.False(t, bytes.Contains(inner.bytes(), secret))
	}
	seen := make(map[string]bool)
	for _, c := range inner.commits[1:] {
		for _, b := range c.Blobs {
			require.False(t, seen[b.Key], "one blob key in several tasks is several digests")
			require.Len(t, b.Key, 64)
			seen[b.Key] = true
		}
	}
}

func TestPlainStoresRecordsAsTheyAre(t *testing.T) {
	inner := &recorder{Log: memstore.New()}
	log := open(t, inner, Options{})
	c := full("t", 0, "it")
	require.NoError(t, log.Commit(t.Context(), c))
	require.Equal(t, c.Appends, inner.commits[1].Appends)
	got := inner.commits[1].Blobs[0]
	require.Equal(t, "\x01blob of it", string(got.Value))
	require.NotContains(t, got.Key, "it")
	require.Equal(t, "blob of it", string(c.Blobs[0].Value), "the caller's commit is not changed")
}

func TestReservedTask(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			log := open(t, memstore.New(), opts)
			require.ErrorIs(t, log.Commit(ctx, appends(reserved, 1, "r")), store.ErrInvalid)
			require.ErrorIs(t, log.Commit(ctx, store.Commit{Blobs: []store.Blob{{Task: reserved, Key: "k"}}}), store.ErrInvalid)
			for err := range asked(ctx, log) {
				require.ErrorIs(t, err, store.ErrNotFound)
			}
			for _, id := range []string{"a", "b", reserved + "x"} {
				require.NoError(t, log.Commit(ctx, appends(id, 0, "r")))
			}
			for _, tc := range []struct {
				q    store.Query
				want string
			}{
				{store.Query{}, "[a b ~storex]"},
				{store.Query{Prefix: reserved}, "[~storex]"},
				{store.Query{From: reserved}, "[~storex]"},
				{store.Query{Before: reserved + "x"}, "[a b]"},
				{store.Query{Labels: []string{""}}, "[a b ~storex]"},
				{store.Query{Last: 1}, "[~storex]"},
				{store.Query{Last: 2}, "[b ~storex]"},
				{store.Query{Last: 1, Before: reserved + "x"}, "[b]"},
				{store.Query{Last: 4}, "[a b ~storex]"},
				{store.Query{Last: 1<<63 - 1}, "[a b ~storex]"},
			} {
				heads, err := log.List(ctx, tc.q)
				require.NoError(t, err)
				var got []string
				for _, h := range heads {
					got = append(got, h.Task)
				}
				require.Equal(t, tc.want, fmt.Sprint(got), "%+v", tc.q)
			}
			require.NoError(t, log.Close())
			for err := range asked(ctx, log) {
				require.ErrorIs(t, err, store.ErrClosed)
			}
		})
	}
}

// asked gives the errors of every method that is asked for the reserved task.
func asked(ctx context.Context, log *Log) map[error]bool {
	_, read := log.Read(ctx, reserved, 0, 0)
	_, blob := log.Blob(ctx, reserved, "k")
	_, head := log.Head(ctx, reserved)
	_, watch := log.Watch(ctx, reserved, 0)
	return map[error]bool{read: true, blob: true, head: true, watch: true, log.Delete(ctx, reserved, 1): true}
}

// What is put before a task's first record, and by another process, is found.
func TestSeveralLogsOnOneInner(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			ctx, inner := t.Context(), memstore.New()
			one, two := open(t, inner, opts), open(t, inner, opts)
			for i, log := range []*Log{one, two} {
				require.NoError(t, log.Commit(ctx, store.Commit{Blobs: []store.Blob{{Task: "t", Key: fmt.Sprint(i), Value: []byte("v")}}}))
			}
			require.NoError(t, one.Commit(ctx, full("t", 0, "it")))
			require.ErrorIs(t, two.Commit(ctx, full("t", 0, "it")), store.ErrConflict)
			for _, log := range []*Log{one, two, open(t, inner, opts)} {
				for i := range 2 {
					got, err := log.Blob(ctx, "t", fmt.Sprint(i))
					require.NoError(t, err)
					require.Equal(t, "v", string(got))
				}
				h, err := log.Head(ctx, "t")
				require.NoError(t, err)
				require.Equal(t, "index of it", string(h.Index))
				require.Equal(t, "phase", h.Label)
			}
		})
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	key := testKey('S') // 0x53, "SSSS…", U1NT in base64
	log := open(t, memstore.New(), Options{Key: key})
	storeKey := strings.Trim(fmt.Sprint(log.keys.store()), "[]")
	for _, v := range []any{key, *key, Options{Key: key}, &Options{Key: key}, struct{ k Key }{*key}, struct{ k *Key }{key}, log, *log, log.keys, *log.keys} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			got := fmt.Sprintf(verb, v)
			for _, secret := range []string{"SSSS", "5353", "U1NT", "83 83", "0x53, 0x53", hex.EncodeToString(log.keys.store()), storeKey} {
				require.NotContains(t, got, secret, verb)
			}
		}
	}
	require.Equal(t, "key "+key.ID(), fmt.Sprintf("%s", key))
	require.Equal(t, "key "+key.ID(), fmt.Sprintf("%#v", *key))
	require.Equal(t, key.String(), key.GoString())
	require.Len(t, key.ID(), 2*idLen)
	_, err := fmt.Fprintf(io.Discard, "%v", (*Key)(nil)) // "<nil>"
	require.NoError(t, err)
}

// A task that was deleted can be made again; nothing of the old one shows. (The key of a task is derived from
// its id: it is the same one.)
func TestDeleteAndCompact(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			log := open(t, memstore.New(), opts)
			require.NoError(t, log.Commit(bg, full("t", 0, "old")))
			require.ErrorIs(t, log.Delete(bg, "t", 1), store.ErrConflict)
			require.NoError(t, log.Delete(bg, "t", 2))
			require.NoError(t, log.Compact(bg))
			_, err := log.Blob(bg, "t", "key-of-old")
			require.EqualError(t, err, `store: not found: task "t": blob "key-of-old"`)
			require.NoError(t, log.Commit(bg, full("t", 0, "new")))
			h, err := log.Head(bg, "t")
			require.NoError(t, err)
			require.Equal(t, "index of new", string(h.Index))
		})
	}
}

// The limit of a commit is on what is stored; what is within it is never refused by the inner log.
func TestCommitSize(t *testing.T) {
	inner := &sizes{Log: memstore.New()}
	value := make([]byte, store.MaxCommitSize)
	for _, tc := range []struct {
		opts       Options
		appends    int // records of one append with an index
		blobs      int
		wantOver   int
		wantCommit string
	}{
		{Options{}, 3, 0, 0, "plain records"},
		{Options{}, 1, 2, 2, "plain blobs"},
		{modes["encrypted"], 3, 0, 4 * overhead, "encrypted records and an index"},
		{modes["encrypted"], 0, 2, 2 * overhead, "encrypted blobs"},
		{modes["encrypted"], 1, 1, 3 * overhead, "encrypted, of each one"},
	} {
		t.Run(tc.wantCommit, func(t *testing.T) {
			inner.Log = memstore.New()
			log := open(t, inner, tc.opts)
			for _, beyond := range []int{0, 1} {
				c := sized(value, store.MaxCommitSize-tc.wantOver+beyond, tc.appends, tc.blobs)
				inner.last = 0
				err := log.Commit(t.Context(), c)
				if beyond == 0 {
					require.NoError(t, err)
					require.Equal(t, store.MaxCommitSize, inner.last)
					continue
				}
				require.ErrorIs(t, err, store.ErrInvalid)
				require.Zero(t, inner.last, "the inner log is not asked")
				if tc.wantOver > 0 {
					require.ErrorContains(t, err, fmt.Sprintf("%d bytes, and %d more to store them", c.Size(), tc.wantOver))
				}
			}
		})
	}
}

// sizes checks commits and notes their size, and stores nothing but the store's record.
type sizes struct {
	store.Log
	last int
}

func (s *sizes) Commit(ctx context.Context, c store.Commit) error {
	s.last = c.Size()
	if s.last > 1<<20 {
		return c.Validate()
	}
	return s.Log.Commit(ctx, c)
}

// sized is a commit of total bytes, over so many records and blobs; with an index of a byte if any record.
func sized(value []byte, total, records, blobs int) store.Commit {
	var c store.Commit
	take := func(n int) []byte {
		total -= n
		return value[:n]
	}
	part := total / (records + blobs)
	for i := range blobs {
		c.Blobs = append(c.Blobs, store.Blob{Task: "t", Key: fmt.Sprint(i), Value: take(part)})
	}
	if records == 0 {
		c.Blobs[0].Value = value[:len(c.Blobs[0].Value)+total]
		return c
	}
	a := store.Append{Task: "t", Index: take(1)}
	for range records - 1 {
		a.Records = append(a.Records, take(part))
	}
	a.Records = append(a.Records, take(total))
	c.Appends = []store.Append{a}
	return c
}
