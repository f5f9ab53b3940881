// Package event holds the durable records of a task: the envelope, one payload type for each event, and
// their encoding. What is written here is what a task is; everything else is folded from it.
//
// It refuses what it does not know: an unknown version or type is an error, never skipped. It does no I/O
// and knows no clock. The machines beside it and host import it.
package event
