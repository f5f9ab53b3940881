package wasmrt

import (
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2" // the engine of the store has it already; several times as fast as the disk
	"github.com/tetratelabs/wazero"
)

// codeCache is compiled code on disk, of one module, which any number of processes use at once.
//
// Invariant: wazero is never shown a file that is not, byte for byte, what a compilation wrote and sealed. It takes
// lengths and addresses out of such a file, and then runs what it finds there.
type codeCache struct{ dir string }

const (
	sealSuffix  = ".sum" // of the file that holds the checksum of the one without the suffix
	draftSuffix = ".tmp" // of a file that wazero, or seal, is writing
)

// draftAge is how old a draft is when nobody can be writing it any more: compiling takes seconds.
const draftAge = time.Hour

// open looks through the directory, takes away what cannot be trusted, and tells whether any code is left. It is
// nil where there is no directory, or where it cannot be used: that must not keep anyone from running a plugin.
func (c codeCache) open() (cache wazero.CompilationCache, whole bool) {
	if c.dir == "" || os.MkdirAll(c.dir, 0o700) != nil || writableByAll(c.dir) {
		return nil, false
	}
	for _, file := range c.files() {
		switch {
		case strings.HasSuffix(file, sealSuffix):
		case strings.HasSuffix(file, draftSuffix):
			if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > draftAge {
				_ = os.Remove(file)
			}
		case sealed(file):
			whole = true
		case !discard(file):
			return nil, false
		}
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

// writableByAll tells whether anybody on the machine could put code into a directory.
func writableByAll(dir string) bool {
	info, err := os.Stat(dir)
	return err != nil || info.Mode().Perm()&0o002 != 0
}

// files lists what is in the directories that wazero makes, one for each version of the compiler.
func (c codeCache) files() []string {
	files, _ := filepath.Glob(filepath.Join(escape(c.dir), "*", "*")) // the only error is of a bad pattern
	return files
}

// escape makes a pattern of a path that matches it alone.
func escape(path string) string {
	return strings.NewReplacer(`[`, `[[]`, `*`, `[*]`, `?`, `[?]`).Replace(path)
}

// seal puts checksums to the files that have none; to all of them after a compilation, whose file may have taken
// the place of another process's. Where it fails the files are not trusted, and code is compiled again.
func (c codeCache) seal(compiled bool) {
	for _, file := range c.files() {
		if strings.HasSuffix(file, sealSuffix) || strings.HasSuffix(file, draftSuffix) {
			continue
		}
		if _, err := os.Stat(file + sealSuffix); err == nil && !compiled {
			continue
		}
		if sum, err := checksum(file); err == nil {
			_ = replace(file+sealSuffix, sum)
		}
	}
}

// sealed tells whether a file is what its checksum says.
func sealed(file string) bool {
	want, err := os.ReadFile(file + sealSuffix)
	if err != nil {
		return false
	}
	got, err := checksum(file)
	return err == nil && got == string(want)
}

// discard removes a file and its checksum, the checksum first: a file without one is never used.
func discard(file string) bool {
	for _, name := range []string{file + sealSuffix, file} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

func checksum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := xxhash.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// replace writes a file whole or not at all.
func replace(file, content string) error {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*"+draftSuffix)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
