package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// The first byte of a value. They are part of the format: never change or reuse one.
const (
	formPlain  = 1 // a blob of a plain store: the rest is the blob
	formSealed = 2 // key id, 8 bytes; nonce, 12; AES-256-GCM ciphertext, with the tag of 16 bytes at its end
)

const (
	headerLen   = 1 + idLen // what begins a sealed value and is authenticated with it
	gcmOverhead = 12 + 16   // nonce and tag
	overhead    = headerLen + gcmOverhead
)

// keys are those of an encrypted or plain store, all derived from its random store key.
//
// A nonce is 96 random bits, which is sound for 2^32 messages under one key (the chance of any collision
// is then 2^-33). A task's key seals the records and blobs of one task; 2^32 of those are out of reach. The
// index key seals one index entry for each append of any task: 2^32 appends, for one store in all its life.
type keys struct {
	id    [idLen]byte // of the store key, in each sealed value
	store secret      // the store key
	index cipher.AEAD
}

func newKeys(storeKey []byte) *keys {
	k := &keys{store: newSecret(storeKey)}
	copy(k.id[:], k.derive("id", "", idLen))
	k.index = newAEAD(k.derive("index", "", keyLen))
	return k
}

// derive gives the key for a purpose within a task; "" for the whole store. A purpose has no zero byte.
func (k *keys) derive(purpose, task string, length int) []byte {
	return expand(k.store(), "axishost store "+purpose+"\x00"+task, length)
}

// data gives the key that seals a task's records and blobs. It is made anew for each call of the log: that
// takes some microseconds, and there is nothing to keep, bound or forget.
func (k *keys) data(task string) cipher.AEAD {
	return newAEAD(k.derive("data", task, keyLen))
}

// address gives the key under which the inner log has a blob.
func (k *keys) address(task, blob string) string {
	mac := hmac.New(sha256.New, k.derive("address", task, keyLen))
	mac.Write([]byte(blob))
	return hex.EncodeToString(mac.Sum(nil))
}

// expand derives a key from secret, which is uniformly random, so that HKDF needs no first step.
func expand(secret []byte, info string, length int) []byte {
	key, err := hkdf.Expand(sha256.New, secret, info, length)
	if err != nil {
		panic(err) // the length is too large: a mistake of this package's
	}
	return key
}

func newAEAD(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the length is wrong: a mistake of this package's
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// place is where a value belongs. It is authenticated with the value, which opens nowhere else.
type place struct {
	kind byte // kindRecord, kindBlob or kindIndex: part of the format
	task string
	seq  uint64 // a record's
	blob string // a blob's key, as the caller knows it
}

const (
	kindRecord = 'r'
	kindBlob   = 'b'
	kindIndex  = 'i'
)

// authenticated gives the additional data of a value: no two places have the same.
func (p place) authenticated(header []byte) []byte {
	data := make([]byte, 0, len(header)+1+1+len(p.task)+8+len(p.blob))
	data = append(append(data, header...), p.kind, byte(len(p.task))) // store.MaxIDLen is below 256
	data = append(data, p.task...)
	data = binary.BigEndian.AppendUint64(data, p.seq)
	return append(data, p.blob...)
}

// seal gives the stored form of plain, in memory of its own.
func (k *keys) seal(aead cipher.AEAD, p place, plain []byte) []byte {
	value := make([]byte, 0, overhead+len(plain))
	value = append(append(value, formSealed), k.id[:]...)
	return aead.Seal(value, nil, plain, p.authenticated(value))
}

// open gives what was sealed, in value's memory. The error says what is wrong, for store.CorruptError.
func (k *keys) open(aead cipher.AEAD, p place, value []byte) ([]byte, error) {
	if len(value) < overhead {
		return nil, errors.New("it is too short to be encrypted")
	}
	header, rest := value[:headerLen:headerLen], value[headerLen:]
	if header[0] != formSealed {
		return nil, fmt.Errorf("it is not encrypted: its form is %d", header[0])
	}
	if [idLen]byte(header[1:]) != k.id {
		return nil, fmt.Errorf("it was encrypted with key %x of another store", header[1:])
	}
	plain, err := aead.Open(rest[:0], nil, rest, p.authenticated(header))
	if err != nil {
		return nil, errors.New("it was changed, or moved here from elsewhere")
	}
	return plain[:len(plain):len(plain)], nil
}
