package store

import "fmt"

const (
	// MaxIDLen is the greatest length of a task id and of a blob key, in bytes: enough for a ULID with
	// several prefixes, or a SHA-512 digest in hexadecimal.
	MaxIDLen = 128
	// MaxLabelLen is the greatest length of a label, in bytes: it is a word, stored with a length of one byte.
	MaxLabelLen = 64
	// MaxCommitSize bounds one commit: the sum of its records, index entries and blob values, in bytes.
	// The engine keeps a commit in memory while it writes it.
	MaxCommitSize = 256 << 20
)

// Validate says whether c is well formed, without looking at any log: nil, or ErrInvalid wrapped with the
// first problem. Every backend's Commit begins with it.
func (c Commit) Validate() error {
	if len(c.Appends) == 0 && len(c.Blobs) == 0 {
		return fmt.Errorf("%w: neither an append nor a blob", ErrInvalid)
	}
	seen := make(map[string]bool, len(c.Appends))
	for _, a := range c.Appends {
		if err := a.validate(); err != nil {
			return err
		}
		if seen[a.Task] {
			return fmt.Errorf("%w: task %q appears twice", ErrInvalid, a.Task)
		}
		seen[a.Task] = true
	}
	for _, b := range c.Blobs {
		if !validID(b.Task) {
			return fmt.Errorf("%w: a blob's task id %s", ErrInvalid, idShape(b.Task))
		}
		if !validID(b.Key) {
			return fmt.Errorf("%w: task %q: a blob's key %s", ErrInvalid, b.Task, idShape(b.Key))
		}
	}
	if n := c.Size(); n > MaxCommitSize {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrInvalid, n, MaxCommitSize)
	}
	return nil
}

func (a Append) validate() error {
	if !validID(a.Task) {
		return fmt.Errorf("%w: a task id %s", ErrInvalid, idShape(a.Task))
	}
	switch {
	case len(a.Label) > MaxLabelLen:
		return fmt.Errorf("%w: task %q: a label of %d bytes is longer than %d", ErrInvalid, a.Task, len(a.Label), MaxLabelLen)
	case a.Label != "" && a.Index == nil:
		return fmt.Errorf("%w: task %q: a label without an index", ErrInvalid, a.Task)
	}
	if len(a.Records) == 0 {
		return fmt.Errorf("%w: task %q: no record to append", ErrInvalid, a.Task)
	}
	for i, r := range a.Records {
		if len(r) == 0 {
			return fmt.Errorf("%w: task %q: record %d of the append is empty", ErrInvalid, a.Task, i+1)
		}
	}
	return nil
}

// Size is the sum of c's records, index entries, labels and blob values, in bytes.
func (c Commit) Size() int {
	n := 0
	for _, a := range c.Appends {
		n += len(a.Index) + len(a.Label)
		for _, r := range a.Records {
			n += len(r)
		}
	}
	for _, b := range c.Blobs {
		n += len(b.Value)
	}
	return n
}

// Next gives the head that a task has once a was appended to it; h is the task's head before, the zero Head
// for a task that does not exist. It returns ErrFenced or ErrConflict when the append is to be refused;
// when both apply, ErrFenced: whoever lost the task must not read on and try again. The result shares
// the memory of a.Index or h.Index.
func (a Append) Next(h Head) (Head, error) {
	if a.Fence < h.Fence {
		return Head{}, fmt.Errorf("%w: task %q has fence %d, the append carries %d", ErrFenced, a.Task, h.Fence, a.Fence)
	}
	if a.Expected != h.Last {
		return Head{}, fmt.Errorf("%w: task %q is at %d, the append expects %d", ErrConflict, a.Task, h.Last, a.Expected)
	}
	next := Head{Task: a.Task, Last: h.Last + uint64(len(a.Records)), Fence: a.Fence, Index: h.Index, Label: h.Label}
	if a.Index != nil {
		next.Index, next.Label = a.Index, a.Label
	}
	return next, nil
}

// validID says whether s has the shape of a task id and of a blob key.
func validID(s string) bool {
	if len(s) == 0 || len(s) > MaxIDLen {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// idShape words what is wrong with an id. It quotes at most a valid id's length of it.
func idShape(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > MaxIDLen:
		return fmt.Sprintf("of %d bytes is longer than %d: %q…", len(s), MaxIDLen, s[:16])
	default:
		return fmt.Sprintf("is not printable ASCII without spaces: %q", s)
	}
}
