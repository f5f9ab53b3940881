package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrVersion says that a record was written by a newer version.
var ErrVersion = errors.New("event: written by a newer version")

// record is the encoding of an event: one JSON object. The task and the sequence number are the store's
// key, and are not repeated in it.
type record struct {
	Version Version         `json:"v"`
	Type    Type            `json:"type"`
	Time    int64           `json:"time"`
	Actor   Actor           `json:"actor"`
	Cause   uint64          `json:"cause,omitempty"`
	Step    int64           `json:"step,omitempty"`
	Attempt int64           `json:"attempt,omitempty"`
	Payload json.RawMessage `json:"payload"`
}

// Encode gives the record of an event, to be stored under its task and sequence number.
func Encode(e *Event) ([]byte, error) {
	payload, err := EncodeJSON(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", e.Payload.Type(), err)
	}
	return EncodeJSON(record{
		Version: e.Version, Type: e.Payload.Type(), Time: e.Time, Actor: e.Actor,
		Cause: e.Cause, Step: e.Step, Attempt: e.Attempt, Payload: payload,
	})
}

// EncodeJSON is json.Marshal without the escapes that only HTML needs: what is stored is read by people too.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Decode reads a record that was stored under task and seq. ErrVersion is wrapped where a newer version
// wrote it; an unknown type is an error.
func Decode(task string, seq uint64, data []byte) (*Event, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("event %d of task %s: %w", seq, task, err)
	}
	if r.Version < V1 || r.Version > Newest {
		return nil, fmt.Errorf("event %d of task %s has version %d, and this axishost reads up to %d: %w",
			seq, task, r.Version, Newest, ErrVersion)
	}
	payload := fresh(r.Type)
	if payload == nil {
		return nil, fmt.Errorf("event %d of task %s has type %q, which version %d does not have", seq, task, r.Type, r.Version)
	}
	// Strict: within one version every field is known, so another one means that this is not what was written.
	dec := json.NewDecoder(bytes.NewReader(r.Payload))
	dec.DisallowUnknownFields()
	if err := dec.Decode(payload); err != nil {
		return nil, fmt.Errorf("event %d of task %s, %s: %w", seq, task, r.Type, err)
	}
	return &Event{
		Version: r.Version, Task: task, Seq: seq, Time: r.Time, Actor: r.Actor,
		Cause: r.Cause, Step: r.Step, Attempt: r.Attempt, Payload: payload,
	}, nil
}
