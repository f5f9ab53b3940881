package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// socketName is the name of the socket in the store's directory. The store's engine takes no notice of it.
const socketName = "control.sock"

// maxSocketPath is the longest path that every system takes for a socket; Linux has 108 bytes, others 104.
const maxSocketPath = 103

// socket is a listening socket in a directory.
type socket struct {
	net.Listener
	path string
}

// listen makes the socket of dir, in place of one that a dead process left. The caller has the store's lock.
// It gets its mode before it gets its name, so that nobody finds it open to all.
func listen(dir string) (*socket, error) {
	path := filepath.Join(dir, socketName)
	stale, _ := filepath.Glob(path + ".*") // of those that were killed before they had its name
	for _, left := range stale {
		_ = os.Remove(left)
	}
	fresh := path + "." + strconv.Itoa(os.Getpid())
	var l *net.UnixListener
	err := withShortPath(fresh, func(short string) (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then it may be the next one's
	if err := errors.Join(os.Chmod(fresh, 0o600), os.Rename(fresh, path)); err != nil {
		_ = l.Close()
		_ = os.Remove(fresh)
		return nil, err
	}
	return &socket{l, path}, nil
}

// remove takes the socket's name away. The caller still has the store's lock: the name is its own.
func (s *socket) remove() { _ = os.Remove(s.path) }

// withShortPath calls use with a path to the same file that is short enough for a socket.
func withShortPath(path string, use func(short string) error) error {
	if len(path) <= maxSocketPath {
		return use(path)
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%s is too long for a socket: at most %d bytes", path, maxSocketPath)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return use(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
}
