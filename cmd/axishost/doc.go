// Command axishost runs long-horizon AI agents: see README.md. This package is the command line alone: it
// reads arguments, files and the environment, calls package host, and shows what happens. Results go to
// standard output, everything for people to standard error.
package main
