// Package store is the contract of the event log: append-only records per task, committed atomically over
// several tasks, guarded by an expected sequence number and a fence. Everything durable rests on it.
//
// It knows nothing of what a record means: records, index entries and blobs are bytes. It imports only the
// standard library; the backends (memstore, pebblestore) import their engine besides. host and cmd import
// it. storetest is the conformance suite that every backend passes.
package store
