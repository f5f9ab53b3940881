package event

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
)

// The envelope is read and written here and not by the CBOR library: it is in every record, and an array whose
// empty end is left out costs nothing for what an event does not have. Its elements, in order: version, type,
// time, actor's kind, cause, step, attempt, actor's id, principal, args, evidence. The first four are always there.
const (
	envelopeMin = 4
	envelopeMax = 11
)

// Major types of CBOR (RFC 8949, 3.1) that records use.
const (
	majorUint  = 0
	majorNint  = 1
	majorBytes = 2
	majorText  = 3
	majorArray = 4
	majorMap   = 5
)

// argsLen is the length of a digest of arguments, in bytes.
const argsLen = 32

// actorKinds numbers the kinds of actor; append-only.
var actorKinds = [...]ActorKind{1: ActorUser, 2: ActorHost, 3: ActorModel, 4: ActorRecipe, 5: ActorTool}

// elements tells how many elements the envelope of an event has: up to the last one that is not empty.
func elements(e *Event) uint64 {
	switch {
	case len(e.Evidence) > 0:
		return 11
	case e.Args != "":
		return 10
	case e.Principal != "":
		return 9
	case e.Actor.ID != "":
		return 8
	case e.Attempt != 0:
		return 7
	case e.Step != 0:
		return 6
	case e.Cause != 0:
		return 5
	}
	return envelopeMin
}

func appendEnvelope(b []byte, e *Event) ([]byte, error) {
	number, known := numbers[e.Payload.Type()]
	kind := actorNumber(e.Actor.Kind)
	switch {
	case e.Version < V1 || e.Version > Newest:
		return nil, fmt.Errorf("version %d cannot be written", e.Version)
	case !known:
		return nil, errors.New("the type has no number")
	case kind == 0:
		return nil, fmt.Errorf("actor of kind %q", e.Actor.Kind)
	case e.Step < 0 || e.Attempt < 0:
		return nil, fmt.Errorf("step %d, attempt %d", e.Step, e.Attempt)
	}
	var args []byte
	if e.Args != "" {
		var err error
		if args, err = hex.DecodeString(e.Args); err != nil || len(args) != argsLen || hex.EncodeToString(args) != e.Args {
			return nil, fmt.Errorf("digest of arguments %q is none", e.Args)
		}
	}
	n := elements(e)
	b = appendHead(b, majorArray, n)
	b = appendHead(b, majorUint, uint64(e.Version))
	b = appendHead(b, majorUint, number)
	b = appendInt(b, e.Time)
	b = appendHead(b, majorUint, kind)
	if n >= 5 {
		b = appendHead(b, majorUint, e.Cause)
	}
	if n >= 6 {
		b = appendHead(b, majorUint, uint64(e.Step))
	}
	if n >= 7 {
		b = appendHead(b, majorUint, uint64(e.Attempt))
	}
	if n >= 8 {
		b = append(appendHead(b, majorText, uint64(len(e.Actor.ID))), e.Actor.ID...)
	}
	if n >= 9 {
		b = append(appendHead(b, majorText, uint64(len(e.Principal))), e.Principal...)
	}
	if n >= 10 {
		b = append(appendHead(b, majorBytes, uint64(len(args))), args...)
	}
	if n >= 11 {
		b = appendHead(b, majorArray, uint64(len(e.Evidence)))
		for _, seq := range e.Evidence {
			b = appendHead(b, majorUint, seq)
		}
	}
	return b, nil
}

func actorNumber(k ActorKind) uint64 {
	for i, kind := range actorKinds {
		if kind == k && i > 0 {
			return uint64(i)
		}
	}
	return 0
}

// readEnvelope fills e but for its payload's content, and gives what follows the envelope.
func readEnvelope(data []byte, e *Event) ([]byte, error) {
	r := reader{data: data}
	n, version := r.head(majorArray), r.head(majorUint)
	if r.err == nil && version > uint64(Newest) { // before all else, which may be other in it
		return nil, fmt.Errorf("it has version %d, and this axishost reads up to %d: %w", version, Newest, ErrVersion)
	}
	number := r.head(majorUint)
	switch {
	case r.err != nil:
		return nil, r.err
	case version < uint64(V1):
		return nil, fmt.Errorf("version %d is none", version)
	case n < envelopeMin || n > envelopeMax:
		return nil, fmt.Errorf("the envelope has %d elements", n)
	case number == 0 || number >= uint64(len(types)):
		return nil, fmt.Errorf("it has type %d, which version %d does not have", number, version)
	}
	e.Version, e.Payload = Version(version), types[number].make()
	e.Time = r.int()
	kind := r.head(majorUint)
	if r.err == nil && (kind == 0 || kind >= uint64(len(actorKinds))) {
		return nil, fmt.Errorf("its actor has kind %d, which version %d does not have", kind, version)
	}
	e.Actor.Kind = actorKinds[kind]
	r.optional(n, e)
	if r.err == nil && n != elements(e) {
		return nil, errors.New("the envelope ends with an element that is empty")
	}
	return r.data, r.err
}

