package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/axishost/axishost/store"
)

// Report is what Verify found.
type Report struct {
	// Tasks have a head that could be read. Records and Blobs are those that are what was written, and Bytes
	// is the size of these two together.
	Tasks, Records, Blobs int
	Bytes                 int64
	// Damage is in no particular order; nothing when all is well.
	Damage []Damage
}

// Damage is something that is not what was written.
type Damage struct {
	Task string // empty when it is not known
	Seq  uint64 // the first record concerned; 0 when it is a head or a blob
	What string // a line for a person
}

// Verify reads every head, record and blob, and checks that each is what was written and that each task has the
// records that its head tells of. It goes on after damage wherever there is something readable behind it, and
// changes nothing. each, unless nil, gets every record that is right, with data that is not to be kept; what
// it returns as an error is reported as damage of that record. The error is of what ends the reading: ctx, a
// closed log, a disk that does not answer.
func (l *Log) Verify(ctx context.Context, each func(task string, seq uint64, data []byte) error) (Report, error) {
	if err := l.enter(ctx); err != nil {
		return Report{}, err
	}
	defer l.calls.Done()
	it, err := l.db.NewIter(nil) // what is not synced yet is in it, whole
	if err != nil {
		return Report{}, l.readError("verifying", "", 0, err)
	}
	v := &verifier{ctx: ctx, it: it, each: each}
	err = v.run()
	if cerr := v.it.Close(); err == nil && cerr != nil && !pebble.IsCorruptionError(cerr) {
		err = cerr
	}
	switch {
	case ctx.Err() != nil:
		return v.report, ctx.Err()
	case err != nil:
		return v.report, l.readError("verifying", "", 0, err)
	}
	return v.report, l.fuse.err()
}

// verifier does the work of one Verify.
type verifier struct {
	ctx    context.Context
	it     *pebble.Iterator
	each   func(task string, seq uint64, data []byte) error
	report Report

	tasks  []head          // with a head, readable or not, in order of id
	known  map[string]bool // texts of damage that was reported of a task
	beside []Damage        // met between tasks: the same block as of one of them, or of tasks that nobody knows
}

// head is what Verify keeps of a task's head. Last is 0 when the head cannot be read.
type head struct {
	task string
	last uint64
}

func (v *verifier) run() error {
	v.known = make(map[string]bool)
	err := v.walk([]byte{kindHead}, []byte{kindHead + 1}, v.head, func(after []byte, what string) {
		v.known[what] = true
		v.beside = append(v.beside, Damage{What: fmt.Sprintf("heads after task %q cannot be read: %s", after[1:], what)})
	})
	if err != nil {
		return err
	}
	v.report.Damage, v.beside = append(v.report.Damage, v.beside...), nil
	for _, kind := range []byte{kindRecord, kindBlob} {
		if err := v.walkTasks(kind); err != nil {
			return err
		}
	}
	for _, d := range v.beside {
		if !v.known[d.What] {
			v.damage(d.Task, d.Seq, d.What)
		}
	}
	return nil
}

func (v *verifier) damage(task string, seq uint64, what string) {
	v.known[what] = true
	v.report.Damage = append(v.report.Damage, Damage{task, seq, what})
}

// head takes in one head.
func (v *verifier) head(key, value []byte) {
	task := string(key[1:])
	h, _, _, err := parseHead(key, value)
	var corrupt *store.CorruptError
	if errors.As(err, &corrupt) {
		v.damage(task, 0, corrupt.Detail)
	} else {
		v.report.Tasks++
	}
	v.tasks = append(v.tasks, head{task, h.Last})
}

// walkTasks looks at all keys of a kind, each task by itself and what lies between, so that damage in one is
// not taken for damage in the next.
func (v *verifier) walkTasks(kind byte) error {
	from := []byte{kind}
	for _, h := range v.tasks {
		first := append(append([]byte{kind}, h.task...), sep)
		if err := v.walkBeside(from, first); err != nil {
			return err
		}
		from = successor(first)
		walk := v.walkRecords
		if kind == kindBlob {
			walk = v.walkBlobs
		}
		if err := walk(h, first, from); err != nil {
			return err
		}
	}
	return v.walkBeside(from, []byte{kind + 1})
}

