// Package pebblestore is a store.Log in a directory, on the Pebble storage engine.
//
// # What holds
//
//   - A commit is one engine batch, synced before Commit returns. A crash leaves it whole or not at all.
//   - Commits of different tasks share an fsync; those of one task follow each other.
//   - Nothing is shown (Read, Head, List, Blob, Watch) that is not synced, neither a commit nor a deletion,
//     though the engine itself shows a batch as soon as it is applied: see flight.go.
//   - After the first failed write, sync or read the directory is not touched again and every call returns
//     ErrFailed with the cause: see fuse.go. The directory is then as a crash would have left it.
//   - Damage (a checksum that does not match, a file that is gone) is no failure: what it concerns gives
//     *store.CorruptError, which names the file, and the rest is read and written as before; Verify finds all
//     of it. Compactions end with the first that meets damage: see compactions.go.
//   - One Log has a directory at a time, over all processes of the machine: else ErrInUse.
//
// It refuses a directory that a newer version wrote (ErrVersion) and one that holds another program's
// database. It takes no configuration beyond a file system, writes no log lines and ends no process.
//
// # Keys and values
//
// A key is one byte for its kind, then the task id, which has no byte below 0x21:
//
//	f                          the format version
//	h <task>                   the task's head
//	r <task> 00 <seq, 8 bytes> a record
//	b <task> 00 <key>          a blob
//	p <task>                   the task was deleted, and its bytes may still be in the files (purge.go)
//
// Numbers are big-endian, so that records lie in order of sequence number and heads in order of task id.
// A value begins with the CRC-32C (4 bytes) of its key and of what follows:
//
//	f   format version, 4 bytes
//	h   last sequence number, 8 bytes; fence, 8 bytes; label, after its length in a byte; index entry, the rest
//	r   the record
//	b   the blob
//	p   nothing
//
// Beside the engine's files there is manifest.sum, which tells damage to the engine's manifest from a crash: see
// manifest.go.
//
// cmd imports this package; it imports store and the engine.
package pebblestore