// optional reads the elements from the cause on, as far as there are n.
func (r *reader) optional(n uint64, e *Event) {
	if n >= 5 {
		e.Cause = r.head(majorUint)
	}
	if n >= 6 {
		e.Step = r.count()
	}
	if n >= 7 {
		e.Attempt = r.count()
	}
	if n >= 8 {
		e.Actor.ID = string(r.string(majorText))
	}
	if n >= 9 {
		e.Principal = string(r.string(majorText))
	}
	if n >= 10 {
		args := r.string(majorBytes)
		if len(args) != 0 && len(args) != argsLen {
			r.fail("a digest of arguments has %d bytes", len(args))
		}
		e.Args = hex.EncodeToString(args)
	}
	if n >= 11 {
		count := r.head(majorArray)
		if count > uint64(len(r.data)) { // each takes a byte
			r.fail("the record ends within the envelope")
			return
		}
		e.Evidence = make([]uint64, count)
		for i := range e.Evidence {
			e.Evidence[i] = r.head(majorUint)
		}
	}
}

// reader reads CBOR items from the front of data. After an error it gives zeros.
type reader struct {
	data []byte
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.data = nil
}

// head reads the head of an item of a major type: its number or length, in its shortest form.
func (r *reader) head(major byte) uint64 {
	if len(r.data) > 0 && r.data[0]>>5 != major && r.err == nil {
		r.fail("an element of the envelope has CBOR type %d, not %d", r.data[0]>>5, major)
	}
	if len(r.data) == 0 {
		r.fail("the record ends within the envelope")
		return 0
	}
	info := r.data[0] & 31
	if info < 24 {
		r.data = r.data[1:]
		return uint64(info)
	}
	if info > 27 {
		r.fail("an element of the envelope has no definite length")
		return 0
	}
	size := 1 << (info - 24)
	if len(r.data) <= size {
		r.fail("the record ends within the envelope")
		return 0
	}
	v, least := uint64(0), uint64(24)
	switch b := r.data[1:]; size {
	case 1:
		v = uint64(b[0])
	case 2:
		v, least = uint64(binary.BigEndian.Uint16(b)), 1<<8
	case 4:
		v, least = uint64(binary.BigEndian.Uint32(b)), 1<<16
	default:
		v, least = binary.BigEndian.Uint64(b), 1<<32
	}
	if v < least {
		r.fail("an element of the envelope is not in its shortest form")
		return 0
	}
	r.data = r.data[1+size:]
	return v
}

// count reads a number that fits an int64.
func (r *reader) count() int64 {
	v := r.head(majorUint)
	if v > math.MaxInt64 {
		r.fail("%d is too large", v)
		return 0
	}
	return int64(v)
}

// int reads a number of either sign.
func (r *reader) int() int64 {
	if len(r.data) == 0 || r.data[0]>>5 != majorNint {
		return r.count()
	}
	v := r.head(majorNint)
	if v > math.MaxInt64 {
		r.fail("-%d is too large", v)
		return 0
	}
	return -1 - int64(v)
}

// string reads a string. It is part of the record: the caller copies it.
func (r *reader) string(major byte) []byte {
	n := r.head(major)
	if n > uint64(len(r.data)) {
		r.fail("the record ends within the envelope")
		return nil
	}
	s := r.data[:n]
	r.data = r.data[n:]
	return s
}

func appendInt(b []byte, v int64) []byte {
	if v < 0 {
		return appendHead(b, majorNint, uint64(-1-v))
	}
	return appendHead(b, majorUint, uint64(v))
}

// appendHead writes the head of an item in its shortest form.
func appendHead(b []byte, major byte, v uint64) []byte {
	major <<= 5
	switch {
	case v < 24:
		return append(b, major|byte(v))
	case v < 1<<8:
		return append(b, major|24, byte(v))
	case v < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(v))
	case v < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(b, major|27), v)
}
