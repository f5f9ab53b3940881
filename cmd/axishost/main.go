package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
)

func main() { os.Exit(run(nil)) }

// run is the whole program: it gives the exit code. through, unless nil, is what the event log goes through.
func run(through func(store.Log) store.Log) int {
	// Who reads our output may go at any time. The error of the write ends what prints results, in order; a task
	// that is being run goes on, though nobody watches.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := interruptible()
	defer stop()
	t := &terminal{in: os.Stdin, out: &results{file: os.Stdout}, err: os.Stderr, called: os.Args[0], through: through}
	return execute(ctx, t, os.Args[1:])
}

// interruptible gives a context that the first Ctrl-C, TERM or HUP ends; a second one exits at once.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP) // the terminal has gone
	}
	done := make(chan struct{})
	go func() {
		for first := true; ; first = false {
			select {
			case <-done:
				return
			case <-signals:
				if !first {
					os.Exit(exitInterrupted)
				}
				cancel()
				fmt.Fprintln(os.Stderr, "axishost: stopping; once more exits at once")
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// terminal is where a command reads and writes.
type terminal struct {
	in  io.Reader
	out *results
	err io.Writer
	// called is how the program was called, so that a command it prints runs as it stands.
	called string
	// through, unless nil, is what the event log goes through: tests put faults there.
	through func(store.Log) store.Log
}

// program is the program's name in commands that it prints: its path where it was called by one.
func (t *terminal) program() string {
	if t != nil && strings.ContainsRune(t.called, os.PathSeparator) {
		return t.called
	}
	return "axishost"
}

// execute runs one command line and gives its exit code, after the error has been shown.
func execute(ctx context.Context, t *terminal, args []string) int {
	root := newRoot(t)
	if completes(args) {
		plainUsage(root)
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if errors.Is(t.out.err, syscall.EPIPE) {
		return exitFailed // who read it has had enough: there is nobody to tell
	}
	if t.out.err != nil {
		err = &codeError{exitFailed, t.out.err}
	}
	if err == nil {
		return exitSucceeded
	}
	showError(t.err, advised(err).Error())
	return exitCode(err)
}

// showError writes each line of an error with the program's name before it; an indented one is a command
// to be copied, and stands alone. What came from outside may not drive the terminal.
func showError(w io.Writer, text string) {
	s := screenOf(w).whole()
	for line := range strings.Lines(text) {
		line = plugins.Printable(strings.TrimSuffix(line, "\n"), len(line))
		if !strings.HasPrefix(line, "  ") {
			line = "axishost: " + line
		}
		fmt.Fprintln(w, s.fit(line))
	}
}
