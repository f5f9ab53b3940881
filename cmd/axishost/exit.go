package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/control"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/sealed"
)

// The exit codes. Scripts rely on them: they never change their meaning.
const (
	exitSucceeded   = 0
	exitFailed      = 1
	exitUsage       = 2
	exitPartial     = 3
	exitCancelled   = 5
	exitAwaiting    = 6
	exitStopped     = 7
	exitRefused     = 8
	exitStore       = 9
	exitPlugin      = 10
	exitInterrupted = 130
)

// exitHelp is the part of a command's help that says which codes it can exit with. Every command prints something,
// and so can fail to.
func exitHelp(codes ...int) string {
	var b strings.Builder
	b.WriteString("\n\nExit codes:")
	runs := slices.Contains(codes, exitPartial)
	if !slices.Contains(codes, exitFailed) {
		codes = append(codes, exitFailed)
	}
	slices.Sort(codes)
	for _, code := range codes {
		meaning := exitMeaning(code)
		switch {
		case code == exitFailed && !runs:
			meaning = "the result could not be written"
		case code == exitInterrupted && !runs:
			meaning = "interrupted"
		}
		fmt.Fprintf(&b, "\n  %3d  %s", code, meaning)
	}
	return b.String()
}

// allExits are the codes of a command that runs a task.
func allExits() []int {
	return []int{
		exitSucceeded, exitFailed, exitUsage, exitPartial, exitCancelled, exitAwaiting, exitStopped, exitRefused, exitStore, exitPlugin, exitInterrupted,
	}
}

func exitMeaning(code int) string {
	switch code {
	case exitSucceeded:
		return "succeeded"
	case exitFailed:
		return "failed, or the result could not be written"
	case exitUsage:
		return "wrong usage, configuration or path"
	case exitPartial:
		return "partial: ended without reaching the goal, with what there is"
	case exitCancelled:
		return "cancelled"
	case exitAwaiting:
		return "waits for a person to find out what a step did; see axishost approve"
	case exitStopped:
		return "stopped by the model or its endpoint; can be resumed"
	case exitRefused:
		return "a plugin was refused for what is in its file"
	case exitStore:
		return "the event log cannot be used"
	case exitPlugin:
		return "a plugin failed; can be resumed"
	default:
		return "interrupted; can be resumed"
	}
}

// codeError is an error with its exit code. Without an error in it nothing is shown.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

func usage(err error) error {
	if err == nil {
		return nil
	}
	return &codeError{exitUsage, err}
}

// exitCode gives the code of an error: its own, or that of its kind.
func exitCode(err error) int {
	var own *codeError
	var refused *plugins.RefusedError
	var set *host.PluginSetError
	var undo *host.UndoError
	var fault *plugins.CallError
	var stopped *host.StoppedError
	var busy *control.BusyError
	var key *host.KeyError
	switch {
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &set), errors.As(err, &undo), errors.Is(err, host.ErrNoTask), errors.Is(err, host.ErrNotAwaited), errors.Is(err, host.ErrAmbiguous),
		errors.Is(err, host.ErrGoal), errors.As(err, &busy), errors.As(err, &key):
		return exitUsage
	case errors.As(err, &refused):
		return exitRefused
	case errors.As(err, &stopped) && stopped.Step != 0:
		return exitAwaiting
	case errors.As(err, &stopped) && stopped.Plugin, errors.As(err, &fault):
		return exitPlugin
	case stopped != nil:
		return exitStopped
	case errors.Is(err, host.ErrInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case isStore(err), errors.Is(err, host.ErrTakenOver), errors.Is(err, host.ErrDeleted):
		return exitStore
	default:
		return exitFailed
	}
}

func isStore(err error) bool {
	var corrupt *store.CorruptError
	if errors.As(err, &corrupt) {
		return true
	}
	for _, known := range []error{
		store.ErrConflict, store.ErrFenced, store.ErrNotFound, store.ErrInvalid, store.ErrClosed,
		store.ErrFailed, store.ErrInUse, store.ErrVersion, sealed.ErrKey,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// advised adds to the error of a damaged log what can be done.
func advised(err error) error {
	var corrupt *store.CorruptError
	if !errors.As(err, &corrupt) || strings.Contains(err.Error(), "restore") {
		return err
	}
	return fmt.Errorf("%w; see what else is damaged with axishost doctor, and restore the store from a backup", err)
}
