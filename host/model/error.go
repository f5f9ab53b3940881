package model

import (
	"fmt"
	"time"
)

// Class says what kind of failure an Error is.
type Class uint8

// The classes. Transient, rate_limited and refused_connection alone are worth another try with the same request.
const (
	// ClassUnknown is the zero value; no Error of this package has it.
	ClassUnknown Class = iota
	// ClassTransient: the endpoint failed, was too slow, or broke the reply off.
	ClassTransient
	// ClassRateLimited: too many requests at the moment; see Error.RetryAfter.
	ClassRateLimited
	// ClassRefusedConnection: nothing listens at the address; a server that restarts looks like this.
	ClassRefusedConnection
	// ClassUnknownHost: the address names no host.
	ClassUnknownHost
	// ClassTLS: no secure connection: a wrong certificate, or only one side speaks TLS.
	ClassTLS
	// ClassAuth: the API key is missing, wrong, or lacks a right.
	ClassAuth
	// ClassQuota: what was paid for is used up; waiting does not help.
	ClassQuota
	// ClassNotFound: the endpoint has no such model or no such path.
	ClassNotFound
	// ClassContextLimit: the request is longer than the model can take.
	ClassContextLimit
	// ClassInvalidRequest: the endpoint refused the request for another reason.
	ClassInvalidRequest
	// ClassProtocol: what answered is no OpenAI-compatible endpoint, or goes beyond every bound.
	ClassProtocol
)

// String is the class in lower case with underscores; these words may be stored.
func (c Class) String() string {
	switch c {
	case ClassTransient:
		return "transient"
	case ClassRateLimited:
		return "rate_limited"
	case ClassRefusedConnection:
		return "refused_connection"
	case ClassUnknownHost:
		return "unknown_host"
	case ClassTLS:
		return "tls"
	case ClassAuth:
		return "auth"
	case ClassQuota:
		return "quota"
	case ClassNotFound:
		return "not_found"
	case ClassContextLimit:
		return "context_limit"
	case ClassInvalidRequest:
		return "invalid_request"
	case ClassProtocol:
		return "protocol"
	}
	return "unknown"
}

// Error is why a call gave no reply. It never holds the API key or a password, not in what it wraps either.
type Error struct {
	Class Class
	// Status is the HTTP status, or the one that an error inside a stream names. 0 where there is none.
	Status int
	// RetryAfter is how long the endpoint asks to wait, unbounded as it said. 0 where it does not ask.
	RetryAfter time.Duration
	// Endpoint is the base URL without user, password and query.
	Endpoint string

	text  string
	cause error
}

// Error is one line: what happened, where, what to do.
func (e *Error) Error() string {
	if e.text == "" {
		return fmt.Sprintf("the call of the model endpoint %s ended with the error class %s", e.Endpoint, e.Class)
	}
	return e.text
}

// Unwrap is the underlying cause, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Retryable tells whether the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Class {
	case ClassTransient, ClassRateLimited, ClassRefusedConnection:
		return true
	}
	return false
}
