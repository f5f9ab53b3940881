package store

import (
	"errors"
	"fmt"
)

// Errors that callers branch on. Backends wrap them with the task and what was found.
var (
	// ErrConflict: another writer appended first. Read what is new, decide again.
	ErrConflict = errors.New("store: sequence conflict")
	// ErrFenced: another writer has claimed the task. Stop working on it.
	ErrFenced = errors.New("store: fenced off")
	// ErrNotFound: there is no such task or blob.
	ErrNotFound = errors.New("store: not found")
	// ErrInvalid: the commit is not well formed. It is a mistake of the caller's.
	ErrInvalid = errors.New("store: invalid commit")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("store: closed")
	// ErrFailed: the log could not write or read, and refuses everything from then on.
	ErrFailed = errors.New("store: failed")
	// ErrInUse: another process holds the log.
	ErrInUse = errors.New("store: in use by another process")
	// ErrVersion: the log was written by a newer version than this one can read.
	ErrVersion = errors.New("store: written by a newer version")
)

// CorruptError says that something of a task is not what was written. It concerns what was asked for and
// nothing else: the log does not fail, and other tasks and records are read as before.
type CorruptError struct {
	// Task is the task's id; empty when the damage is in what a call needs of many tasks (List, Compact).
	Task string
	// Seq is the record's sequence number; 0 when it is not a record but the task's head or a blob.
	Seq uint64
	// Detail says what is wrong, for a person.
	Detail string
}

func (e *CorruptError) Error() string {
	if e.Task == "" {
		return "store: the log is corrupt: " + e.Detail
	}
	if e.Seq == 0 {
		return fmt.Sprintf("store: task %q is corrupt: %s", e.Task, e.Detail)
	}
	return fmt.Sprintf("store: task %q is corrupt: record %d: %s", e.Task, e.Seq, e.Detail)
}
