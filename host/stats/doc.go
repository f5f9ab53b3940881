// Package stats folds the events of tasks to numbers: how tasks ended, what they took, what they changed outside and
// what is known of that, and how each tool did. Nothing of it is stored.
//
// It knows nothing of stores and clocks, and judges nothing: an event that does not fit the ones before it counts as
// far as it can. A task is folded by itself, and added to a Sum once it was read whole.
//
// Invariants: memory does not grow with the number of tasks or calls; the same tasks in the same order give the same
// report. host feeds it, cmd shows what it gives.
package stats
