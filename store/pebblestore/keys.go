package pebblestore

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/axishost/axishost/store"
)

// The first byte of a key. They are part of the format: never change or reuse one.
const (
	kindFormat = 'f'
	kindHead   = 'h'
	kindRecord = 'r'
	kindBlob   = 'b'
	kindPurge  = 'p'
)

const (
	sumLen  = 4       // of the checksum that begins each value
	headLen = 2*8 + 1 // of a head's fixed part: last, fence, length of the label
	sep     = '\x00'  // ends a task id
)

func formatKey() []byte { return []byte{kindFormat} }

// purgeKey is there while something of a deleted task may still lie in the files.
func purgeKey(task string) []byte {
	return append([]byte{kindPurge}, task...)
}

func headKey(task string) []byte {
	return append([]byte{kindHead}, task...)
}

func recordKey(task string, seq uint64) []byte {
	key := make([]byte, 0, 1+len(task)+1+8)
	key = append(append(append(key, kindRecord), task...), sep)
	return binary.BigEndian.AppendUint64(key, seq)
}

func blobKey(task, blob string) []byte {
	key := make([]byte, 0, 1+len(task)+1+len(blob))
	key = append(append(append(key, kindBlob), task...), sep)
	return append(key, blob...)
}

// successor gives the first key that does not start with prefix, which begins with a kind.
func successor(prefix []byte) []byte {
	end := bytes.TrimRight(prefix, "\xff")
	end = bytes.Clone(end)
	end[len(end)-1]++
	return end
}

// seal writes the checksum of key and of the rest of value into value's first bytes.
func seal(key, value []byte) {
	binary.BigEndian.PutUint32(value, checksum(key, value[sumLen:]))
}

// unseal gives value without its checksum, in the same memory; false when the checksum is not right. It
// covers the key, so that a value which ended up under another key is found out too.
func unseal(key, value []byte) ([]byte, bool) {
	if len(value) < sumLen {
		return nil, false
	}
	payload := value[sumLen:]
	return payload, binary.BigEndian.Uint32(value) == checksum(key, payload)
}

func checksum(key, payload []byte) uint32 {
	castagnoli := crc32.MakeTable(crc32.Castagnoli) // made once in a process
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, payload)
}

// encodeHead writes h's value, without the checksum, into payload.
func encodeHead(payload []byte, h store.Head) {
	binary.BigEndian.PutUint64(payload, h.Last)
	binary.BigEndian.PutUint64(payload[8:], h.Fence)
	payload[headLen-1] = byte(len(h.Label)) // store.MaxLabelLen is below 256
	copy(payload[headLen+copy(payload[headLen:], h.Label):], h.Index)
}

// decodeHead reads a head's value. The result has no reference to value.
func decodeHead(task string, key, value []byte) (store.Head, error) {
	h, label, index, err := parseHead(key, value)
	if err != nil {
		return store.Head{}, err
	}
	h.Task, h.Label = task, string(label)
	if len(index) > 0 {
		h.Index = bytes.Clone(index)
	}
	return h, nil
}

// parseHead reads a head's value: the head without task, label and index, and these two in value's memory.
func parseHead(key, value []byte) (h store.Head, label, index []byte, err error) {
	corrupt := func(detail string) (store.Head, []byte, []byte, error) {
		return store.Head{}, nil, nil, &store.CorruptError{Task: string(key[1:]), Detail: "head: " + detail}
	}
	payload, ok := unseal(key, value)
	if !ok || len(payload) < headLen {
		return corrupt("checksum mismatch")
	}
	h = store.Head{Last: binary.BigEndian.Uint64(payload), Fence: binary.BigEndian.Uint64(payload[8:])}
	labelled, n := payload[headLen:], int(payload[headLen-1])
	switch {
	case n > len(labelled):
		return corrupt("label cut off")
	case h.Last == 0:
		return corrupt("no record")
	}
	return h, labelled[:n], labelled[n:], nil
}

// arena makes copies of many small things with few allocations. Whoever keeps one keeps its neighbours: up
// to arenaSize of them.
type arena []byte

const arenaSize = 64 << 10

// clone copies b, the first of `expected` things of about its size; 0: of any number.
func (a *arena) clone(b []byte, expected uint64) []byte {
	if len(b) > cap(*a)-len(*a) {
		size := uint64(arenaSize)
		if n := uint64(len(b)); expected > 0 && expected <= arenaSize {
			size = min(size, expected*n)
		}
		*a = make([]byte, 0, max(int(size), len(b)))
	}
	n := len(*a)
	*a = append(*a, b...)
	return (*a)[n:len(*a):len(*a)]
}
