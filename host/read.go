package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
)

// Summary is a task's entry in lists. The order of its fields is the order of its JSON.
type Summary struct {
	ID      string `json:"id"`
	Phase   string `json:"phase"`
	Created string `json:"created"` // RFC 3339, UTC
	Recipe  string `json:"recipe"`  // empty: the base machine
	Model   string `json:"model"`
	Task    string `json:"task"`
}

// List gives the tasks whose id starts with prefix, oldest first.
func (h *Host) List(ctx context.Context, prefix string) ([]Summary, error) {
	heads, err := h.opts.Log.List(ctx, store.Query{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	out := make([]Summary, 0, len(heads))
	for _, head := range heads {
		var s Summary
		if err := json.Unmarshal(head.Index, &s); err != nil {
			return nil, fmt.Errorf("list entry of task %s: %w", head.Task, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// Errors of Find.
var (
	ErrNoTask    = errors.New("there is no such task")
	ErrAmbiguous = errors.New("it stands for several tasks")
)

// Find gives the one task that name stands for: an id, the start of one, or "last".
func (h *Host) Find(ctx context.Context, name string) (Summary, error) {
	prefix := strings.ToLower(name)
	if prefix == "last" {
		prefix = ""
	} else if prefix == "" {
		return Summary{}, fmt.Errorf("task %q: %w", name, ErrNoTask)
	}
	tasks, err := h.List(ctx, prefix)
	switch {
	case err != nil:
		return Summary{}, err
	case len(tasks) == 0:
		return Summary{}, fmt.Errorf("task %q: %w", name, ErrNoTask)
	case prefix == "":
		return tasks[len(tasks)-1], nil // ids begin with their time
	case len(tasks) > 1:
		return Summary{}, fmt.Errorf("task %q: %w: %s and %s; give more of the id", name, ErrAmbiguous, tasks[0].ID, tasks[1].ID)
	}
	return tasks[0], nil
}

// readBatch is how many events Read holds in memory at once.
const readBatch = 512

// Read gives the events of a task, in order.
func (h *Host) Read(ctx context.Context, id string, each func(*Event) error) error {
	for after := uint64(0); ; {
		records, err := h.opts.Log.Read(ctx, id, after, readBatch)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("task %q: %w", id, ErrNoTask)
		}
		if err != nil {
			return err
		}
		for _, r := range records {
			e, err := event.Decode(id, r.Seq, r.Data)
			if err != nil {
				return err
			}
			if err := each(e); err != nil {
				return err
			}
			after = r.Seq
		}
		if len(records) < readBatch {
			return nil
		}
	}
}

// EventJSON gives an event as one line of JSON, for machines.
func EventJSON(e *Event) ([]byte, error) {
	payload, err := event.EncodeJSON(e.Payload)
	if err != nil {
		return nil, err
	}
	return event.EncodeJSON(struct {
		Version   event.Version   `json:"v"`
		Task      string          `json:"task"`
		Seq       uint64          `json:"seq"`
		Type      event.Type      `json:"type"`
		Time      string          `json:"time"`
		Actor     event.Actor     `json:"actor"`
		Cause     uint64          `json:"cause"`
		Step      int64           `json:"step"`
		Attempt   int64           `json:"attempt"`
		Principal string          `json:"principal,omitempty"`
		Args      string          `json:"args,omitempty"`
		Evidence  []uint64        `json:"evidence,omitempty"`
		Payload   json.RawMessage `json:"payload"`
	}{
		e.Version, e.Task, e.Seq, e.Payload.Type(), timestamp(e.Time), e.Actor, e.Cause, e.Step, e.Attempt,
		e.Principal, e.Args, e.Evidence, payload,
	})
}

// timestamp writes a time of an event.
func timestamp(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.000000Z")
}
