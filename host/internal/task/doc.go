// Package task is the step machine: the life of one tool call, as a table of pure transitions. A step is
// moved by events alone, and an event that the table does not have for a state is a *TransitionError. The undoing of
// what a step did is a machine of its own, in the same manner.
//
// It decides nothing: which event comes next is core's. It has no clock and no I/O. Only package core
// imports it.
package task
