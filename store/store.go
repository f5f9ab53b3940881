package store

import (
	"context"
	"slices"
	"strings"
)

// Log is an event log. Its methods may be called by several goroutines at once. After a method has
// returned ErrFailed every later one does.
type Log interface {
	// Commit makes everything in c durable, or nothing of it. When it returns nil the commit survives a
	// crash of the process and of the machine (a memory backend: lives as long as the log does).
	//
	// Each append is checked before anything is written: ErrConflict when the task's last sequence number
	// is not the expected one, ErrFenced when the append's fence is below the task's (or both). Records get
	// the sequence numbers Expected+1, Expected+2, … without a gap. The log keeps no reference to c's memory.
	// ErrInvalid when c is not well formed (Commit.Validate). A ctx that has ended before the writing
	// begins refuses the commit; from then on ctx is not looked at.
	Commit(ctx context.Context, c Commit) error

	// Read gives the records of task after sequence number `after`, at most limit of them (0 or less:
	// all), in order. They are the caller's own. ErrNotFound when the task has none at all. Like Head, List
	// and Blob it shows nothing that a crash could still take back.
	Read(ctx context.Context, task string, after uint64, limit int) ([]Record, error)

	// Blob gives a blob of task; it is the caller's own. ErrNotFound when there is none of that key.
	Blob(ctx context.Context, task, key string) ([]byte, error)

	// Head gives what the log knows of one task. ErrNotFound when there is no such task.
	Head(ctx context.Context, task string) (Head, error)

	// List gives the tasks that q selects, in the order that it asks for.
	List(ctx context.Context, q Query) ([]Head, error)

	// Watch returns once task holds a record after sequence number `after`, with the task's last one.
	// A task of which nothing was seen (after is 0) need not exist yet; one of which something was seen and
	// that is not there was deleted: ErrNotFound. It returns ctx's error when that ends first, ErrClosed when
	// the log is closed.
	Watch(ctx context.Context, task string, after uint64) (uint64, error)

	// Delete takes a task away: its records, its blobs and its head, all of it or nothing, as durably as
	// Commit. ErrConflict when the task's last sequence number is not expected, so that nobody deletes what
	// they have not seen, and a writer who goes on has a conflict; ErrNotFound when there is no such task.
	Delete(ctx context.Context, task string, expected uint64) error

	// Compact gives the space of what was deleted and rewritten back to the system. It may take long, and
	// others work on meanwhile. It changes nothing that a caller can see.
	Compact(ctx context.Context) error

	// Close releases the log. Calls under way are finished first (a Watch: with ErrClosed); later ones
	// return ErrClosed. Closing again returns what the first Close did.
	Close() error
}

// Commit is one atomic change of a log: at least one append or blob, at most MaxCommitSize bytes.
type Commit struct {
	Appends []Append
	Blobs   []Blob
}

// Append adds records to the end of one task. A task appears in a commit at most once.
type Append struct {
	// Task is the task's id: 1 to 128 bytes of printable ASCII without spaces.
	Task string
	// Expected is the sequence number of the last record that the writer has seen; 0 makes a new task.
	Expected uint64
	// Fence is the writer's claim on the task. A higher one than the task's takes the task over, from this
	// commit on; a lower one is refused.
	Fence uint64
	// Records are the new records, at least one, each of at least one byte.
	Records [][]byte
	// Index and Label replace what List and Head give for the task; a nil Index keeps both.
	Index []byte
	// Label is what a Query can select tasks by: at most MaxLabelLen bytes.
	Label string
}

// Select gives those of heads, in ascending order of id, that are within q.Last.
func (q *Query) Select(heads []Head) []Head {
	if q.Last > 0 && len(heads) > q.Last {
		return heads[len(heads)-q.Last:]
	}
	return heads
}

// Query selects tasks. The zero value selects all, in ascending order of id. Ids that begin with a time are
// selected by time with From and Before.
type Query struct {
	Prefix string   // ids that start with it
	From   string   // ids from it on; empty: from the first on
	Before string   // ids below it; empty: to the last
	Labels []string // tasks with one of these labels; empty: with any
	Last   int      // of what is selected, only so many of the highest ids; 0: all
}

// Matches tells whether a task is selected, Last aside.
func (q *Query) Matches(task, label string) bool {
	return strings.HasPrefix(task, q.Prefix) && task >= q.From && (q.Before == "" || task < q.Before) &&
		(len(q.Labels) == 0 || slices.Contains(q.Labels, label))
}

// Blob is a large value beside the log, addressed within a task. Putting a key again replaces its value,
// within one commit too. Neither sequence number nor fence guards it, and its task need not have a record:
// a key should say what the value is (a digest), so that whoever puts it puts the same.
type Blob struct {
	Task  string
	Key   string // of the shape of a task id
	Value []byte // may be empty
}

// Record is one record of a task.
type Record struct {
	Seq  uint64
	Data []byte
}

// Head is what a log knows of a task without reading its records.
type Head struct {
	Task  string
	Last  uint64 // sequence number of the last record
	Fence uint64 // the highest fence that an append carried
	Index []byte // what the last append with an index set; the caller's own
	Label string // set with it
}
