// Package timeline tells a task's events as lines for people: the same lines whether the task runs now or
// is read from the log. It gives text without colour or position; all that came from outside is made
// printable. cmd imports it.
package timeline
