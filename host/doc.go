// Package host runs tasks: it feeds the pure core with what happens, makes the core's events durable, and
// only then performs the effects that they give rise to. After a crash it folds the log and goes on.
//
// It decides nothing: policy is in host/internal/core. It prints nothing: Events hear what happens. Only
// cmd (and later httpapi and control) import it.
//
// Invariants: an effect is begun only after the events that it rests on are durable; a result becomes an
// event before anything acts on it; one goroutine owns a task's state. A log whose id begins with "~" is no task: it holds
// what tasks share (sidelog.go), and nothing that is asked for a task finds it.
package host
