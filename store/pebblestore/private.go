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
	if !slices.ContainsFunc(names, isOfLog) && slices.ContainsFunc(names, isOfOthers) {
		return errNotEmpty
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil // of a directory of another's, whoever owns it says who reads it
}

// errNotEmpty: the directory is not empty, and what is in it is no log.
var errNotEmpty = errors.New("it holds other files and no event log; name a new directory, or an empty one")

// isOfLog tells whether a file is one that this engine leaves, and no other does.
func isOfLog(file os.DirEntry) bool {
	name := file.Name()
	return strings.HasPrefix(name, manifestMarker) || strings.HasPrefix(name, formatMarker)
}

// isOfOthers tells whether a file keeps a directory from being made a log. The lock is the first that the engine
// makes; a new file system may have the others.
func isOfOthers(file os.DirEntry) bool {
	name := file.Name()
	return name != "LOCK" && name != "lost+found" && !strings.HasPrefix(name, ".")
}
