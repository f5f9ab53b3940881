package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// ErrVersion says that a record was written by a newer version.
var ErrVersion = errors.New("event: written by a newer version")

// A record is a CBOR sequence (RFC 8742) of two items: the envelope, an array, and the payload, a map with the
// numbers of its fields as keys. The task and the sequence number are the store's key, and are not repeated in it.

// encoding writes payloads: core deterministic encoding (RFC 8949, 4.2.1), so that one event has one record.
var encoding = func() cbor.EncMode {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}()

// decoding reads payloads, strictly: within one version every field is known, so another one means that this
// is not what was written.
var decoding = func() cbor.DecMode {
	const undefined = 23
	simple, err := cbor.NewSimpleValueRegistryFromDefaults(cbor.WithRejectedSimpleValue(undefined))
	if err != nil {
		panic(err) // a constant
	}
	mode, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		// Encode writes none of these.
		IndefLength:  cbor.IndefLengthForbidden,
		TagsMd:       cbor.TagsForbidden,
		SimpleValues: simple,
		// A payload nests six deep (a task's tools); the limit bounds the stack.
		MaxNestedLevels: 16,
		// The most fields that one object has is 30; a list has as many elements as a reply has calls, or a task steps.
		// Each element takes at least a byte of the record, so memory is bounded by its length in any case.
		MaxMapPairs:      64,
		MaxArrayElements: 1 << 20,
		// A model's text is kept byte for byte, whatever it is.
		UTF8: cbor.UTF8DecodeInvalid,
		// JSON and digests are byte strings, text is text: neither is read as the other.
		ByteStringToString: cbor.ByteStringToStringForbidden,
		FieldNameMatching:  cbor.FieldNameMatchingCaseSensitive,
	}.DecMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}()

// Encode gives the record of an event, to be stored under its task and sequence number.
func Encode(e *Event) ([]byte, error) {
	payload, err := encoding.Marshal(e.Payload)
	if err == nil {
		err = checkVersion(e)
	}
	if err != nil {
		return nil, fmt.Errorf("event %d of task %s, %s: %w", e.Seq, e.Task, e.Payload.Type(), err)
	}
	// An envelope is short, but for what an id or a principal takes.
	record, err := appendEnvelope(make([]byte, 0, 96+len(payload)), e)
	if err != nil {
		return nil, fmt.Errorf("event %d of task %s, %s: %w", e.Seq, e.Task, e.Payload.Type(), err)
	}
	return append(record, payload...), nil
}

// Decode reads a record that was stored under task and seq. ErrVersion is wrapped where a newer version
// wrote it; an unknown type is an error.
func Decode(task string, seq uint64, data []byte) (*Event, error) {
	e := &Event{Task: task, Seq: seq}
	rest, err := readEnvelope(data, e)
	if err != nil {
		return nil, fmt.Errorf("event %d of task %s: %w", seq, task, err)
	}
	if len(rest) == 0 || rest[0]>>5 != majorMap {
		return nil, fmt.Errorf("event %d of task %s, %s: the payload is not a map", seq, task, e.Payload.Type())
	}
	if err := decoding.Unmarshal(rest, e.Payload); err != nil {
		return nil, fmt.Errorf("event %d of task %s, %s: %w", seq, task, e.Payload.Type(), err)
	}
	if err := checkVersion(e); err != nil {
		return nil, fmt.Errorf("event %d of task %s, %s: %w", seq, task, e.Payload.Type(), err)
	}
	return e, nil
}

// versioned is a payload that a later version added fields to: since tells which of them it has.
type versioned interface{ since() Version }

// checkVersion refuses a record with fields that its version does not have.
func checkVersion(e *Event) error {
	if p, ok := e.Payload.(versioned); ok && p.since() > e.Version {
		return fmt.Errorf("it has version %d, and fields of version %d", e.Version, p.since())
	}
	return nil
}

// EncodeJSON is json.Marshal without the escapes that only HTML needs, for what people read.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
