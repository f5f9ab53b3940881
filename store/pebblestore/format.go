package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/axishost/axishost/store"
)

// formatVersion says how a directory is laid out, beyond what the engine keeps track of itself. It is an
// append-only enum: a value, once released, keeps its meaning. A binary refuses versions above its own.
type formatVersion uint32

const (
	// Version 1 had no labels in heads. No release wrote it.
	_ formatVersion = 1
	// formatLabels is the layout of doc.go: heads have a label. Binaries of version 1 refuse it.
	formatLabels formatVersion = 2

	// formatOldest is what this version still reads.
	formatOldest = formatLabels
	// formatNewest is what a new directory gets. Each version after the first says what changed, and what an
	// older binary does with it.
	formatNewest = formatLabels
)

// engineFormat is the engine's own format for new directories. From FormatWALSyncChunks on the engine tells
// a damaged write-ahead log from one that a crash cut off; with FormatTableFormatV6 table footers carry a
// checksum. Each version above the oldest costs a new directory two more syncs.
const engineFormat = pebble.FormatTableFormatV6

// checkFormat reads the directory's format version, or makes an empty directory one of the newest format.
// When the version cannot be read for damage it gives *store.CorruptError: the log can then be read, since a
// later format has other kinds of keys for what this version would misunderstand; it is not to be written to.
func checkFormat(db *pebble.DB, fuse *fuse) error {
	value, closer, err := db.Get(formatKey())
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return initFormat(db, fuse)
	case pebble.IsCorruptionError(err):
		return &store.CorruptError{Detail: "the format version cannot be read, so nothing is written: " + damage(err)}
	case err != nil:
		return fmt.Errorf("reading the format version: %w", err)
	}
	defer closer.Close()
	payload, ok := unseal(formatKey(), value)
	if !ok || len(payload) != 4 {
		return errors.New("the format version is corrupt: checksum mismatch")
	}
	switch v := formatVersion(binary.BigEndian.Uint32(payload)); {
	case v > formatNewest:
		return fmt.Errorf("%w: the log has format %d, this version reads up to %d", store.ErrVersion, v, formatNewest)
	case v < formatOldest:
		return fmt.Errorf("the log has format %d, of a version before the first release, and this version reads from %d on; remove the directory, or name another", v, formatOldest)
	}
	return nil
}

// initFormat marks an empty database as a log. A crash before it ends leaves an empty database.
func initFormat(db *pebble.DB, fuse *fuse) error {
	it, err := db.NewIter(nil)
	if err != nil {
		return fmt.Errorf("reading the first key: %w", err)
	}
	found := it.First()
	if err := it.Close(); err != nil {
		return fmt.Errorf("reading the first key: %w", err)
	}
	if found {
		return errors.New("it holds another program's database")
	}
	value := binary.BigEndian.AppendUint32(make([]byte, sumLen), uint32(formatNewest))
	seal(formatKey(), value)
	if err := db.Set(formatKey(), value, pebble.NoSync); err != nil {
		return fmt.Errorf("writing the format version: %w", err)
	}
	// Flushing makes it durable; and the engine began its write-ahead log in the oldest format it knows.
	flush(db, fuse)
	return nil
}
