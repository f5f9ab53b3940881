package sealed

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
)

// reads asks for one value of each kind, of task t after commit full("t", 0, "it").
var reads = []struct {
	kind string
	seq  uint64 // of the CorruptError
	// bend makes the inner log give a value that was changed.
	bend func(b *bent, change func([]byte) []byte)
	read func(log *Log) ([]byte, error)
}{
	{
		"record", 2,
		func(b *bent, change func([]byte) []byte) {
			b.record = func(r *store.Record) {
				if r.Seq == 2 {
					r.Data = change(r.Data)
				}
			}
		},
		func(log *Log) ([]byte, error) {
			records, err := log.Read(bg, "t", 0, 0)
			if err != nil {
				return nil, err
			}
			return records[1].Data, nil
		},
	},
	{
		"blob", 0,
		func(b *bent, change func([]byte) []byte) { b.blob = func(v *[]byte) { *v = change(*v) } },
		func(log *Log) ([]byte, error) { return log.Blob(bg, "t", "key-of-it") },
	},
	{"index entry", 0, bendIndex, func(log *Log) ([]byte, error) {
		h, err := log.Head(bg, "t")
		return h.Index, err
	}},
	{"listed index entry", 0, bendIndex, func(log *Log) ([]byte, error) {
		heads, err := log.List(bg, store.Query{})
		if err != nil {
			return nil, err
		}
		return heads[0].Index, nil
	}},
}

func bendIndex(b *bent, change func([]byte) []byte) {
	b.head = func(h *store.Head) { h.Index = change(h.Index) }
}

func TestEveryChangedByteIsFound(t *testing.T) {
	for _, r := range reads {
		t.Run(r.kind, func(t *testing.T) {
			inner := &bent{Log: memstore.New()}
			log := open(t, inner, modes["encrypted"])
			require.NoError(t, log.Commit(bg, full("t", 0, "it")))
			plain, err := r.read(log)
			require.NoError(t, err)
			n := overhead + len(plain)
			check := func(what string, change func([]byte) []byte) {
				r.bend(inner, func(v []byte) []byte {
					require.Len(t, v, n)
					return change(v)
				})
				got, err := r.read(log)
				var corrupt *store.CorruptError
				require.ErrorAs(t, err, &corrupt, what)
				require.Equal(t, "t", corrupt.Task)
				require.Equal(t, r.seq, corrupt.Seq)
				require.Empty(t, got)
			}
			for i := range n {
				check(fmt.Sprint("byte ", i), func(v []byte) []byte { v[i] ^= 0x80; return v })
				check(fmt.Sprint("cut off at ", max(i, 1)), func(v []byte) []byte { return v[:max(i, 1)] })
			}
			check("longer", func(v []byte) []byte { return append(v, 0) })
			check("plain", func(v []byte) []byte { return append([]byte{formPlain}, plain...) })
			check("of another key", func(v []byte) []byte {
				copy(v[1:], bytes.Repeat([]byte{9}, idLen))
				return v
			})
		})
	}
}

// Every value of every kind, in the place of every other, in two tasks and two stores of one key file: it is
// opened only in its own.
func TestValuesOpenOnlyInTheirPlace(t *testing.T) {
	type stored struct {
		keys  *keys
		place place
		value []byte
	}
	var all []stored
	for range 2 {
		_, k, err := parseRecord(newRecord(testKey(1)), testKey(1))
		require.NoError(t, err)
		for _, task := range []string{"t", "tt", "t\x00"} {
			for _, p := range []place{
				{kind: kindRecord, task: task, seq: 1},
				{kind: kindRecord, task: task, seq: 256},
				{kind: kindBlob, task: task, blob: "k"},
				{kind: kindBlob, task: task, blob: "kk"},
				{kind: kindIndex, task: task},
			} {
				all = append(all, stored{k, p, k.seal(aeadOf(k, p), p, []byte("plain"))})
			}
		}
	}
	for i, from := range all {
		for j, to := range all {
			got, err := to.keys.open(aeadOf(to.keys, to.place), to.place, bytes.Clone(from.value))
			if i == j {
				require.NoError(t, err)
				require.Equal(t, "plain", string(got))
			} else {
				require.Error(t, err, "%+v in the place of %+v", from.place, to.place)
			}
		}
	}
	a, b := all[0], all[len(all)/2]
	_, err := b.keys.open(aeadOf(b.keys, b.place), b.place, a.value)
	require.ErrorContains(t, err, "of another store", "one key file, two stores")
}

func aeadOf(k *keys, p place) cipher.AEAD {
	if p.kind == kindIndex {
		return k.index
	}
	return k.data(p.task)
}

// The same through the log: what the inner log holds is swapped, and each of the two is found.
func TestSwappedInTheInnerLog(t *testing.T) {
	ctx := t.Context()
	made := &recorder{Log: memstore.New()}
	log := open(t, made, modes["encrypted"])
	require.NoError(t, log.Commit(ctx, full("t", 0, "it")))
	require.NoError(t, log.Commit(ctx, full("u", 0, "it")))
	t1, u1 := &made.commits[1], &made.commits[2]
	for name, swap := range map[string]func(){
		"records of one task":  func() { r := t1.Appends[0].Records; r[0], r[1] = r[1], r[0] },
		"records of two tasks": func() { a, b := t1.Appends[0].Records, u1.Appends[0].Records; a[0], b[0] = b[0], a[0] },
		"blobs":                func() { a, b := t1.Blobs, u1.Blobs; a[0].Value, b[0].Value = b[0].Value, a[0].Value },
		"index entries":        func() { a, b := t1.Appends, u1.Appends; a[0].Index, b[0].Index = b[0].Index, a[0].Index },
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, corruptTasks(t, made), "before")
			swap()
			defer swap()
			want := map[string]bool{"t": true, "u": true}
			if name == "records of one task" {
				want = map[string]bool{"t": true}
			}
			require.Equal(t, want, corruptTasks(t, made))
		})
	}
}

// corruptTasks commits what was recorded to a new inner log, and gives the tasks of which something is not right.
func corruptTasks(t *testing.T, made *recorder) map[string]bool {
	inner := memstore.New()
	for _, c := range made.commits {
		require.NoError(t, inner.Commit(t.Context(), c))
	}
	log := open(t, inner, modes["encrypted"])
	found := make(map[string]bool)
	for _, task := range []string{"t", "u"} {
		_, read := log.Read(bg, task, 0, 0)
		_, blob := log.Blob(bg, task, "key-of-it")
		_, head := log.Head(bg, task)
		if err := errors.Join(read, blob, head); err != nil {
			var corrupt *store.CorruptError
			require.ErrorAs(t, err, &corrupt)
			found[corrupt.Task] = true
		}
	}
	_, err := log.List(bg, store.Query{})
	if err != nil {
		var corrupt *store.CorruptError
		require.ErrorAs(t, err, &corrupt)
		require.True(t, found[corrupt.Task])
	}
	return found
}

func TestPlainBlobThatIsNone(t *testing.T) {
	inner := &bent{Log: memstore.New()}
	log := open(t, inner, Options{})
	require.NoError(t, log.Commit(bg, full("t", 0, "it")))
	for want, value := range map[string][]byte{"it is empty": {}, "its form is 2": {formSealed, 1, 2}} {
		inner.blob = func(v *[]byte) { *v = value }
		_, err := log.Blob(bg, "t", "key-of-it")
		require.EqualError(t, err, `store: task "t" is corrupt: blob "key-of-it": `+want)
	}
}
