// Package sealed is a store.Log on top of another one: it addresses blobs by keyed digests and, when the user
// has a key file, encrypts what is stored.
//
// How a store is kept is decided when it is made, by whether there is a key, and recorded in it (the hidden
// task "~store", see open.go). Later the options have to fit: ErrKey says what to set or unset.
//
// # What holds in an encrypted store
//
//   - Records, blobs, index entries and the blobs' keys reach the inner log only encrypted (AES-256-GCM) or as
//     a digest (HMAC-SHA-256).
//   - A value opens only where it was put: in its store and task, as the record of its number, the blob of
//     its key, the index entry. Anything else is a store.CorruptError, and nothing of it is shown.
//   - Nothing is read that is not encrypted: a plain value among encrypted ones is corrupt.
//   - What the log does to atomicity, order and durability is what the inner log does. It adds no write
//     to a commit and keeps no state, so any number of them can be on one inner log.
//
// A plain store has its records, labels and index entries as they are; whoever reads it reads everything.
//
// # What encryption does not hide
//
// Task ids and the times in them, labels (a Query selects by them, and they are the phase only), fences,
// the number of records and of blobs, when they were written, and their sizes to the byte.
//
// # What it does not find
//
// It finds changes to what is stored, not that something is old or gone: whoever can write to the store can put
// back an earlier index entry or blob of the same key, cut the last records off, empty an index entry, or
// take a task away. Labels, fences and last sequence numbers are not authenticated.
//
// # Refused
//
// The task id "~store" (ErrInvalid, ErrNotFound), a commit that is too large with what encryption adds, a key
// file that others may read. A lost key file cannot be replaced, and nothing opens the store without it.
//
// cmd imports this package; it imports store and the standard library, whose cryptography is all it uses.
package sealed
