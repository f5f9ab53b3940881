package main

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/host/control"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
)

// setFormat makes a store one of another format: the value of key f, see store/pebblestore.
func (s *shell) setFormat(name string, version uint32) {
	s.t.Helper()
	db, err := pebble.Open(s.path(name), &pebble.Options{FormatMajorVersion: pebble.FormatTableFormatV6, Logger: mute{}})
	require.NoError(s.t, err)
	payload := binary.BigEndian.AppendUint32(nil, version)
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum([]byte("f"), castagnoli), castagnoli, payload)
	require.NoError(s.t, db.Set([]byte("f"), append(binary.BigEndian.AppendUint32(nil, sum), payload...), pebble.Sync))
	require.NoError(s.t, db.Close())
}

type mute struct{}

func (mute) Infof(string, ...any)  {}
func (mute) Errorf(string, ...any) {}
func (mute) Fatalf(string, ...any) {}

// TestStoreOfANewerVersion: a store that a newer axishost made is left alone, whichever of its versions is newer.
func TestStoreOfANewerVersion(t *testing.T) {
	s := newShell(t)
	s.succeeds("run --model script:one.yaml one --store store")
	s.setFormat("store", 99)
	s.refuses("store", `^opening the log in "store": .*the log has format 99, this version reads up to 2; update axishost, or name another directory \(--store or AXISHOST_STORE\)$`)
	s.setFormat("store", 2)
	s.whole("store", 1)

	// Of the engine: the number after the name is that of a marker, then its version.
	markers, err := filepath.Glob(s.path("store/marker.format-version.*"))
	require.NoError(t, err)
	require.Len(t, markers, 1)
	newer := s.path("store/marker.format-version.000099.099")
	require.NoError(t, os.Rename(markers[0], newer))
	s.refuses("store", `^opening the log in "store": .*; update axishost, or name another directory \(--store or AXISHOST_STORE\)$`)
	require.NoError(t, os.Rename(newer, markers[0]))
	s.whole("store", 1)
}

// TestStoreKeptInANewerForm: so is one whose record of how it is kept has a form that this version does not know.
func TestStoreKeptInANewerForm(t *testing.T) {
	s := newShell(t)
	log, err := control.Open(t.Context(), control.Options{Dir: s.path("store"), Open: func() (store.Log, error) {
		return pebblestore.Open(s.path("store"), pebblestore.Options{})
	}})
	require.NoError(t, err)
	require.NoError(t, log.Commit(t.Context(), store.Commit{Appends: []store.Append{{Task: "~store", Records: [][]byte{{99, 'p', 1, 2, 3}}}}}))
	require.NoError(t, log.Close())
	s.refuses("store", `^opening the log in "store": store: .*it is kept in form 99 and this axishost knows 1: use a newer one$`)
}
