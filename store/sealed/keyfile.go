package sealed

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxKeyFile bounds what is read of a file that somebody took for a key file; a right one has 59 bytes.
const maxKeyFile = 256

// ReadKeyFile reads a key file. It refuses one that others than its owner may read or write.
func ReadKeyFile(path string) (*Key, error) {
	text, err := readSecret(path)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	k, err := parseKey(text)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return k, nil
}

func readSecret(path string) ([]byte, error) {
	// Asked before opening too: to open a pipe that nobody writes to would wait for ever.
	if info, err := os.Stat(path); err != nil {
		return nil, cause(err)
	} else if err := checkFile(path, info); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, cause(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, cause(err)
	}
	if err := checkFile(path, info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFile+1))
	if err != nil {
		return nil, cause(err)
	}
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("it is not a key file: it has more than %d bytes", maxKeyFile)
	}
	return text, nil
}

func checkFile(path string, info fs.FileInfo) error {
	switch perm := info.Mode().Perm(); {
	case info.IsDir():
		return errors.New("it is a directory: name the file in it")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file: name one")
	case perm&0o077 != 0:
		return fmt.Errorf("its mode is %04o, and only its owner may have access: chmod 600 %s", perm, path)
	}
	return nil
}

// NewKeyFile makes a file with a new random key, which its owner alone may read, and the directories above it
// that are missing. The file is on disk when it returns. It does not touch a file that exists.
func NewKeyFile(path string) error {
	key := make([]byte, keyLen)
	rand.Read(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("key file %s: %w", path, cause(err))
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("key file %s: %w, and a key that is overwritten is lost: name another path", path, fs.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("key file %s: %w", path, cause(err))
	}
	_, err = file.Write(formatKey(Key{newSecret(key)}))
	if err == nil {
		err = file.Sync()
	}
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		_ = os.Remove(path) // it may hold half a key
		return fmt.Errorf("key file %s: %w", path, cause(err))
	}
	return nil
}

// syncDir makes a new name in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// cause leaves out the path of an error of package os: it has been said.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
