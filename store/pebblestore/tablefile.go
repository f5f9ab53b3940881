package pebblestore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// tableFile is a table that is read. It checks each block before the engine does: when a checksum does not match,
// the engine looks for a bit whose flipping makes it match, over up to 40 KiB with a checksum of the whole block
// for each bit. For a blob of a megabyte that takes half a minute, each time that the block is read.
type tableFile struct {
	vfs.File
	name string
}

// The engine reads a table by blocks: data, a byte for its compression, and a checksum of both. Reads up to
// smallRead may be of something else, a table's footer; so few bits are soon flipped.
const (
	blockSum  = 4
	smallRead = 128
)

func (f *tableFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(p, offset)
	if err != nil || n < len(p) || n <= smallRead {
		return n, err
	}
	end := n - blockSum
	if engineChecksum(p[:end]) == binary.LittleEndian.Uint32(p[end:]) {
		return n, nil
	}
	return 0, fmt.Errorf("file %s is damaged: block of %d bytes at %d: checksum mismatch: %w",
		path.Base(f.name), n, offset, pebble.ErrCorruption)
}

// engineChecksum is the checksum that the engine's files have: a CRC-32C, rotated.
func engineChecksum(b []byte) uint32 {
	c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}
