package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/axishost/axishost/store"
)

// Options are the options of Open. The zero value is for use as it is.
type Options struct {
	// FS is the file system that the directory is in; nil: the operating system's.
	FS vfs.FS
}

// Open opens the log in dir, and makes the directory (mode 0700, with its missing parents) when there is
// none. The error is one line that names the directory and says what to do: ErrInUse when another process,
// or another Log of this one, has the directory; ErrVersion when a newer version wrote it.
func Open(dir string, opts Options) (*Log, error) {
	log, err := open(dir, opts)
	if err != nil {
		return nil, fmt.Errorf("opening the log in %q: %w%s", dir, err, advice(err))
	}
	return log, nil
}

func open(dir string, opts Options) (*Log, error) {
	if dir == "" {
		return nil, errors.New("no directory is named")
	}
	if opts.FS == nil {
		opts.FS = vfs.Default
		canonical, err := canonicalDir(dir)
		if err != nil {
			return nil, err
		}
		dir = canonical
		if err := makePrivate(dir); err != nil {
			return nil, err
		}
	}
	fuse := newFuse()
	db, lock, err := openEngine(dir, engineOptions(opts.FS, fuse), fuse)
	if err != nil {
		// What the fuse has is the cause; what the engine says may follow from it.
		return nil, firstError(fuse.first(), oneLine(engineError(err)))
	}
	err = checkFormat(db, fuse)
	var unreadable *store.CorruptError
	if errors.As(err, &unreadable) {
		err = nil
	}
	if err = firstError(fuse.first(), err); err != nil {
		_ = closeEngine(db, lock)
		return nil, oneLine(err)
	}
	return &Log{
		db:       db,
		lock:     lock,
		fuse:     fuse,
		seal:     func() { sealManifest(opts.FS, dir) },
		disk:     func() (vfs.DiskUsage, error) { return opts.FS.GetDiskUsage(dir) },
		readOnly: unreadable,
		closing:  make(chan struct{}),
		flights:  make(map[string]*flight),
		watches:  make(map[string]*watch),
	}, nil
}

// openEngine opens the engine, and gives the lock on the directory to be closed after it. One lock is held from
// the first look into the directory on: where very many processes want it, no other comes between.
func openEngine(dir string, opts *pebble.Options, fuse *fuse) (*pebble.DB, io.Closer, error) {
	if _, err := opts.FS.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		db, err := openOnce(dir, opts, fuse) // makes the directory, and makes that durable
		return db, nopCloser{}, err
	}
	lock, err := pebble.LockDirectory(dir, opts.FS)
	if err != nil {
		return nil, nil, err
	}
	opts.Lock = lock
	if err := checkManifest(opts.FS, dir); err != nil {
		_ = lock.Close()
		return nil, nil, err
	}
	db, err := openOnce(dir, opts, fuse)
	if err != nil && clearCreation(opts.FS, dir) {
		db, err = openOnce(dir, opts, fuse)
	}
	if err != nil {
		_ = lock.Close()
		return nil, nil, err
	}
	return db, lock, nil
}

// openOnce opens the engine, which compacts nothing before it is open: it would wait for that.
func openOnce(dir string, opts *pebble.Options, fuse *fuse) (*pebble.DB, error) {
	s := newScheduler(fuse.compactions)
	opts.Experimental.CompactionScheduler = s
	db, err := pebble.Open(dir, opts)
	if err == nil {
		s.Done()
	}
	return db, err
}

// nopCloser stands for the lock that the engine took itself.
type nopCloser struct{}

func (nopCloser) Close() error { return nil }

// closeEngine closes the engine, and lets go of the directory.
func closeEngine(db *pebble.DB, lock io.Closer) error {
	err := db.Close()
	return firstError(err, lock.Close())
}

// engineOptions are the engine's options: its own defaults but for what a log of modest size on one machine
// does not need.
func engineOptions(fs vfs.FS, fuse *fuse) *pebble.Options {
	opts := &pebble.Options{
		FS:                 &fuseFS{fs, fuse},
		FormatMajorVersion: engineFormat,
		Logger:             engineLog{fuse},
		EventListener:      fuse.events(),
		MemTableSize:       4 << 20,
		// Without compactions (compactions.go) commits go on, and never wait for one that does not come.
		L0StopWritesThreshold: 10_000,
		// The statistics find tables that are worth a compaction for what was deleted in them; Compact does
		// without. To make them the engine reads tables at each start, and a damaged one again and again.
		DisableTableStats: true,
	}
	opts.Levels[0].Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
	// A replay reads records one after the other, and most of what a block costs is per block.
	opts.Levels[0].BlockSize = 16 << 10
	return opts // the other levels take over the first one's
}

// canonicalDir gives the one path that dir has, however it is spelled: the lock on a directory knows it by
// its path within one process. The end of the path need not exist.
func canonicalDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(abs) == abs {
		return resolved, err
	}
	parent, err := canonicalDir(filepath.Dir(abs))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(abs)), nil
}

// engineError gives the engine's error when it opens a directory the meaning that the contract has for it.
func engineError(err error) error {
	if strings.Contains(err.Error(), "unknown format major version") {
		return fmt.Errorf("%w: %w, this version reads up to %d", store.ErrVersion, err, pebble.FormatNewest)
	}
	return err
}

// lineError is an error whose text was made one line.
type lineError struct {
	error
	text string
}

func (e lineError) Error() string { return e.text }
func (e lineError) Unwrap() error { return e.error }

// oneLine keeps an error's text to a line; the engine's can have several.
func oneLine(err error) error {
	text := err.Error()
	if !strings.Contains(text, "\n") {
		return err
	}
	text = strings.ReplaceAll(text, "<corruption detail carrier>", "") // a mark of the engine's, not a text
	return lineError{err, strings.Join(strings.Fields(text), " ")}
}

// advice says what to do about an error of Open; "" when that is not known.
func advice(err error) string {
	switch {
	case errors.Is(err, store.ErrInUse):
		return "; stop the axishost that has it, or name another directory"
	case errors.Is(err, store.ErrVersion):
		return "; update axishost, or name another directory"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "; make it writable for this user, or name another directory"
	case errors.Is(err, syscall.ENOTDIR):
		return "; name a directory, or a path where one can be made"
	case errors.Is(err, syscall.ENOSPC):
		return "; free some space, or name a directory on another disk"
	case errors.Is(err, syscall.EFBIG):
		return "; allow larger files (ulimit -f), or name a directory on another disk"
	case errors.Is(err, syscall.EMFILE):
		return "; allow more open files (ulimit -n)"
	case pebble.IsCorruptionError(err), isIncomplete(err):
		return "; restore it from a backup, or name another directory"
	default:
		return ""
	}
}

// isIncomplete says whether an error of Open is of a file that is gone or cut off. The engine has no type for
// all of these.
func isIncomplete(err error) bool {
	text := err.Error()
	return errors.Is(err, fs.ErrNotExist) || strings.Contains(text, "object size mismatch") || strings.Contains(text, "not pristine")
}

// recovery is advice for a log that failed while it was open.
func recovery(err error) string {
	const then = ", then open the log again: nothing acknowledged is lost"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "; the disk is full: free some space" + then
	case errors.Is(err, syscall.EFBIG):
		return "; allow larger files (ulimit -f)" + then
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "; the disk takes no writes: make it writable" + then
	case errors.Is(err, syscall.EIO):
		return "; the disk gives errors: see to it" + then
	default:
		return ""
	}
}
