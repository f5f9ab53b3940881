package pebblestore

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// The engine's manifest is a list of edits, each synced before the next is written, that says which tables and
// write-ahead logs make up the database. Opening it, the engine takes the first edit that it cannot read for
// one that a crash cut off, forgets the rest, and removes the tables that the rest names: damage to one byte
// would lose all that was written since, without an error. So the manifest is looked at before.

// The layout of the manifest: blocks with chunks, each a header (checksum 4, length 2, kind 1) and its data.
const (
	chunkBlock  = 32 << 10
	chunkHeader = 7
	chunkFull   = 1 // a whole edit
	chunkFirst  = 2 // the beginning of one
	chunkLast   = 4
)

// sumFile is a file of our own beside the engine's: name, size and checksum of the manifest when the log was
// closed, and a checksum of that. Without it damage to the last edit could not be told from a crash.
const sumFile = "manifest.sum"

// checkManifest says what is damaged in the manifest of a directory that has one. The caller has the directory's
// lock.
func checkManifest(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	name, err := atomicfs.ReadMarker(fsys, dir, "manifest")
	if err != nil {
		return err
	}
	present := make(map[string]bool, len(names))
	finished := false
	for _, n := range names {
		present[n] = true
		finished = finished || strings.HasPrefix(n, formatMarker) || strings.HasSuffix(n, tableSuffix)
	}
	switch {
	case name == "" && finished && !present[legacyMarker]:
		return damagedError("the marker of the manifest is gone")
	case name == "" || !present[name]: // no database yet; or the engine says what is missing
		return nil
	}
	data, err := readFile(fsys, fsys.PathJoin(dir, name))
	if err != nil {
		return err
	}
	if !intactManifest(data) || !matchesSum(fsys, dir, name, data) {
		return damagedError(fmt.Sprintf("file %s is damaged: checksum mismatch", name))
	}
	return nil
}

// damagedError gives an error that is one of corruption to the engine as well.
func damagedError(text string) error {
	return fmt.Errorf("%s: %w", text, pebble.ErrCorruption)
}

func readFile(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// sealManifest writes the sumFile of a log that was closed. When it cannot, or a crash cuts it off, there is
// none: nothing but the check is lost.
func sealManifest(fsys vfs.FS, dir string) {
	lock, err := pebble.LockDirectory(dir, fsys)
	if err != nil {
		return // another has it already, whose edits may not be synced
	}
	defer lock.Close()
	name, err := atomicfs.ReadMarker(fsys, dir, "manifest")
	if err != nil {
		return
	}
	data, err := readFile(fsys, fsys.PathJoin(dir, name))
	if err != nil {
		return
	}
	f, err := fsys.Create(fsys.PathJoin(dir, sumFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return
	}
	_, _ = f.Write([]byte(sumLine(name, data)))
	_ = f.Close()
}

func sumLine(name string, data []byte) string {
	line := fmt.Sprintf("%s %d %08x", name, len(data), checksum(nil, data))
	return fmt.Sprintf("%s %08x\n", line, checksum(nil, []byte(line)))
}

// matchesSum says whether the manifest begins with what it was when the log was closed; true when the sumFile
// does not tell, or is of another manifest.
func matchesSum(fsys vfs.FS, dir, name string, data []byte) bool {
	sum, err := readFile(fsys, fsys.PathJoin(dir, sumFile))
	if err != nil {
		return true
	}
	var of string
	var size, sumOf, sumOfLine uint32
	if _, err := fmt.Sscanf(string(sum), "%s %d %x %x", &of, &size, &sumOf, &sumOfLine); err != nil || of != name {
		return true
	}
	line, _, _ := strings.Cut(string(sum), fmt.Sprintf(" %08x\n", sumOfLine))
	if checksum(nil, []byte(line)) != sumOfLine {
		return true
	}
	return int(size) <= len(data) && checksum(nil, data[:size]) == sumOf
}

// intactManifest says whether nothing readable comes after something unreadable, as a crash leaves it.
func intactManifest(data []byte) bool {
	at := 0
	for at < len(data) {
		if left := chunkBlock - at%chunkBlock; left < chunkHeader {
			at += left // the rest of a block stays empty
			continue
		}
		_, payload := chunk(data, at)
		if payload == nil {
			break
		}
		at += chunkHeader + len(payload)
	}
	for at++; at < len(data); at++ {
		if kind, payload := chunk(data, at); payload != nil && (kind == chunkFull || kind == chunkFirst) {
			return false // an edit that was written after the unreadable one was synced
		}
	}
	return true
}

// chunk gives the chunk at an offset; nil when there is none.
func chunk(data []byte, at int) (kind byte, payload []byte) {
	if at+chunkHeader > len(data) {
		return 0, nil
	}
	sum, length := binary.LittleEndian.Uint32(data[at:]), int(binary.LittleEndian.Uint16(data[at+4:]))
	kind = data[at+6]
	end := at + chunkHeader + length
	if kind < chunkFull || kind > chunkLast || length == 0 || end > len(data) || end > at-at%chunkBlock+chunkBlock {
		return 0, nil
	}
	if sum != engineChecksum(data[at+6:end]) {
		return 0, nil
	}
	return kind, data[at+chunkHeader : end]
}
