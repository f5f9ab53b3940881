package wasmrt

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
)

// codeCache is compiled code on disk, of one module, which any number of processes use at once.
//
// Invariants: wazero is never shown a file that is not, byte for byte, what a compilation wrote and sealed: it takes
// lengths and addresses out of such a file, and then runs what it finds there. All that is looked at, from the root
// downwards, belongs to this user, and nobody else can write to it. Nothing is opened but regular files, and none that
// is longer than it can be.
type codeCache struct {
	root string // the caller's
	dir  string // of this module, in root
	most int64  // bytes of a file of code
}

const (
	sealSuffix  = ".sum" // of the file that holds the checksum of the one without the suffix
	draftSuffix = ".tmp" // of a file that wazero, or seal, is writing
)

// draftAge is how old a draft is when nobody can be writing it any more: compiling takes seconds.
const draftAge = time.Hour

// Code is two to three times as long as the module of a compiler, 17 times as long as one of empty functions. What is
// longer is not kept.
const (
	codePerByte = 64
	codeAtLeast = 1 << 20
)

// newCodeCache is the cache of a module below root; without a root there is none.
func newCodeCache(root string, binary []byte) codeCache {
	if root == "" {
		return codeCache{}
	}
	sum := sha256.Sum256(binary)
	return codeCache{root, filepath.Join(root, hex.EncodeToString(sum[:])), codeAtLeast + codePerByte*int64(len(binary))}
}

// open looks through the directory, takes away what cannot be trusted, and tells whether any code is left. It is
// nil where there is no directory, or where it cannot be used: that must not keep anyone from running a plugin.
func (c codeCache) open() (cache wazero.CompilationCache, whole bool) {
	if c.dir == "" || !c.makeDirs() {
		return nil, false
	}
	files, ok := c.files()
	for _, file := range files {
		switch {
		case c.sealed(file):
			whole = true
		case !discard(file):
			ok = false
		}
	}
	if !ok {
		return nil, false
	}
	opening.Lock()
	defer opening.Unlock()
	cache, err := wazero.NewCompilationCacheWithDir(c.dir)
	if err != nil {
		return nil, false
	}
	return cache, whole
}

// opening serialises what makes caches and runtimes: wazero works its own version out on first use, and
// stores it without a lock.
var opening sync.Mutex

// makeDirs makes the root and the module's directory where they are not there, and tells whether both can be trusted.
// The root is the caller's, and may be a link.
func (c codeCache) makeDirs() bool {
	if os.MkdirAll(c.root, 0o700) != nil {
		return false
	}
	if info, err := os.Stat(c.root); err != nil || !info.IsDir() || !private(info) {
		return false
	}
	if info, err := os.Lstat(c.dir); err == nil && !(info.IsDir() && private(info)) && os.RemoveAll(c.dir) != nil {
		return false
	}
	return os.MkdirAll(c.dir, 0o700) == nil
}

// files lists the files of code in the directories that wazero makes, one for each version of the compiler. What
// should not be there, such as a link or a directory in the place of a file, is removed, for the directory is ours
// alone; ok is false where that was not possible.
func (c codeCache) files() (code []string, ok bool) {
	versions, ok := own(c.dir, os.FileInfo.IsDir)
	for _, version := range versions {
		files, fine := own(version, func(info os.FileInfo) bool { return info.Mode().IsRegular() && !forgotten(info) })
		ok = ok && fine
		for _, file := range files {
			if !strings.HasSuffix(file, sealSuffix) && !strings.HasSuffix(file, draftSuffix) {
				code = append(code, file)
			}
		}
	}
	return code, ok
}

// forgotten tells whether a file is a draft that nobody is writing any more.
func forgotten(info os.FileInfo) bool {
	return strings.HasSuffix(info.Name(), draftSuffix) && time.Since(info.ModTime()) > draftAge
}

// own lists what is in a directory of this user alone and of the wanted kind, and removes everything else.
func own(dir string, wanted func(os.FileInfo) bool) (paths []string, ok bool) {
	entries, err := os.ReadDir(dir)
	ok = err == nil
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		info, err := entry.Info() // of the entry itself, where it is a link
		switch {
		case os.IsNotExist(err): // another process has removed it
		case err == nil && wanted(info) && private(info):
			paths = append(paths, path)
		case os.RemoveAll(path) != nil:
			ok = false
		}
	}
	return paths, ok
}

// seal puts checksums to the files that have none; to all of them after a compilation, whose file may have taken
// the place of another process's. Where it fails the files are not trusted, and code is compiled again.
func (c codeCache) seal(compiled bool) {
	files, _ := c.files()
	for _, file := range files {
		if _, err := os.Lstat(file + sealSuffix); err == nil && !compiled {
			continue
		}
		if sum, err := c.checksum(file); err == nil {
			_ = replace(file+sealSuffix, sum)
		}
	}
}
