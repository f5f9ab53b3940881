package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// readingError says in words why a file that the user named cannot be read. what says what it was to be.
func readingError(what, path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usage(fmt.Errorf("%s %s does not exist", what, path))
	}
	return usage(fmt.Errorf("%s %s cannot be read: %w", what, path, cause(err)))
}

// writingError says why a file that the user named cannot be written.
func writingError(path string, err error) error {
	return usage(fmt.Errorf("%s cannot be written: %w", path, cause(err)))
}

// cause is the cause of an error of package os, without the call and the path in it, which may be one that the user
// never heard of.
func cause(err error) error {
	var at *fs.PathError
	var between *os.LinkError
	switch {
	case errors.As(err, &at):
		return at.Err
	case errors.As(err, &between):
		return between.Err
	}
	return err
}
