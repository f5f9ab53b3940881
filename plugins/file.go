package plugins

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/axishost/axishost/abi"
)

// ReadFile reads a plugin's file, at most abi.MaxModuleBytes of it. What is plainly no plugin is a
// *RefusedError named by the path.
func ReadFile(path string) ([]byte, error) {
	refuse := func(reason string) error { return &RefusedError{Plugin: path, Reasons: []string{reason}} }
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse("does not exist; build it first, or check the path")
	case errors.Is(err, fs.ErrPermission):
		return nil, refuse("cannot be read: permission denied")
	case err != nil:
		return nil, fmt.Errorf("plugin %s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, refuse("is a directory; give the .wasm file in it")
	}
	b, err := io.ReadAll(io.LimitReader(f, abi.MaxModuleBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("plugin %s: %w", path, err)
	case len(b) == 0:
		return nil, refuse("is empty")
	}
	return b, nil
}
