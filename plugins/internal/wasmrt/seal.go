package wasmrt

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cespare/xxhash/v2" // the engine of the store has it already; several times as fast as the disk
)

// sealed tells whether a file is what its checksum says.
func (c codeCache) sealed(file string) bool {
	info, err := os.Lstat(file + sealSuffix)
	if err != nil || !info.Mode().IsRegular() || info.Size() != 2*8 { // a checksum in hexadecimal
		return false
	}
	want, err := os.ReadFile(file + sealSuffix)
	if err != nil {
		return false
	}
	got, err := c.checksum(file)
	return err == nil && got == string(want)
}

// checksum is that of a file of code.
func (c codeCache) checksum(file string) (string, error) {
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > c.most:
		return "", fmt.Errorf("%s: %s of %d bytes cannot be code of the module", file, info.Mode(), info.Size())
	}
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

// discard removes a file and its checksum, the checksum first: a file without one is never used.
func discard(file string) bool {
	for _, name := range []string{file + sealSuffix, file} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
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
