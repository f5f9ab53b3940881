package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
	"github.com/fxamacker/cbor/v2"
)

// MaxKeyBytes is how long a Submission's key may be: longer than any id, of a message or a job, that makes a good one.
const MaxKeyBytes = 256

// CheckKey says what is wrong with a key; nil where it can be one.
func CheckKey(key string) error {
	switch {
	case key == "":
		return errors.New("the key is empty")
	case len(key) > MaxKeyBytes:
		return fmt.Errorf("the key has %d bytes, and at most %d are allowed", len(key), MaxKeyBytes)
	case !utf8.ValidString(key):
		return errors.New("the key is not UTF-8 text")
	}
	for at, r := range key {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("the key has a character that is not printable, %U at byte %d", r, at+1)
		}
	}
	return nil
}

// KeyError says that the key of a submission belongs to a task that is another submission.
type KeyError struct {
	Task   string
	Differ string // what they differ in: "another goal"
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("the key belongs to task %s, which was submitted with %s: use another key", e.Task, e.Differ)
}

// keyLog begins the ids of the side logs of keys; the key's digest ends them. A key may be somebody's secret, and ids are
// not encrypted.
const keyLog = sideLog + "key-"

func keyDigest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// keyRecord is what the side log of a key says.
type keyRecord struct {
	_ struct{} `cbor:",toarray"`
	// Form is keyForm; another one was written by a newer version.
	Form int
	// Task is the task that has the key, Submission the digest of what was submitted with it.
	Task, Submission string
}

const keyForm = 1

func decodeKey(head *store.Head) (r keyRecord, err error) {
	if err = decodeSide(head, "key", &r); err == nil {
		err = knownForm(head, r.Form, keyForm)
	}
	return r, err
}

// keyHolder gives the task that has a key, with the head of the key's log. No task has it where there is no such log, and
// where the one that had it was deleted.
func (h *Host) keyHolder(ctx context.Context, digest string) (keyRecord, store.Head, error) {
	head, err := h.sideHead(ctx, keyLog+digest)
	if err != nil || head.Last == 0 {
		return keyRecord{}, head, err
	}
	holder, err := decodeKey(&head)
	if err == nil && holder.Task == "" {
		return keyRecord{}, head, nil
	}
	if err == nil {
		_, err = h.opts.Log.Head(ctx, holder.Task)
	}
	if errors.Is(err, store.ErrNotFound) {
		return keyRecord{}, head, nil
	}
	return holder, head, err
}

// takeKey gives a key to a task: the append that goes with the task's first commit.
func takeKey(head store.Head, task, submission string) (store.Append, error) {
	record, err := cbor.Marshal(keyRecord{Form: keyForm, Task: task, Submission: submission})
	return sideAppend(head, head.Fence, record), err
}

// runOnce is Run for a submission with a key: the first one begins the task, and the same again is that task.
func (h *Host) runOnce(ctx context.Context, sub Submission, created *event.TaskCreated) (*Result, error) {
	submission, err := submissionDigest(created)
	if err != nil {
		return nil, err
	}
	for gone := ""; ; {
		holder, head, err := h.keyHolder(ctx, created.Key)
		if err != nil {
			return nil, interrupted(ctx, err)
		}
		if holder.Task == "" {
			r, err := h.begin(ctx, sub, created, func(task string) (store.Append, error) { return takeKey(head, task, submission) })
			if !errors.Is(err, errBeside) { // else the same was submitted meanwhile
				return r, err
			}
			continue
		}
		r, err := h.runAgain(ctx, holder, submission, created)
		if !errors.Is(err, ErrNoTask) || holder.Task == gone { // else it was deleted meanwhile
			return r, err
		}
		gone = holder.Task
	}
}

// runAgain goes on with the task that has the key of a submission, where that is the same submission.
func (h *Host) runAgain(ctx context.Context, holder keyRecord, submission string, created *event.TaskCreated) (*Result, error) {
	if holder.Submission != submission {
		was, err := h.created(ctx, holder.Task)
		if err != nil {
			return nil, interrupted(ctx, err)
		}
		return nil, &KeyError{holder.Task, difference(was, created)}
	}
	return h.resume(ctx, holder.Task, func(s *core.State) {
		if known := h.opts.Events.Known; known != nil {
			known(holder.Task, string(s.Phase()))
		}
	})
}

