// Package conv is the conversation machine: for each reply of the model it decides whether to call the
// model again, run tools, hide the reply and retry, or finish. Decide gives events and changes nothing;
// Evolve alone changes state. A refused operation has no events, so it leaves no trace.
//
// It judges no text itself but by substring keywords: what a recipe's hooks said comes in with the
// operation. It has no clock, no I/O and no randomness, and never calls a hook. Only package core (and, for
// the configuration, host) imports it.
//
// Invariants: a stage is left only along the transition table; the visible list is what a replay of all
// messages and markers gives; a step costs the messages it appends, not those there are.
package conv
