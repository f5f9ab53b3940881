package control

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/axishost/axishost/store"
	"github.com/fxamacker/cbor/v2"
)

// protocol is the version of what is said on the socket. Two processes talk only in the same one: they are
// of one machine, and the store is free again when the older one ends.
const protocol = 1

// The paths of requests. helloPath is the same in every version of the protocol.
const (
	helloPath = "/hello"
	callPath  = "/1/call"
	holdPath  = "/1/hold"
)

// maxBody bounds a request: the largest commit, and room for its ids and the encoding.
const maxBody = store.MaxCommitSize + store.MaxCommitSize/8

// maxAnswer bounds an answer. The longest are lists: it has room for more than a million tasks.
const maxAnswer = 1 << 30

// hello is what a process that has a store says of itself, in JSON, which every version can read.
type hello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	PID      int    `json:"pid"`
}

// method names a call. They are those of store.Log, and running.
type method string

const (
	methodCommit  method = "commit"
	methodRead    method = "read"
	methodBlob    method = "blob"
	methodHead    method = "head"
	methodList    method = "list"
	methodWatch   method = "watch"
	methodDelete  method = "delete"
	methodCompact method = "compact"
	methodRunning method = "running"
)

// request is a call with its arguments; those that it does not have are empty.
type request struct {
	Method method       `cbor:"m"`
	Commit store.Commit `cbor:"c,omitzero"`
	Query  store.Query  `cbor:"q,omitzero"`
	Task   string       `cbor:"t,omitempty"`
	Key    string       `cbor:"k,omitempty"`
	Seq    uint64       `cbor:"s,omitempty"` // after, or expected
	Limit  int          `cbor:"l,omitempty"`
	PID    int          `cbor:"p,omitempty"`
}

// answer is what a call gave.
type answer struct {
	Failure *failure       `cbor:"f,omitempty"`
	Records []store.Record `cbor:"r,omitempty"`
	Heads   []store.Head   `cbor:"h,omitempty"`
	Blob    []byte         `cbor:"b,omitempty"`
	Last    uint64         `cbor:"s,omitempty"`
	Running map[string]int `cbor:"p,omitempty"`
}

// failure is an error on its way: its text, and what callers branch on.
type failure struct {
	Code   code   `cbor:"c"`
	Text   string `cbor:"t"`
	Task   string `cbor:"k,omitempty"`
	Seq    uint64 `cbor:"s,omitempty"`
	Detail string `cbor:"d,omitempty"`
	PID    int    `cbor:"p,omitempty"`
}

// code says what kind of error a failure is. They are part of the protocol.
type code int

const (
	codeOther code = iota
	codeConflict
	codeFenced
	codeNotFound
	codeInvalid
	codeClosed
	codeFailed
	codeCorrupt
	codeBusy
	codeContext
)

// sentinels are the errors that codes stand for.
func sentinels() map[code]error {
	return map[code]error{
		codeConflict: store.ErrConflict, codeFenced: store.ErrFenced, codeNotFound: store.ErrNotFound,
		codeInvalid: store.ErrInvalid, codeClosed: store.ErrClosed, codeFailed: store.ErrFailed,
		codeContext: context.DeadlineExceeded,
	}
}

// failed makes a failure of an error.
func failed(err error) *failure {
	f := &failure{Text: err.Error()}
	var corrupt *store.CorruptError
	var busy *BusyError
	switch {
	case errors.As(err, &corrupt):
		f.Code, f.Task, f.Seq, f.Detail = codeCorrupt, corrupt.Task, corrupt.Seq, corrupt.Detail
	case errors.As(err, &busy):
		f.Code, f.Task, f.PID = codeBusy, busy.Task, busy.PID
	case errors.Is(err, context.Canceled):
		f.Code = codeContext
	default:
		for c, known := range sentinels() {
			if errors.Is(err, known) {
				f.Code = c
			}
		}
	}
	return f
}

// farError is an error that another process had: its text, and the sentinel that it stands for.
type farError struct {
	text string
	is   error
}

func (e *farError) Error() string { return e.text }
func (e *farError) Unwrap() error { return e.is }

// err gives the error back.
func (f *failure) err() error {
	switch f.Code {
	case codeCorrupt:
		return &store.CorruptError{Task: f.Task, Seq: f.Seq, Detail: f.Detail}
	case codeBusy:
		return &BusyError{Task: f.Task, PID: f.PID}
	}
	return &farError{f.Text, sentinels()[f.Code]}
}

// BusyError says that a task is being run by another process.
type BusyError struct {
	Task string
	PID  int
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("task %s is being run by process %d", e.Task, e.PID)
}

// encoding gives the encoding, made once: lists may be as long as the limits of a store allow, which the library's
// own do not.
var encoding = sync.OnceValues(func() (cbor.EncMode, cbor.DecMode) {
	enc, err := cbor.EncOptions{}.EncMode()
	if err != nil {
		panic(err) // constant options
	}
	dec, err := cbor.DecOptions{
		MaxArrayElements: 1<<31 - 1, DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden,
		UTF8: cbor.UTF8DecodeInvalid, // what is asked for is looked up as it is
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return enc, dec
})
