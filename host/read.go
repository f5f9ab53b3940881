package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
	"github.com/oklog/ulid/v2"
)

// Summary is a task's entry in lists. The order of its fields is the order of its JSON.
type Summary struct {
	ID      string    `json:"id"`
	Phase   string    `json:"phase"`
	Created Timestamp `json:"created"`
	Recipe  string    `json:"recipe"` // empty: none, or refused
	Model   string    `json:"model"`
	Task    string    `json:"task"`    // its first maxListed bytes
	Process int       `json:"process"` // that runs it on this machine; 0: none
	// Waits tells that nobody runs it and that it waits for a person. Of a task that is being cancelled its phase does not
	// say so.
	Waits bool `json:"-"`
}

// Timestamp is a time in microseconds since the Unix epoch, written as RFC 3339 in UTC.
type Timestamp int64

// timestampLayout has all digits always, so that times compare as texts.
const timestampLayout = "2006-01-02T15:04:05.000000Z"

// AppendText implements encoding.TextAppender.
func (t Timestamp) AppendText(b []byte) ([]byte, error) {
	return time.UnixMicro(int64(t)).UTC().AppendFormat(b, timestampLayout), nil
}

// MarshalText implements encoding.TextMarshaler.
func (t Timestamp) MarshalText() ([]byte, error) {
	return t.AppendText(make([]byte, 0, len(timestampLayout)))
}

// Ended tells that nothing follows any more.
func (s *Summary) Ended() bool { return core.Phase(s.Phase).Ended() }

// Phases are the phases that a task can be in, those in which it has ended last.
func Phases() []string {
	var out []string
	for _, p := range core.Phases() {
		out = append(out, string(p))
	}
	return out
}

// Query selects tasks. The zero value selects all.
type Query struct {
	Prefix string    // of the id
	Phases []string  // one of these; empty: any
	Since  time.Time // created then or later; zero: ever
	Until  time.Time // created before; zero: ever
	Last   int       // only so many of the newest; 0: all
}

// inLog gives the query as the log has it: ids begin with their time, and the phase is a task's label. Side logs are
// behind all tasks.
func (q *Query) inLog() store.Query {
	out := store.Query{Prefix: q.Prefix, Before: sideLog, Labels: q.Phases, Last: q.Last}
	if !q.Since.IsZero() {
		out.From = firstID(q.Since)
	}
	if !q.Until.IsZero() {
		out.Before = firstID(q.Until)
	}
	return out
}

// firstID gives the lowest id that a task of a time can have; ids have milliseconds.
func firstID(t time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(uint64(min(max(t.UnixMilli(), 0), int64(ulid.MaxTime())))) // in its range
	return strings.ToLower(id.String())
}

// List gives the tasks that q selects, oldest first.
func (h *Host) List(ctx context.Context, q Query) ([]Summary, error) {
	heads, err := h.opts.Log.List(ctx, q.inLog())
	if err != nil {
		return nil, err
	}
	running, err := h.running(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Summary, len(heads))
	for i := range heads {
		if err := decodeSummary(&heads[i], &out[i]); err != nil {
			return nil, err
		}
		out[i].Process = running[out[i].ID]
		out[i].Waits = h.waits(ctx, &out[i])
	}
	return out, nil
}

// waits tells whether a task that nobody runs waits for a person. Those that are being cancelled and that nobody runs are
// few: their events are read. One that is damaged does not wait, as far as is known.
func (h *Host) waits(ctx context.Context, s *Summary) bool {
	phase := core.Phase(s.Phase)
	if s.Process != 0 || phase != core.PhaseCancelling {
		return s.Process == 0 && phase == core.PhaseAwaitingOutcome
	}
	state := core.New()
	err := h.Read(ctx, s.ID, 0, func(e *Event) error { return core.Evolve(state, e) })
	return err == nil && state.Stop() != nil && state.Stop().Step != 0
}

func (h *Host) running(ctx context.Context) (map[string]int, error) {
	if h.opts.Runners == nil {
		return nil, nil
	}
	return h.opts.Runners.Running(ctx)
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
	q := Query{Prefix: prefix, Last: 2}
	tasks, err := h.List(ctx, q)
	switch {
	case err != nil:
		return Summary{}, err
	case len(tasks) == 0:
		return Summary{}, fmt.Errorf("task %q: %w", name, ErrNoTask)
	case prefix == "":
		return tasks[len(tasks)-1], nil // ids begin with their time
	case len(tasks) > 1:
		return Summary{}, h.ambiguous(ctx, name, prefix)
	}
	return tasks[0], nil
}

// ambiguous says for how many tasks a name stands, and what the newest are.
func (h *Host) ambiguous(ctx context.Context, name, prefix string) error {
	q := Query{Prefix: prefix}
	heads, err := h.opts.Log.List(ctx, q.inLog())
	if err != nil {
		return err
	}
	n := len(heads)
	if n < 2 { // all but one were removed meanwhile
		return fmt.Errorf("task %q: %w", name, ErrAmbiguous)
	}
	which := fmt.Sprintf("%s and %s", heads[n-2].Task, heads[n-1].Task)
	if n > 2 {
		which = fmt.Sprintf("%d, the newest are %s", n, which)
	}
	return fmt.Errorf("task %q: %w: %s; give more of the id", name, ErrAmbiguous, which)
}

// readBatch is how many events Read holds in memory at once.
const readBatch = 512

// Read gives the events of a task that follow sequence number after, in order.
func (h *Host) Read(ctx context.Context, id string, after uint64, each func(*Event) error) error {
	return h.readRecords(ctx, id, after, func(e *Event, _ int) error { return each(e) })
}

// readRecords is Read that gives the size of each event's record too, in bytes.
func (h *Host) readRecords(ctx context.Context, id string, after uint64, each func(e *Event, size int) error) error {
	if isSideLog(id) {
		return fmt.Errorf("task %q: %w", id, ErrNoTask)
	}
	for {
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
				return &recordError{err, r.Seq}
			}
			if err := each(e, len(r.Data)); err != nil {
				return err
			}
			after = r.Seq
		}
		if len(records) < readBatch {
			return nil
		}
	}
}

// recordError says which record is not an event.
type recordError struct {
	error
	seq uint64
}

func (e *recordError) Unwrap() error { return e.error }

// Stopped gives why a task halted that has not ended; empty where it was interrupted, or is being run.
func (h *Host) Stopped(ctx context.Context, id string) (string, error) {
	state, err := h.fold(ctx, id)
	if err != nil || state.Outcome() != nil || state.Stop() == nil {
		return "", err
	}
	return state.Stop().Reason, nil
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
		Time      Timestamp       `json:"time"`
		Actor     event.Actor     `json:"actor"`
		Cause     uint64          `json:"cause"`
		Step      int64           `json:"step"`
		Attempt   int64           `json:"attempt"`
		Principal string          `json:"principal,omitempty"`
		Args      string          `json:"args,omitempty"`
		Evidence  []uint64        `json:"evidence,omitempty"`
		Payload   json.RawMessage `json:"payload"`
	}{
		e.Version, e.Task, e.Seq, e.Payload.Type(), Timestamp(e.Time), e.Actor, e.Cause, e.Step, e.Attempt,
		e.Principal, e.Args, e.Evidence, payload,
	})
}