// walkBeside looks at what has no head: blobs may have none, records may not.
func (v *verifier) walkBeside(lower, upper []byte) error {
	orphan := ""
	see := func(key, value []byte) {
		id, rest, _ := bytes.Cut(key[1:], []byte{sep})
		task := string(id)
		if key[0] == kindBlob {
			v.blob(task, string(rest), key, value)
			return
		}
		if len(rest) != 8 {
			v.damage(task, 0, "a record's key is malformed")
			return
		}
		seq := binary.BigEndian.Uint64(rest)
		if task != orphan {
			orphan = task
			v.damage(task, seq, "there are records, but no head that can be read")
		}
		v.record(task, seq, key, value)
	}
	return v.walk(lower, upper, see, func(_ []byte, what string) {
		v.beside = append(v.beside, Damage{What: what})
	})
}

// walkRecords looks at the records of one task, which are numbered from 1 to the head's last without a gap.
func (v *verifier) walkRecords(h head, lower, upper []byte) error {
	next, unreadable := uint64(1), ""
	gap := func(until uint64) { // there is nothing from next until before this one
		switch {
		case unreadable != "":
			v.known[unreadable] = true
			v.damage(h.task, next, fmt.Sprintf("%s cannot be read: %s", span(next, until), unreadable))
		case until > next:
			v.damage(h.task, next, fmt.Sprintf("%s missing", span(next, until)))
		}
		unreadable = ""
	}
	see := func(key, value []byte) {
		if len(key) != len(lower)+8 {
			v.damage(h.task, 0, "a record's key is malformed")
			return
		}
		seq := binary.BigEndian.Uint64(key[len(lower):])
		gap(seq)
		if h.last > 0 && seq == h.last+1 {
			v.damage(h.task, seq, fmt.Sprintf("it is beyond the last one that the head tells of, %d", h.last))
		}
		v.record(h.task, seq, key, value)
		next = seq + 1
	}
	err := v.walk(lower, upper, see, func(_ []byte, what string) { unreadable = what })
	if err == nil && (next <= h.last || h.last == 0 && unreadable != "") {
		gap(max(h.last, next) + 1)
	} else if unreadable != "" {
		v.beside = append(v.beside, Damage{What: unreadable}) // in a block of this task's, but of no record of it
	}
	return err
}

// span words the records from first until before end.
func span(first, end uint64) string {
	if end <= first+1 {
		return fmt.Sprintf("record %d", first)
	}
	return fmt.Sprintf("records %d to %d", first, end-1)
}

// walkBlobs looks at the blobs of one task.
func (v *verifier) walkBlobs(h head, lower, upper []byte) error {
	return v.walk(lower, upper, func(key, value []byte) {
		v.blob(h.task, string(key[len(lower):]), key, value)
	}, func(after []byte, what string) {
		// Whether there are any in the block is not known.
		v.known[what] = true
		if len(after) > len(lower) {
			what = fmt.Sprintf("blobs after %q cannot be read: %s", after[len(lower):], what)
		} else {
			what = "blobs cannot be read: " + what
		}
		v.damage(h.task, 0, what)
	})
}

func (v *verifier) record(task string, seq uint64, key, value []byte) {
	data, ok := unseal(key, value)
	if !ok {
		v.damage(task, seq, "checksum mismatch")
		return
	}
	if v.each != nil {
		if err := v.each(task, seq, data); err != nil {
			v.damage(task, seq, oneLine(err).Error())
			return
		}
	}
	v.report.Records++
	v.report.Bytes += int64(len(data))
}

func (v *verifier) blob(task, blob string, key, value []byte) {
	data, ok := unseal(key, value)
	if !ok {
		v.damage(task, 0, fmt.Sprintf("blob %q: checksum mismatch", blob))
		return
	}
	v.report.Blobs++
	v.report.Bytes += int64(len(data))
}

// walk shows all keys from lower to before upper, and tells of stretches that cannot be read: what is wrong, and
// the last key before.
func (v *verifier) walk(
	lower, upper []byte, see func(key, value []byte), unreadable func(after []byte, what string),
) error {
	v.it.SetBounds(lower, upper)
	last := slices.Clone(lower)
	valid := v.it.First()
	for {
		for ; valid; valid = v.it.Next() {
			if err := v.ctx.Err(); err != nil {
				return err
			}
			value, err := v.it.ValueAndErr()
			switch {
			case err == nil:
				see(v.it.Key(), value)
			case pebble.IsCorruptionError(err):
				unreadable(last, damage(err))
			default:
				return err
			}
			last = append(last[:0], v.it.Key()...)
		}
		err := v.it.Error()
		if err == nil || !pebble.IsCorruptionError(err) {
			return err
		}
		unreadable(last, damage(err))
		if valid, err = v.skip(last, upper); err != nil || !valid {
			return err
		}
	}
}
