package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

const (
	// maxPieces is over how many data lines one JSON value may be spread. Seen in the wild: two, and one a
	// line of indented JSON. It also bounds the work that joining costs.
	maxPieces = 64
	// maxStray is how much is kept of what belongs to no event. It is read as an error body or quoted.
	maxStray = 4 << 10
)

// events reads server-sent events as endpoints really send them and gives them on as go-openai reads them
// without loss: lines "data: " and one whole JSON value, or [DONE]. It joins values spread over data lines,
// parts values glued together, and drops comments and other fields.
type events struct {
	in      *bufio.Reader
	body    io.Closer
	out     []byte
	err     error  // the end of in, handed on when out is used up
	partial []byte // the head of a JSON value whose tail has not come
	pieces  int
	failing bool // inside an event named error

	stray []byte // the first bytes that belong to no event; of a plain answer its first bytes
	plain bool   // the answer is one JSON object
	seen  bool   // an event was handed on
	begun bool   // a line that is not empty came in
	done  bool   // the endpoint said that the stream is complete
}

func newEvents(body io.ReadCloser) *events {
	return &events{in: bufio.NewReader(body), body: body}
}

func (e *events) Read(p []byte) (int, error) {
	for len(e.out) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		var line []byte
		line, e.err = e.in.ReadBytes('\n')
		if e.err == nil || e.entire(line) {
			e.line(bytes.TrimRight(line, "\r\n"))
		}
	}
	n := copy(p, e.out)
	e.out = e.out[n:]
	return n, nil
}

func (e *events) Close() error { return e.body.Close() }

// entire tells whether a last line, which no line end closed, may count: half a value is not a malformed one.
func (e *events) entire(line []byte) bool {
	value, isData := bytes.CutPrefix(line, []byte("data:"))
	value = bytes.TrimSpace(value)
	return !isData || string(value) == "[DONE]" || json.Valid(append(bytes.Clone(e.partial), value...))
}

func (e *events) line(line []byte) {
	if !e.begun {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(bytes.TrimSpace(line)) == 0 {
		e.failing = false
		return
	}
	first := !e.begun
	e.begun = true
	if first {
		switch bytes.TrimSpace(line)[0] {
		case '{':
			e.whole(line)
			return
		case '<':
			e.stray, e.err = line[:min(len(line), maxStray)], io.EOF
			return
		}
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		e.data(value)
	case "event":
		e.failing = string(value) == "error"
	case "", "id", "retry":
	default:
		line = append(line, '\n')
		e.stray = append(e.stray, line[:min(len(line), maxStray-len(e.stray))]...)
	}
}

// whole takes an answer that is one JSON object instead of a stream: the endpoint ignored stream: true, or
// reports an error with a status that says success.
func (e *events) whole(line []byte) {
	rest, err := io.ReadAll(e.in)
	e.err = io.EOF
	if err != nil {
		e.err = err
	}
	object := append(append(line, '\n'), rest...)
	e.stray = object[:min(len(object), maxStray)]
	var compact bytes.Buffer
	if json.Compact(&compact, object) != nil {
		return
	}
	e.plain = true
	e.emit(compact.Bytes())
	e.finish()
}

func (e *events) data(value []byte) {
	if string(bytes.TrimSpace(value)) == "[DONE]" {
		if len(e.partial) > 0 {
			e.emit(e.partial)
			e.partial = nil
		}
		e.finish()
		return
	}
	if len(bytes.TrimSpace(value)) == 0 {
		return
	}
	if len(e.partial) == 0 && json.Valid(value) {
		e.emit(value)
		return
	}
	e.partial = append(e.partial, value...)
	e.pieces++
	for len(e.partial) > 0 {
		n, err := valueLen(e.partial)
		if errors.Is(err, io.ErrUnexpectedEOF) && e.pieces < maxPieces {
			return
		}
		if err != nil {
			n = len(e.partial) // handed on as it is: who decodes it finds the fault
		}
		e.emit(e.partial[:n])
		e.partial = bytes.TrimLeft(e.partial[n:], " \t")
		e.pieces = 1
	}
	e.partial, e.pieces = nil, 0
}

// valueLen is how many bytes the JSON value at the head of data takes.
func valueLen(data []byte) (int, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return 0, err
	}
	return int(dec.InputOffset()), nil
}

// emit hands on one value. go-openai takes a line that begins {"error": out of the stream, even where the
// error is null, and loses it where the connection ends; a space inside keeps every value in the stream.
func (e *events) emit(value []byte) {
	e.seen = true
	value = bytes.TrimSpace(value)
	e.out = append(e.out, "data: "...)
	switch {
	case e.failing && json.Valid(value):
		e.out = append(e.out, `{ "error":`...)
		e.out = append(e.out, value...)
		e.out = append(e.out, '}')
	case len(value) > 0 && value[0] == '{':
		e.out = append(e.out, "{ "...)
		e.out = append(e.out, value[1:]...)
	default:
		e.out = append(e.out, value...)
	}
	e.out = append(e.out, '\n')
}

func (e *events) finish() {
	e.done = true
	e.out = append(e.out, "data: [DONE]\n"...)
}
