package pebblestore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/axishost/axishost/store"
)

// fuseFS is a file system that stops at its first failed write: that blows the fuse, and from then on
// writes, syncs, renames and removals do nothing and report success. So the engine goes on in memory, never
// on its error paths (which exit, panic and spin), while the directory stays as it was at that instant, the
// way a crash would have left it. Whoever acknowledges something looks at the fuse first.
//
// Reads are passed on; those of tables are checked (tablefile.go).
type fuseFS struct {
	vfs.FS
	fuse *fuse
}

// do runs a write unless the fuse is blown, and blows it when the write fails.
func (f *fuse) do(write func() error) {
	if f.isBlown() {
		return
	}
	if err := write(); err != nil {
		f.blow(err)
	}
}

// open is do for an operation that gives a file. When it is not done the file is one in memory.
func (f *fuse) open(open func() (vfs.File, error)) vfs.File {
	var file vfs.File
	f.do(func() (err error) {
		file, err = open()
		return err
	})
	if file == nil {
		file = vfs.NewMemFile(nil)
	}
	return &fuseFile{file, f}
}

func (f *fuseFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.fuse.open(func() (vfs.File, error) { return f.FS.Create(name, category) }), nil
}

func (f *fuseFS) OpenReadWrite(
	name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (vfs.File, error) {
	return f.fuse.open(func() (vfs.File, error) { return f.FS.OpenReadWrite(name, category, opts...) }), nil
}

func (f *fuseFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.fuse.open(func() (vfs.File, error) { return f.FS.ReuseForWrite(oldname, newname, category) }), nil
}

// Open opens a file for reading.
func (f *fuseFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, opts...)
	if err != nil || !strings.HasSuffix(name, tableSuffix) {
		return file, err
	}
	return &tableFile{file, name}, nil
}

// OpenDir opens a directory for syncing.
func (f *fuseFS) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &fuseFile{dir, f.fuse}, nil
}

func (f *fuseFS) Link(oldname, newname string) error {
	f.fuse.do(func() error { return f.FS.Link(oldname, newname) })
	return nil
}

func (f *fuseFS) Rename(oldname, newname string) error {
	f.fuse.do(func() error { return f.FS.Rename(oldname, newname) })
	return nil
}

// Remove passes an error on: a file that stays too long does no harm, and the engine expects it.
func (f *fuseFS) Remove(name string) error {
	if f.fuse.isBlown() {
		return nil
	}
	return f.FS.Remove(name)
}

// RemoveAll passes an error on, like Remove.
func (f *fuseFS) RemoveAll(name string) error {
	if f.fuse.isBlown() {
		return nil
	}
	return f.FS.RemoveAll(name)
}

// MkdirAll makes directories that only their owner may enter, whatever the engine asks for.
func (f *fuseFS) MkdirAll(dir string, _ os.FileMode) error {
	f.fuse.do(func() error { return f.FS.MkdirAll(dir, 0o700) })
	return nil
}

// Lock gives ErrInUse when the lock is held by another.
func (f *fuseFS) Lock(name string) (io.Closer, error) {
	lock, err := f.FS.Lock(name)
	var path *fs.PathError
	switch {
	case err == nil:
		return lock, nil
	case errors.As(err, &path): // the file could not be made
		return nil, err
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES), err.Error() == heldByThisProcess:
		return nil, store.ErrInUse
	default:
		return nil, err
	}
}

// heldByThisProcess is the engine's error for a second lock in one process; it has no other mark.
const heldByThisProcess = "lock held by current process"

// Unwrap gives the file system below.
func (f *fuseFS) Unwrap() vfs.FS { return f.FS }

// fuseFile is a file, or a directory to be synced, of a fuseFS.
type fuseFile struct {
	vfs.File
	fuse *fuse
}

func (f *fuseFile) Write(p []byte) (int, error) {
	f.fuse.do(func() error { _, err := f.File.Write(p); return err })
	return len(p), nil
}

func (f *fuseFile) WriteAt(p []byte, offset int64) (int, error) {
	f.fuse.do(func() error { _, err := f.File.WriteAt(p, offset); return err })
	return len(p), nil
}

func (f *fuseFile) Sync() error {
	f.fuse.do(f.File.Sync)
	return nil
}

func (f *fuseFile) SyncData() error {
	f.fuse.do(f.File.SyncData)
	return nil
}

func (f *fuseFile) SyncTo(length int64) (fullSync bool, err error) {
	f.fuse.do(func() (err error) {
		fullSync, err = f.File.SyncTo(length)
		return err
	})
	return fullSync, nil
}

// Preallocate is advice: its error stops nothing.
func (f *fuseFile) Preallocate(offset, length int64) error {
	if f.fuse.isBlown() {
		return nil
	}
	return f.File.Preallocate(offset, length)
}

// Close releases the file whatever the state of the fuse.
func (f *fuseFile) Close() error {
	if err := f.File.Close(); err != nil {
		f.fuse.blow(err)
	}
	return nil
}
