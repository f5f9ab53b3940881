package fetch

import (
	"fmt"
	"strings"
)

// DeniedError is a request, or a redirect's next one, that was refused before anything of it was sent.
type DeniedError struct {
	// Host is where the request would have gone, with its port where that is not the scheme's own.
	Host   string
	Reason string
	// Allow is the grant that would allow it, http=HOST or http-private=HOST; empty where none can.
	Allow string
	// Redirected says that an answer led there, so that an earlier request was sent.
	Redirected bool
}

func (e *DeniedError) Error() string {
	var b strings.Builder
	b.WriteString("request ")
	if e.Redirected {
		b.WriteString("that was redirected ")
	}
	if e.Host != "" {
		fmt.Fprintf(&b, "to %.300q ", e.Host)
	}
	b.WriteString("denied: " + e.Reason)
	if e.Allow != "" {
		b.WriteString("; --allow " + e.Allow + " allows it")
	}
	return b.String()
}

// RequestError is a request that nobody could send. Nothing was sent.
type RequestError struct{ Problem string }

func (e *RequestError) Error() string { return "request: " + e.Problem }

func badRequest(format string, args ...any) *RequestError {
	return &RequestError{Problem: fmt.Sprintf(format, args...)}
}

// Phase is how far a request came.
type Phase string

const (
	PhaseResolve  Phase = "resolving"            // the name into addresses
	PhaseConnect  Phase = "connecting to"        // TCP
	PhaseTLS      Phase = "securing"             // TLS
	PhaseAnswer   Phase = "asking"               // from the request's first byte to the end of the answer's header
	PhaseBody     Phase = "reading the body of"  // of the answer
	PhaseRedirect Phase = "following a redirect" // the answer's own next address is unusable
)

// TransportError is a request that has no whole answer.
type TransportError struct {
	Host  string
	Phase Phase
	// Sent is false only when it is certain that no byte of the request was handed to the network, so that
	// it did nothing and may be made again. Where there is any doubt it is true.
	Sent bool
	// Status is the status of an answer whose header came and whose body did not; 0 otherwise.
	Status int
	Cause  error
}

func (e *TransportError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %v", e.Phase, e.Host, e.Cause)
	switch {
	case e.Status != 0:
		fmt.Fprintf(&b, " (status %d)", e.Status)
	case !e.Sent:
		b.WriteString(" (nothing was sent)")
	}
	return b.String()
}

func (e *TransportError) Unwrap() error { return e.Cause }

// TooLargeError is the cause where an answer's body is longer than the client takes.
type TooLargeError struct{ Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the body has more than %d bytes", e.Limit)
}
