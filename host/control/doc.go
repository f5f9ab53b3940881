// Package control lets several processes of one machine work on one store. The process that has the store
// serves it on a socket in the store's directory; every other one works through that socket, as if it had
// the store itself. So a second run, resume or list in another terminal needs nothing of the first but that
// it lives, and keeps its own keys, plugins and terminal.
//
// A Log is a store.Log whichever of the two it is, and changes from one to the other by itself: when the
// process that has the store ends or dies, one of the others takes the store over, and goes on where it was.
// A commit whose answer got lost on the way is looked up in the log before it is made again.
//
// Beside the log, the process that has the store knows which tasks are being run (Begin, Running). That is a
// hint for people, to keep two terminals from taking a task from each other by mistake; what keeps them from
// doing harm is the fence in the log.
//
// Invariants: whoever has the store's lock may replace the socket, and nobody else does; the socket has mode
// 0600; a process that does not answer, or answers with garbage, is an error in bounded time, never a hang;
// what is sent and what is received is bounded.
//
// cmd imports it; it imports store.
package control
