package pebblestore

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store"
)

func TestOpenMakesThePrivateDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "parent", "log")
	log, err := Open(dir, Options{})
	require.NoError(t, err)
	require.NoError(t, log.Close())
	for _, d := range []string{dir, filepath.Dir(dir)} {
		info, err := os.Stat(d)
		require.NoError(t, err)
		require.Equal(t, fs.ModeDir|0o700, info.Mode())
	}
}

func TestOpenTwiceInOneProcess(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	dir, link := filepath.Join(root, "log"), filepath.Join(root, "link")
	log, err := Open("log", Options{})
	require.NoError(t, err)
	require.NoError(t, log.Commit(t.Context(), append1("t", 0, "r")))
	require.NoError(t, os.Symlink("log", link))
	for _, other := range []string{"log", "./log/", dir, link, filepath.Join(root, "missing", "..", "log")} {
		_, err := Open(other, Options{})
		require.ErrorIs(t, err, store.ErrInUse, other)
		require.EqualError(t, err, fmt.Sprintf("opening the log in %q: store: in use by another process; "+
			"stop the axishost that has it, or name another directory", other))
	}
	require.NoError(t, log.Commit(t.Context(), append1("t", 1, "r")), "the refused took nothing away")
	require.NoError(t, log.Close())
	log, err = Open(link, Options{})
	require.NoError(t, err)
	require.NoError(t, log.Close())
}

func TestOpenWhileAnotherProcessHasIt(t *testing.T) {
	const variable = "PEBBLESTORE_TEST_HOLD"
	if dir := os.Getenv(variable); dir != "" { // this is the other process
		log, err := Open(dir, Options{})
		require.NoError(t, err)
		fmt.Println("\nheld")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		require.NoError(t, log.Close())
		return
	}
	dir := filepath.Join(t.TempDir(), "log")
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	other.Env = append(os.Environ(), variable+"="+dir)
	in, err := other.StdinPipe()
	require.NoError(t, err)
	out, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "held" {
	}
	require.Equal(t, "held", lines.Text())

	_, err = Open(dir, Options{})
	require.ErrorIs(t, err, store.ErrInUse)
	require.NoError(t, in.Close())
	for lines.Scan() {
	}
	require.NoError(t, other.Wait())
	log, err := Open(dir, Options{})
	require.NoError(t, err)
	require.NoError(t, log.Close())
}

func TestOpenRefused(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, tc := range map[string]struct{ dir, want string }{
		"no name": {"", "no directory is named"},
		"a file":  {file, "not a directory; name a directory, or a path where one can be made"},
		"in a file": {
			filepath.Join(file, "log"),
			"not a directory; name a directory, or a path where one can be made",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(tc.dir, Options{})
			requireLine(t, err, tc.dir, tc.want)
		})
	}
	t.Run("not writable", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("nothing is read-only for root")
		}
		dir := filepath.Join(root, "readonly")
		require.NoError(t, os.Mkdir(dir, 0o500))
		_, err := Open(dir, Options{})
		requireLine(t, err, dir, "permission denied; make it writable for this user, or name another directory")
	})
}

// The errors of a disk as this user may have it, at the first change of each kind.
func TestOpenOnABadDisk(t *testing.T) {
	for name, tc := range map[string]struct {
		kind  errorfs.OpKind
		cause error
		want  string
	}{
		"no permission for the directory": {errorfs.OpMkdirAll, syscall.EACCES, "make it writable for this user"},
		"no permission for the lock":      {errorfs.OpLock, syscall.EACCES, "make it writable for this user"},
		"no permission for a file":        {errorfs.OpCreate, syscall.EPERM, "make it writable for this user"},
		"read-only":                       {errorfs.OpCreate, syscall.EROFS, "make it writable for this user"},
		"full":                            {errorfs.OpFileWrite, syscall.ENOSPC, "free some space"},
		"broken":                          {errorfs.OpFileSync, syscall.EIO, "input/output error"},
	} {
		t.Run(name, func(t *testing.T) {
			disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == tc.kind {
					return &fs.PathError{Op: "change", Path: op.Path, Err: tc.cause}
				}
				return nil
			}))
			_, err := Open("dir", Options{FS: disk})
			require.ErrorIs(t, err, tc.cause)
			require.NotErrorIs(t, err, store.ErrInUse)
			requireLine(t, err, "dir", tc.want)
		})
	}
}

