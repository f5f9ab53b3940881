// Package core is the composed pure machine of a task: Decide gives the events that an input leads to,
// Evolve alone changes state and only by events that are durable, Pending gives what is owed to the world.
// Recovery is Evolve over the log and then Pending.
//
// It has no clock, no I/O, no randomness, no goroutines; time and random draws come in with inputs. It
// never calls a model, a hook or a tool: it says that one is to be called. Only host imports it.
package core
