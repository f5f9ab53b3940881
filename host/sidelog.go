package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/axishost/axishost/store"
	"github.com/fxamacker/cbor/v2"
)

// sideLog begins the id of a side log: a log that is no task, for what several tasks share. It sorts behind every
// task's id, and no task's id begins so: what lists tasks stops before it, and what is asked for a task by such an id
// knows of none. What follows it says the kind: ~key-…, and so on; ~store is what the encrypted store keeps itself.
//
// What a side log says is its newest record, which is its entry in the index as well: a Head is enough to know it.
// It changes with an append beside a task's own in one commit, so that both are durable or neither is. The task's append
// comes first: a commit whose answer got lost is looked up by its first append (host/control), and only of a task's
// records is it certain that nobody else writes the same.
const sideLog = "~"

func isSideLog(id string) bool { return strings.HasPrefix(id, sideLog) }

// sideHead gives what a side log says, in Index; Last is 0 where it is not there.
func (h *Host) sideHead(ctx context.Context, id string) (store.Head, error) {
	head, err := h.opts.Log.Head(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return store.Head{Task: id}, nil
	}
	return head, err
}

// sideAppend is what makes record all that a side log says, for whoever knows it as head is: store.ErrConflict or
// store.ErrFenced where it has changed.
func sideAppend(head store.Head, fence uint64, record []byte) store.Append {
	return store.Append{Task: head.Task, Expected: head.Last, Fence: fence, Records: [][]byte{record}, Index: record}
}

// sideDecoding is strict: the newest record says what it says, or it is damaged.
var sideDecoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden}.DecMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}()

// decodeSide reads the newest record of a side log, which is that of a key or whatever else kind says.
func decodeSide(head *store.Head, kind string, into any) error {
	if err := sideDecoding.Unmarshal(head.Index, into); err != nil {
		return &store.CorruptError{Task: head.Task, Seq: head.Last, Detail: "it is not the record of a " + kind + ": " + oneLine(err)}
	}
	return nil
}

// knownForm refuses a record that a newer version wrote.
func knownForm(head *store.Head, form, known int) error {
	if form != known {
		return fmt.Errorf("%w: the record of %s has form %d, and this axishost knows %d", store.ErrVersion, head.Task, form, known)
	}
	return nil
}

// errBeside says that a side log has changed, so that the commit which was to change it with a task was refused.
var errBeside = errors.New("a log beside the task has changed")

// checkSideLog reads a side log. What it says is for who knows its kind.
func (h *Host) checkSideLog(ctx context.Context, head *store.Head, report *CheckReport) error {
	report.SideLogs++
	last := store.Record{}
	for more := true; more; {
		records, err := h.opts.Log.Read(ctx, head.Task, last.Seq, readBatch)
		if errors.Is(err, store.ErrNotFound) {
			return nil // deleted meanwhile
		}
		if err != nil {
			return err
		}
		for _, r := range records {
			report.Bytes += int64(len(r.Data))
			last = r
		}
		more = len(records) == readBatch
	}
	whole := last.Seq == head.Last && bytes.Equal(last.Data, head.Index)
	if now, err := h.sideHead(ctx, head.Task); err != nil || now.Last != head.Last || now.Fence != head.Fence {
		return err // it has changed since it was listed
	}
	switch {
	case !whole:
		return &damageError{Damage{head.Task, 0, fmt.Sprintf("its newest record, %d of %d, is not what lists have of it", last.Seq, head.Last)}}
	case strings.HasPrefix(head.Task, keyLog):
		_, err := decodeKey(head)
		return err
	case strings.HasPrefix(head.Task, leaseLog):
		_, err := decodeLease(head)
		return err
	}
	return nil
}