func requireLine(t *testing.T, err error, dir, want string) {
	t.Helper()
	require.Error(t, err)
	require.Contains(t, err.Error(), fmt.Sprintf("opening the log in %q: ", dir))
	require.Contains(t, err.Error(), want)
	require.NotContains(t, err.Error(), "\n")
}

func TestFormat(t *testing.T) {
	version := func(v uint32) []byte {
		value := binary.BigEndian.AppendUint32(make([]byte, sumLen), v)
		seal(formatKey(), value)
		return value
	}
	for _, tc := range []struct {
		name  string
		value []byte
		is    error
		want  string // "" when it opens
	}{
		{"this one", version(2), nil, ""},
		{"a newer one", version(3), store.ErrVersion, "the log has format 3, this version reads up to 2; update axishost"},
		{"an older one", version(1), nil, "the log has format 1, of a version before the first release, and this version reads from 2 on"},
		{"none", version(0), nil, "format 0"},
		{"damaged", append(version(2)[:7], 3), nil, "the format version is corrupt"},
		{"cut off", version(1)[:3], nil, "the format version is corrupt"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mem := vfs.NewMem()
			log, err := Open("dir", Options{FS: mem})
			require.NoError(t, err)
			require.NoError(t, log.db.Set(formatKey(), tc.value, pebble.Sync))
			require.NoError(t, log.Close())
			for range 2 { // a refusal lets go of the directory
				log, err = Open("dir", Options{FS: mem})
				if tc.want == "" {
					require.NoError(t, err)
					require.NoError(t, log.Close())
					continue
				}
				requireLine(t, err, "dir", tc.want)
				if tc.is != nil {
					require.ErrorIs(t, err, tc.is)
				}
			}
		})
	}
}

func TestNewerEngineFormat(t *testing.T) {
	mem := vfs.NewMem()
	log, err := Open("dir", Options{FS: mem})
	require.NoError(t, err)
	require.NoError(t, log.Close())
	names, err := mem.List("dir")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasPrefix(name, formatMarker) {
			require.NoError(t, mem.Rename("dir/"+name, "dir/"+formatMarker+"000099.777"))
		}
	}
	_, err = Open("dir", Options{FS: mem})
	require.ErrorIs(t, err, store.ErrVersion)
	requireLine(t, err, "dir", "unknown format major version 777, this version reads up to 24; update axishost")
}

func TestAnotherProgramsDatabase(t *testing.T) {
	mem := vfs.NewMem()
	db, err := pebble.Open("dir", &pebble.Options{FS: mem, Logger: engineLog{newFuse()}})
	require.NoError(t, err)
	require.NoError(t, db.Set([]byte("x"), nil, pebble.Sync))
	require.NoError(t, db.Close())
	_, err = Open("dir", Options{FS: mem})
	requireLine(t, err, "dir", "it holds another program's database")
}

// Opening is as slow as its syncs; a count of them is the same on every machine.
func TestOpenSyncsLittle(t *testing.T) {
	var syncs atomic.Int32
	disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData {
			syncs.Add(1)
		}
		return nil
	}))
	for _, tc := range []struct {
		name string
		most int32
	}{{"new", 24}, {"there", 10}} {
		syncs.Store(0)
		log, err := Open("dir", Options{FS: disk})
		require.NoError(t, err)
		t.Logf("%s: %d syncs", tc.name, syncs.Load())
		assert.LessOrEqual(t, syncs.Load(), tc.most, tc.name)
		require.NoError(t, log.Close())
	}
}

func TestDanglingMarkers(t *testing.T) {
	const marker, manifest = manifestMarker + "000001.MANIFEST-000001", "MANIFEST-000001"
	for _, tc := range []struct {
		names, want []string
	}{
		{nil, nil},
		{[]string{"LOCK"}, nil},
		{[]string{"LOCK", marker}, []string{marker}},
		{[]string{"LOCK", "000002.log", marker}, []string{marker}},
		{[]string{"LOCK", marker, manifest}, nil},
		{[]string{"LOCK", marker, formatMarker + "000001.013"}, nil},
		{[]string{"LOCK", marker, "000004.sst"}, nil},
		{[]string{"LOCK", marker, "CURRENT"}, nil},
	} {
		require.Equal(t, tc.want, danglingMarkers(tc.names), "%v", tc.names)
	}
}
