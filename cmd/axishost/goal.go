package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/axishost/axishost/host"
)

// maxGoalBytes bounds a task that is read from a file or standard input: the context of a large model.
const maxGoalBytes = 4 << 20

// goal gives the text of the task that arg stands for.
func (a *app) goal(ctx context.Context, arg string) (string, error) {
	text := arg
	file, isFile := strings.CutPrefix(arg, "@")
	if arg == "-" || isFile {
		var err error
		if text, err = a.readGoal(ctx, file, isFile); err != nil {
			return "", err
		}
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "", usage(host.ErrGoal)
	case !utf8.ValidString(text):
		return "", usage(errors.New("the task is not UTF-8 text"))
	}
	return text, nil
}

// readGoal reads a file, or standard input. A terminal or a pipe may keep it waiting for ever, so ctx ends
// the wait, though not the read.
func (a *app) readGoal(ctx context.Context, file string, isFile bool) (text string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		from := a.in
		if isFile {
			f, openErr := os.Open(file)
			if openErr != nil {
				err = readingError("task file", file, openErr)
				return
			}
			defer func() { _ = f.Close() }()
			from = f
		}
		var b []byte
		switch b, err = io.ReadAll(io.LimitReader(from, maxGoalBytes+1)); {
		case err != nil && isFile:
			err = readingError("task file", file, err)
		case err != nil:
			err = usage(fmt.Errorf("the task cannot be read from standard input: %w", cause(err)))
		case len(b) > maxGoalBytes:
			err = usage(fmt.Errorf("the task is over the limit of %d MiB", maxGoalBytes>>20))
		}
		text = strings.TrimRight(string(b), "\r\n")
	}()
	select {
	case <-ctx.Done():
		return "", host.ErrInterrupted
	case <-done:
		return text, err
	}
}