// created gives the first event of a task.
func (h *Host) created(ctx context.Context, id string) (*event.TaskCreated, error) {
	records, err := h.opts.Log.Read(ctx, id, 0, 1)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("task %q: %w", id, ErrNoTask)
	}
	if err != nil {
		return nil, err
	}
	e, err := event.Decode(id, records[0].Seq, records[0].Data)
	if err != nil {
		return nil, err
	}
	created, ok := e.Payload.(*event.TaskCreated)
	if !ok {
		return nil, fmt.Errorf("task %s begins with %s", id, e.Payload.Type())
	}
	return created, nil
}

// difference says what two submissions differ in, in words.
func difference(was, is *event.TaskCreated) string {
	digest := func(p *event.Plugin) string {
		if p == nil {
			return ""
		}
		return p.Digest
	}
	switch {
	case was.Goal != is.Goal:
		return "another goal"
	case was.Model != is.Model:
		return "another model"
	case digest(was.Recipe) != digest(is.Recipe):
		return "another recipe"
	case !slices.EqualFunc(was.Tools, is.Tools, func(a, b event.Plugin) bool { return a.Digest == b.Digest }):
		return "other tools"
	case !reflect.DeepEqual(was.Grants, is.Grants):
		return "other grants"
	}
	return "another configuration"
}

// freeKey frees the key of a task that is gone: its log says nobody from then on. It is not deleted, so that whoever knows it
// as it was has a conflict. Where that does not work the key is free as well, by the task's not being there; and where the log is
// not as it was, somebody has taken it.
func (h *Host) freeKey(ctx context.Context, digest, task string) {
	if digest == "" {
		return
	}
	head, err := h.sideHead(ctx, keyLog+digest)
	if err != nil || head.Last == 0 {
		return
	}
	if holder, err := decodeKey(&head); err == nil && holder.Task == task {
		if record, err := cbor.Marshal(keyRecord{Form: keyForm}); err == nil {
			_ = h.opts.Log.Commit(ctx, store.Commit{Appends: []store.Append{sideAppend(head, head.Fence, record)}})
		}
	}
}

// checkKey: a task that was submitted with a key has it.
func (h *Host) checkKey(ctx context.Context, task string, created *event.TaskCreated) error {
	if created == nil || created.Key == "" {
		return nil
	}
	holder, head, err := h.keyHolder(ctx, created.Key)
	if err != nil || holder.Task == task {
		return nil // what cannot be read is told of as what it is
	}
	if _, err := h.opts.Log.Head(ctx, task); errors.Is(err, store.ErrNotFound) {
		return nil // deleted meanwhile
	}
	return &damageError{Damage{task, 0, fmt.Sprintf("it has a key, and %s does not say so", head.Task)}}
}

// submissionDigest is what tells submissions apart, over versions of the host: of the configuration it has what is not as
// the defaults are, so that a version with one more default, or another one, does not take the same for something else.
func submissionDigest(created *event.TaskCreated) (string, error) {
	config, err := configured(created.Config)
	if err != nil {
		return "", err
	}
	what := struct {
		Goal, Model, Recipe string
		Tools               []string
		Grants              []event.Grant
		Config              any
	}{Goal: created.Goal, Model: created.Model, Grants: created.Grants, Config: config}
	if created.Recipe != nil {
		what.Recipe = created.Recipe.Digest
	}
	for i := range created.Tools {
		what.Tools = append(what.Tools, created.Tools[i].Digest)
	}
	text, err := event.EncodeJSON(what)
	return core.ArgumentsDigest(string(text)), err
}

// configured gives what a configuration has otherwise than the defaults.
func configured(config json.RawMessage) (any, error) {
	defaults, err := event.EncodeJSON(core.DefaultConfig())
	if err != nil {
		return nil, err
	}
	var own, usual any
	for _, read := range []struct {
		text []byte
		to   *any
	}{{config, &own}, {defaults, &usual}} {
		dec := json.NewDecoder(bytes.NewReader(read.text))
		dec.UseNumber() // a double would round the large ones
		if err := dec.Decode(read.to); err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
	}
	return besides(own, usual), nil
}

// besides gives what own has otherwise than usual; what own lacks is null.
func besides(own, usual any) any {
	mine, ok := own.(map[string]any)
	theirs, both := usual.(map[string]any)
	if !ok || !both {
		return own
	}
	out := map[string]any{}
	for name := range theirs {
		if _, there := mine[name]; !there {
			out[name] = nil
		}
	}
	for name, value := range mine {
		if other, there := theirs[name]; !there || !reflect.DeepEqual(value, other) {
			out[name] = besides(value, other)
		}
	}
	return out
}
