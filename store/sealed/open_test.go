package sealed

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
)

func TestOpenErrors(t *testing.T) {
	one, two := testKey(1), testKey(2)
	for _, tc := range []struct {
		name      string
		made, now Options
		want      string // "" when it opens
	}{
		{"plain", Options{}, Options{}, ""},
		{"encrypted", Options{Key: one}, Options{Key: one}, ""},
		{
			"no key", Options{Key: one}, Options{},
			"store: key mismatch: the store is encrypted with key " + one.ID() + ": set AXISHOST_KEY_FILE to its key file",
		},
		{
			"another key", Options{Key: one}, Options{Key: two},
			"store: key mismatch: the store is encrypted with key " + one.ID() + ", and AXISHOST_KEY_FILE has key " + two.ID() +
				": set it to the file of key " + one.ID(),
		},
		{
			"a key for a plain store", Options{}, Options{Key: two},
			"store: key mismatch: the store is plain, and AXISHOST_KEY_FILE has key " + two.ID() +
				": unset AXISHOST_KEY_FILE, or name another --store",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inner := &recorder{Log: memstore.New()}
			require.NoError(t, open(t, inner, tc.made).Commit(t.Context(), full("t", 0, "it")))
			_, err := Open(t.Context(), inner, tc.now)
			if tc.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrKey)
				require.EqualError(t, err, tc.want)
			}
			require.Len(t, inner.commits, 2, "opening again writes nothing")
			got, err := open(t, inner, tc.made).Blob(t.Context(), "t", "key-of-it")
			require.NoError(t, err)
			require.Equal(t, "blob of it", string(got))
		})
	}
}

func TestOpenPassesErrorsOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Open(ctx, memstore.New(), Options{})
	require.ErrorIs(t, err, context.Canceled)

	inner := memstore.New()
	require.NoError(t, inner.Close())
	_, err = Open(t.Context(), inner, Options{})
	require.ErrorIs(t, err, store.ErrClosed)

	_, err = Open(t.Context(), &bent{Log: memstore.New(), commit: func() error { return store.ErrFailed }}, Options{})
	require.ErrorIs(t, err, store.ErrFailed)
	require.ErrorContains(t, err, "writing how the store is kept")
}

func TestRecordThatIsNone(t *testing.T) {
	plain, encrypted := string(newRecord(nil)), string(newRecord(testKey(1)))
	for _, tc := range []struct {
		name    string
		records []string
		want    string
	}{
		{"cut off", []string{"\x01"}, "it is cut off"},
		{"newer", []string{"\x02e"}, "written by a newer version: it is kept in form 2 and this axishost knows 1"},
		{"two", []string{plain, plain}, "written by a newer version: task \"~store\" has 2 records"},
		{"unknown mode", []string{"\x01z"}, "its mode is 122, with 0 bytes"},
		{"plain cut off", []string{plain[:33]}, "its mode is 112, with 31 bytes"},
		{"encrypted cut off", []string{encrypted[:69]}, "its mode is 101, with 67 bytes"},
		{"encrypted and longer", []string{encrypted + "x"}, "its mode is 101"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inner := memstore.New()
			require.NoError(t, inner.Commit(t.Context(), appends(reserved, 0, tc.records...)))
			_, err := Open(t.Context(), inner, Options{Key: testKey(1)})
			require.ErrorContains(t, err, tc.want)
			if strings.Contains(tc.want, "newer") {
				require.ErrorIs(t, err, store.ErrVersion)
			} else {
				require.IsType(t, &store.CorruptError{}, err)
			}
		})
	}
}

// Whatever byte of the record is changed, the store does not open, or (its mode byte, its version) says that it
// is another.
func TestRecordChanged(t *testing.T) {
	record := newRecord(testKey(1))
	for i := range record {
		changed := append([]byte(nil), record...)
		changed[i] ^= 1
		inner := memstore.New()
		require.NoError(t, inner.Commit(t.Context(), appends(reserved, 0, string(changed))))
		_, err := Open(t.Context(), inner, Options{Key: testKey(1)})
		require.Error(t, err, "byte %d", i)
		var corrupt *store.CorruptError
		require.True(t, errors.As(err, &corrupt) || errors.Is(err, ErrKey) || errors.Is(err, store.ErrVersion), "byte %d: %v", i, err)
	}
}

// Two processes open a new store: both have seen that it is new before either decides.
func TestOpenRace(t *testing.T) {
	for _, tc := range []struct {
		name     string
		one, two Options
		fail     bool // one of them, whichever is second
	}{
		{"plain", Options{}, Options{}, false},
		{"one key", Options{Key: testKey(1)}, Options{Key: testKey(1)}, false},
		{"two keys", Options{Key: testKey(1)}, Options{Key: testKey(2)}, true},
		{"plain and a key", Options{}, Options{Key: testKey(1)}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var bothRead sync.WaitGroup
			bothRead.Add(2)
			inner := memstore.New()
			var logs [2]*Log
			var errs [2]error
			var openers sync.WaitGroup
			for i, opts := range []Options{tc.one, tc.two} {
				openers.Go(func() {
					late := &bent{Log: inner, commit: func() error {
						bothRead.Done()
						bothRead.Wait()
						return nil
					}}
					logs[i], errs[i] = Open(t.Context(), late, opts)
				})
			}
			openers.Wait()
			if tc.fail {
				require.ErrorIs(t, errors.Join(errs[0], errs[1]), ErrKey)
				require.True(t, errs[0] == nil || errs[1] == nil, "one of them opens: %v", errs)
				return
			}
			require.NoError(t, errors.Join(errs[0], errs[1]))
			require.Equal(t, logs[0].keys.store(), logs[1].keys.store())
		})
	}
}

// bent is an inner log that gives other things than it has.
type bent struct {
	store.Log
	commit func() error // called before each commit; an error is the commit's
	record func(*store.Record)
	blob   func(*[]byte)
	head   func(*store.Head)
}

func (b *bent) Commit(ctx context.Context, c store.Commit) error {
	if b.commit != nil {
		if err := b.commit(); err != nil {
			return err
		}
	}
	return b.Log.Commit(ctx, c)
}

func (b *bent) Read(ctx context.Context, task string, after uint64, limit int) ([]store.Record, error) {
	records, err := b.Log.Read(ctx, task, after, limit)
	for i := range records {
		if b.record != nil && task != reserved {
			b.record(&records[i])
		}
	}
	return records, err
}

func (b *bent) Blob(ctx context.Context, task, key string) ([]byte, error) {
	value, err := b.Log.Blob(ctx, task, key)
	if b.blob != nil && err == nil {
		b.blob(&value)
	}
	return value, err
}

func (b *bent) Head(ctx context.Context, task string) (store.Head, error) {
	h, err := b.Log.Head(ctx, task)
	if b.head != nil && err == nil {
		b.head(&h)
	}
	return h, err
}

func (b *bent) List(ctx context.Context, q store.Query) ([]store.Head, error) {
	heads, err := b.Log.List(ctx, q)
	for i := range heads {
		if b.head != nil && heads[i].Task != reserved {
			b.head(&heads[i])
		}
	}
	return heads, err
}

// TestRecordMissing: a store with tasks that does not say how it is kept is not taken for a new one.
func TestRecordMissing(t *testing.T) {
	inner := memstore.New()
	require.NoError(t, inner.Commit(t.Context(), appends("t", 0, "r")))
	for _, key := range []*Key{nil, testKey(1)} {
		_, err := Open(t.Context(), inner, Options{Key: key})
		require.IsType(t, &store.CorruptError{}, err)
		require.ErrorContains(t, err, "it is missing, and the store has tasks")
	}
}
