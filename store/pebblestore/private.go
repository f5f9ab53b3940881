package pebblestore

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// makePrivate sees to it that a log in dir, which exists, is nobody else's to read: its files have modes that
// only a directory of mode 0700 makes private. A directory that holds other things is not made a log.
func makePrivate(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !info.IsDir()) {
		return nil // made later with the right mode, or refused with a better error
	}
	if err != nil {
		return err
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(names) > 0 && !slices.ContainsFunc(names, isOfLog) {
		return errNotEmpty
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	return nil
}

// errNotEmpty: the directory is not empty, and what is in it is no log.
var errNotEmpty = errors.New("it holds other files and no event log; name a new directory, or an empty one")

// isOfLog tells whether a file is one that an engine leaves: its lock is the first that it makes, and a copy of a
// log may come without.
func isOfLog(file os.DirEntry) bool {
	name := file.Name()
	return name == "LOCK" || strings.HasPrefix(name, manifestMarker) || strings.HasPrefix(name, formatMarker)
}
