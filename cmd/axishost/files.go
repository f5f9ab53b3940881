package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// readSmall reads a file that people write, at most limit bytes of it. What is no regular file is not opened: a pipe
// would wait for ever, a device has no end.
func readSmall(what, path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, readingError(what, path, err)
	case info.IsDir():
		return nil, usage(fmt.Errorf("%s %s is a directory", what, path))
	case !info.Mode().IsRegular():
		return nil, usage(fmt.Errorf("%s %s is not a regular file", what, path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, readingError(what, path, err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, readingError(what, path, err)
	case int64(len(b)) > limit:
		return nil, usage(fmt.Errorf("%s %s is over the limit of %d KiB", what, path, limit>>10))
	}
	return b, nil
}

// replaceFile writes a file whole or not at all, so that an interrupted command leaves the old one. A link stays one,
// and permissions stay as they are. What is no regular file, or may not be written, is not replaced.
func replaceFile(path string, b []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := fs.FileMode(0o644)
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a directory; name the file to write")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file; name another")
	case info.Mode().Perm()&0o200 == 0:
		return errors.New("it is read-only; name another file, or chmod it")
	default:
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(b)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
