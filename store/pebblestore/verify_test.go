package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

func TestVerifySound(t *testing.T) {
	log, err := Open("dir", Options{FS: tables(t)})
	require.NoError(t, err)
	require.NoError(t, log.Delete(t.Context(), damageTask(2), damageRecords))
	require.NoError(t, log.Commit(t.Context(), store.Commit{Blobs: []store.Blob{{Task: "blobs-only", Key: "k", Value: []byte("v")}}}))
	var seen bytes.Buffer
	report, err := log.Verify(t.Context(), func(task string, seq uint64, data []byte) error {
		require.True(t, bytes.HasPrefix(data, fmt.Appendf(nil, "%s/%d:", task, seq)))
		fmt.Fprintf(&seen, "%s/%d ", task, seq)
		return nil
	})
	require.NoError(t, err)
	const tasks = damageTasks - 1
	require.Equal(t, Report{
		Tasks: tasks, Records: tasks * damageRecords, Blobs: tasks*damageRecords/8 + 1,
		Bytes: tasks*damageRecords*damageSize + tasks*damageRecords/8*10*damageSize + 1,
	}, report)
	var want strings.Builder
	for i := range damageTasks {
		for n := 1; n <= damageRecords && i != 2; n++ {
			fmt.Fprintf(&want, "t%d/%d ", i, n)
		}
	}
	require.Equal(t, want.String(), seen.String())
	require.NoError(t, log.Close())
}

