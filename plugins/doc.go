// Package plugins packs, judges, loads and calls guests. A plugin is judged by its bytes alone, in the order
// of SPEC.md, before any of its code runs; what it does when called ends in an answer or a *CallError,
// or with ErrClosed.
//
// Invariants: an instance is anonymous, used by one goroutine at a time, and never again after a fault; each
// hook call starts from the image that the instance had after _initialize; each tool call has an instance
// of its own; a guest can do nothing that Options does not give it. It knows nothing of the host's events
// or state. host and cmd import it.
package plugins
