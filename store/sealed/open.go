package sealed

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/axishost/axishost/store"
)

// ErrKey: the key of the options is not the store's. The error says what the user can do.
var ErrKey = errors.New("store: key mismatch")

// Options configure a Log. The zero value is a plain one.
type Options struct {
	// Key encrypts a new store and opens one that it encrypted; nil for a plain store.
	Key *Key
}

// reserved is the task of the inner log that says how the store is kept. It has one record:
//
//	version, 1 byte (recordVersion); mode, 1 byte; then, by mode,
//	b  nothing
//	p  the store key
//	e  key id of the key file's key, 8 bytes; store key, encrypted with it: nonce, ciphertext and tag
//
// A version is never reused; an older binary refuses a newer one. The task is hidden from the callers.
const (
	reserved      = "~store"
	recordVersion = 1
)

// mode is how a store is kept, decided when it is made.
type mode byte

const (
	// modePlain: blobs are addressed by keyed digests. Whoever reads the store reads the key as well.
	modePlain mode = 'p'
	// modeEncrypted: besides, everything is encrypted.
	modeEncrypted mode = 'e'
)

// Open gives a log that keeps what it is given in inner. A new inner log becomes plain or encrypted as the
// options say, for good; one that is not new has to fit them: else ErrKey. When two processes open a new one
// at the same time, what the first of them decided holds for both.
//
// Closing the log closes inner. When Open returns an error, inner is open still and the caller's to close.
func Open(ctx context.Context, inner store.Log, opts Options) (*Log, error) {
	record, err := readRecord(ctx, inner)
	if errors.Is(err, store.ErrNotFound) {
		record, err = writeRecord(ctx, inner, opts)
	}
	if err != nil {
		return nil, err
	}
	m, k, err := parseRecord(record, opts.Key)
	if err != nil {
		return nil, err
	}
	return &Log{inner: inner, mode: m, keys: k}, nil
}

func readRecord(ctx context.Context, inner store.Log) ([]byte, error) {
	records, err := inner.Read(ctx, reserved, 0, 0)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading how the store is kept: %w", err)
	case len(records) != 1:
		return nil, fmt.Errorf("%w: task %q has %d records: use a newer axishost", store.ErrVersion, reserved, len(records))
	}
	return records[0].Data, nil
}

// writeRecord decides how the store is kept, or gives what another process has decided meanwhile.
func writeRecord(ctx context.Context, inner store.Log, opts Options) ([]byte, error) {
	// Open writes the record before anything else can be written, so a log with tasks and without it has lost
	// it, or is not ours. A task that another process puts in just now comes after a record, and ours is refused.
	tasks, err := inner.List(ctx, store.Query{Last: 1})
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading how the store is kept: %w", err)
	case len(tasks) > 0 && tasks[0].Task != reserved:
		return nil, corruptRecord("it is missing, and the store has tasks: restore the store from a backup")
	}
	record := newRecord(opts.Key)
	err = inner.Commit(ctx, store.Commit{Appends: []store.Append{{Task: reserved, Records: [][]byte{record}}}})
	if errors.Is(err, store.ErrConflict) {
		return readRecord(ctx, inner)
	}
	if err != nil {
		return nil, fmt.Errorf("writing how the store is kept: %w", err)
	}
	return record, nil
}

// newRecord makes the record of a new store, with a random store key.
func newRecord(k *Key) []byte {
	storeKey := make([]byte, keyLen)
	rand.Read(storeKey)
	if k == nil {
		return append([]byte{recordVersion, byte(modePlain)}, storeKey...)
	}
	id := k.id()
	record := append([]byte{recordVersion, byte(modeEncrypted)}, id[:]...)
	return newAEAD(k.wrapping()).Seal(record, nil, storeKey, record)
}

// wrapping gives the key that encrypts store keys.
func (k Key) wrapping() []byte {
	return expand(k.secret(), "axishost key file wraps store key", keyLen)
}

// parseRecord reads how the store is kept, and gives its keys when key fits.
func parseRecord(record []byte, key *Key) (mode, *keys, error) {
	const head = 2
	if len(record) < head {
		return 0, nil, corruptRecord("it is cut off")
	}
	if record[0] != recordVersion {
		return 0, nil, fmt.Errorf("%w: it is kept in form %d and this axishost knows %d: use a newer one", store.ErrVersion, record[0], recordVersion)
	}
	m, rest := mode(record[1]), record[head:]
	switch {
	case m == modePlain && len(rest) == keyLen:
		if key != nil {
			return 0, nil, fmt.Errorf("%w: the store is plain, and AXISHOST_KEY_FILE has key %s: unset AXISHOST_KEY_FILE, "+
				"or name another --store", ErrKey, key.ID())
		}
		return m, newKeys(rest), nil
	case m == modeEncrypted && len(rest) == idLen+keyLen+gcmOverhead:
		k, err := unwrap(record[:head+idLen:head+idLen], rest[idLen:], key)
		return m, k, err
	}
	return 0, nil, corruptRecord(fmt.Sprintf("its mode is %d, with %d bytes", m, len(rest)))
}

// unwrap gives the keys of an encrypted store. header is the record up to the wrapped store key.
func unwrap(header, wrapped []byte, key *Key) (*keys, error) {
	id := hex.EncodeToString(header[len(header)-idLen:])
	if key == nil {
		return nil, fmt.Errorf("%w: the store is encrypted with key %s: set AXISHOST_KEY_FILE to its key file", ErrKey, id)
	}
	if key.ID() != id {
		return nil, fmt.Errorf("%w: the store is encrypted with key %s, and AXISHOST_KEY_FILE has key %s: "+
			"set it to the file of key %s", ErrKey, id, key.ID(), id)
	}
	storeKey, err := newAEAD(key.wrapping()).Open(nil, nil, wrapped, header)
	if err != nil {
		return nil, corruptRecord("the store's key is not what was written: restore the store from a backup")
	}
	return newKeys(storeKey), nil
}

func corruptRecord(detail string) error {
	return &store.CorruptError{Task: reserved, Seq: 1, Detail: detail}
}