// What is wrong with single values is named, and nothing else is.
func TestVerifyValues(t *testing.T) {
	sealed := func(key []byte, payload string) []byte {
		value := append(make([]byte, sumLen), payload...)
		seal(key, value)
		return value
	}
	const noHead = "there are records, but no head that can be read"
	for name, tc := range map[string]struct {
		key     []byte
		value   []byte // nil: the key is deleted
		each    error
		records int // that are right, of 4
		want    []Damage
	}{
		"a record":      {recordKey("t", 2), []byte("wrong"), nil, 3, []Damage{{"t", 2, "checksum mismatch"}}},
		"a record gone": {recordKey("t", 2), nil, nil, 3, []Damage{{"t", 2, "record 2 missing"}}},
		"the first":     {recordKey("t", 1), nil, nil, 3, []Damage{{"t", 1, "record 1 missing"}}},
		"the last":      {recordKey("t", 3), nil, nil, 3, []Damage{{"t", 3, "record 3 missing"}}},
		"one too many": {
			recordKey("t", 4), sealed(recordKey("t", 4), "x"), nil, 5,
			[]Damage{{"t", 4, "it is beyond the last one that the head tells of, 3"}},
		},
		"a malformed key":      {append(recordKey("t", 4), 0), []byte("x"), nil, 4, []Damage{{"t", 0, "a record's key is malformed"}}},
		"a head":               {headKey("t"), []byte("wrong"), nil, 4, []Damage{{"t", 0, "head: checksum mismatch"}}},
		"a head gone":          {headKey("t"), nil, nil, 4, []Damage{{"t", 1, noHead}}},
		"a blob":               {blobKey("t", "k"), []byte("wrong"), nil, 4, []Damage{{"t", 0, `blob "k": checksum mismatch`}}},
		"a record without one": {recordKey("u", 7), sealed(recordKey("u", 7), "x"), nil, 5, []Damage{{"u", 7, noHead}}},
		"what the caller says": {
			recordKey("t", 2), sealed(recordKey("t", 2), "odd"), errors.New("not an\nevent"), 3,
			[]Damage{{"t", 2, "not an event"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := openThree(t)
			if tc.value == nil {
				require.NoError(t, log.db.Delete(tc.key, pebble.Sync))
			} else {
				require.NoError(t, log.db.Set(tc.key, tc.value, pebble.Sync))
			}
			report, err := log.Verify(t.Context(), func(_ string, _ uint64, data []byte) error {
				if string(data) == "odd" {
					return tc.each
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, tc.want, report.Damage)
			require.Equal(t, tc.records, report.Records)
			require.NoError(t, log.Close())
		})
	}
}

// Damage to tables: what can be read is verified, and of what cannot the file is named.
func TestVerifyDamagedTables(t *testing.T) {
	apart, merged := tables(t), tables(t)
	log, err := Open("dir", Options{FS: merged})
	require.NoError(t, err)
	require.NoError(t, log.Compact(t.Context()))
	require.NoError(t, log.Close())
	for kind, undamaged := range map[string]*vfs.MemFS{"apart": apart, "merged": merged} {
		names := files(t, undamaged, ".sst")
		name := names[len(names)-1]
		info, err := undamaged.Stat("dir/" + name)
		require.NoError(t, err)
		size := int(info.Size())
		least := damageTasks * damageRecords
		var offsets []int
		for at := 0; at < size; at += size / 16 {
			offsets = append(offsets, at)
		}
		for at := size - 600; at < size; at += 60 {
			offsets = append(offsets, at)
		}
		for _, at := range offsets {
			t.Run(fmt.Sprint(kind, " bit of byte ", at), func(t *testing.T) {
				fs := crash(undamaged, 100, 0)
				rewrite(t, fs, name, flip(at))
				log, err := Open("dir", Options{FS: fs})
				require.NoError(t, err)
				report := verifyDamaged(t, log, name)
				if at < size*3/4 { // in a block of values
					least = min(least, report.Records)
				}
				require.NoError(t, log.Close())
			})
		}
		t.Logf("%s: of %d records at least %d are read whatever block is damaged", kind, damageTasks*damageRecords, least)
		if kind == "merged" { // tables that overlap hide each other's keys
			require.Greater(t, least, damageTasks*damageRecords-(16<<10)/damageSize-5, "a block of 16 KiB")
		}
	}
}

// verifyDamaged compares what Verify reports with what the log gives to a reader.
func verifyDamaged(t *testing.T, log *Log, file string) Report {
	t.Helper()
	var report Report
	var err error
	read := make(map[string]int)
	within(t, "Verify", func() {
		report, err = log.Verify(t.Context(), func(task string, _ uint64, _ []byte) error { read[task]++; return nil })
	})
	require.NoError(t, err)
	damaged := make(map[string]bool)
	for _, d := range report.Damage {
		damaged[d.Task] = true
		require.NotContains(t, d.What, "\n")
		require.True(t, strings.Contains(d.What, file) || d.What == "there are records, but no head that can be read", d.What)
	}
	for i := range damageTasks {
		task := damageTask(i)
		records, err := log.Read(t.Context(), task, 0, 0)
		if err == nil {
			require.Equal(t, len(records), read[task])
			continue
		}
		require.True(t, allowDamage(t, err))
		require.True(t, damaged[task] || damaged[""], "%s: %v is not in %+v", task, err, report)
	}
	again, err := log.Verify(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, report, again, "it changes nothing")
	return report
}

func TestVerifyEnds(t *testing.T) {
	fs, fault := faultyDisk(vfs.NewMem(), func(op errorfs.Op) bool {
		return op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst")
	})
	log, err := Open("dir", Options{FS: fs})
	require.NoError(t, err)
	require.NoError(t, log.Commit(t.Context(), append1("t", 0, "r")))
	require.NoError(t, log.db.Flush())
	ctx, cancel := context.WithCancel(t.Context())
	_, err = log.Verify(ctx, func(string, uint64, []byte) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
	fault.On()
	require.NoError(t, log.Commit(t.Context(), append1("u", 0, "r")))
	require.NoError(t, log.db.Flush())
	_, err = log.Verify(t.Context(), nil)
	require.ErrorIs(t, err, store.ErrFailed)
	require.ErrorIs(t, log.Close(), store.ErrFailed)
}
