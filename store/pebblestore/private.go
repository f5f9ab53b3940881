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

// isOfOthers tells whether a file keeps a directory from being made a log. The lock, manifest, options and
// write-ahead log are what the engine makes before its markers, and may have been cut short in; a new file system may have the others.
// Other programs with a like engine have a file CURRENT.
func isOfOthers(file os.DirEntry) bool {
	name := file.Name()
	for _, begun := range []string{"MANIFEST-", "OPTIONS-", "temporary.", "."} {
		if strings.HasPrefix(name, begun) {
			return false
		}
	}
	return name != "LOCK" && name != "lost+found" && !strings.HasSuffix(name, ".log") && !strings.HasSuffix(name, ".dbtmp")
}
