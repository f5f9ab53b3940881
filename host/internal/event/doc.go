// Package event holds the durable records of a task: the envelope, one payload type for each event, and
// their encoding. What is written here is what a task is; everything else is folded from it.
//
// It refuses what it does not know: an unknown version, type or field is an error, never skipped. Decode never
// panics, and its memory is bounded by the length of the record. It does no I/O and knows no clock. The machines
// beside it and host import it.
//
// Invariants: Decode(Encode(e)) is e; one event has one record; the numbers of types, fields, stages and kinds
// of actor are never used for anything else.
package event
