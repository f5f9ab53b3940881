package plugins

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/axishost/axishost/abi"
)

// ReadFile reads a plugin's file, at most one byte more of it than abi.MaxModuleBytes, for Inspect to judge. What
// cannot be read as a file is a *RefusedError without a class, named by the path. What is no regular file is not
// opened: a FIFO would wait for its writer.
func ReadFile(path string) ([]byte, error) {
	refuse := func(reason string) error { return &RefusedError{Plugin: path, Reasons: []string{reason}} }
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, refuse(unreadable(err))
	case info.IsDir():
		return nil, refuse("is a directory; give the .wasm file in it")
	case !info.Mode().IsRegular():
		return nil, refuse("is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, refuse(unreadable(err))
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, abi.MaxModuleBytes+1))
	if err != nil {
		return nil, refuse(unreadable(err))
	}
	return b, nil
}

// unreadable says why a file cannot be read, without its path.
func unreadable(err error) string {
	var where *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist; build it first, or check the path"
	case errors.Is(err, fs.ErrPermission):
		return "cannot be read: permission denied"
	case errors.As(err, &where):
		err = where.Err
	}
	return "cannot be read: " + err.Error()
}
