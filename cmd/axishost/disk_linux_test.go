package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// asNobody starts commands as a user without rights, where the tests run as root; others have none anyway.
func (s *shell) asNobody() {
	if os.Getuid() != 0 {
		return
	}
	const nobody = 65534
	for _, dir := range []string{s.dir, s.path("cache")} {
		require.NoError(s.t, os.MkdirAll(dir, 0o755))
		require.NoError(s.t, os.Chown(dir, nobody, nobody))
	}
	s.as = func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if err := s.command(s.t.Context(), "--version").Run(); err != nil {
		s.t.Skipf("NOT TESTED: commands cannot be started as another user here: %v", err)
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	s := newShell(t)
	s.asNobody()
	s.succeeds("run --model script:one.yaml one --store store")
	require.NoError(t, os.Chmod(s.path("store"), 0o500))
	t.Cleanup(func() { _ = os.Chmod(s.path("store"), 0o700) })
	s.refuses("store", `^opening the log in "store": .*permission denied; make it writable for this user, or name another directory \(--store or AXISHOST_STORE\)$`)
	require.NoError(t, os.Chmod(s.path("store"), 0o700))
	s.whole("store", 1)

	require.NoError(t, os.Mkdir(s.path("parent"), 0o500))
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(s.path("parent"), 65534, 65534))
	}
	s.run("run --model script:one.yaml x --store parent/store").refused(exitStore,
		`^opening the log in "parent/store": .*permission denied; make it writable for this user`)
}

func TestDirectoryOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: another user's directory; only root can make one")
	}
	s := newShell(t)
	s.succeeds("run --model script:one.yaml one --store store")
	s.asNobody()
	s.refuses("store", `^opening the log in "store": .*permission denied; make it writable for this user, or name another directory \(--store or AXISHOST_STORE\)$`)
	s.as = nil
	s.whole("store", 1)
}

// inNamespace runs the calling test again, alone, in a mount namespace of its own with a small tmpfs, and says
// whether this is that run. disk is where the tmpfs is.
func inNamespace(t *testing.T, size string) (s *shell, disk string, inside bool) {
	const binary = "AXISHOST_TEST_NAMESPACE"
	if path := os.Getenv(binary); path != "" {
		s = &shell{t: t, binary: path, dir: t.TempDir()}
		s.env = []string{"HOME=" + s.dir, "AXISHOST_CACHE=" + s.path("cache"), "PATH=" + os.Getenv("PATH")}
		s.write("one.yaml", "replies: [{content: done}]\n")
		disk = s.path("disk")
		require.NoError(t, os.Mkdir(disk, 0o755))
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size="+size); err != nil {
			t.Skipf("NOT TESTED: nothing can be mounted here: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
		return s, disk, true
	}
	s = newShell(t)
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=100s")
	cmd.Env = append(os.Environ(), binary+"="+s.binary)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skipf("NOT TESTED: no mount namespace can be made here: %v", err)
	}
	err := cmd.Wait()
	if strings.Contains(out.String(), "NOT TESTED") {
		t.Skip(out.String())
	}
	require.NoError(t, err, "%s", &out)
	return nil, "", false
}

func remount(t *testing.T, disk string, flags uintptr, data string) {
	t.Helper()
	require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT|flags, data))
}

func TestReadOnlyFileSystem(t *testing.T) {
	s, disk, inside := inNamespace(t, "32m")
	if !inside {
		return
	}
	s.succeeds("run --model script:one.yaml one --store disk/store")
	remount(t, disk, syscall.MS_RDONLY, "")
	s.refuses("disk/store", `^opening the log in "disk/store": .*read-only file system; make it writable for this user, or name another directory \(--store or AXISHOST_STORE\)$`)
	s.run("run --model script:one.yaml x --store disk/new").refused(exitStore, `^opening the log in "disk/new": .*read-only file system;`)
	remount(t, disk, 0, "")
	s.whole("disk/store", 1)
}

// fillDisk takes what room a disk has left, to the last byte, until free is called.
func fillDisk(t *testing.T, disk string) (free func()) {
	t.Helper()
	path := filepath.Join(disk, "fill")
	f, err := os.Create(path)
	require.NoError(t, err)
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())
	return func() { require.NoError(t, os.Remove(path)) }
}

// TestFullDisk: on a disk that is full before a run, nothing is begun.
func TestFullDisk(t *testing.T) {
	s, disk, inside := inNamespace(t, "2m")
	if !inside {
		return
	}
	const full = `: write .*: no space left on device; free some space, or name a directory on another disk$`
	free := fillDisk(t, disk)
	s.run("run --model script:one.yaml x --store disk/store").refused(exitStore, `^opening the log in "disk/store"`+full)
	s.refuses("disk/store", `^opening the log in "disk/store"`+full)
	free()
	s.succeeds("run --model script:one.yaml one --store disk/store")
	free = fillDisk(t, disk)
	s.refuses("disk/store", `^opening the log in "disk/store"`+full)
	free()
	s.whole("disk/store", 1)
	s.succeeds("run --model script:one.yaml two --store disk/store")
	s.whole("disk/store", 2)
}

// goesOn checks that a task that the disk stopped is told how to go on with, and then does: the rest of it is
// the same as if nothing had been.
func (s *shell) goesOn(r said, store string, space func()) {
	s.t.Helper()
	command := goOnWith(s.t, s, r)
	space()
	require.Contains(s.t, s.succeeds("tasks list --store "+store), " stopped ")
	require.Contains(s.t, s.succeeds("doctor --store "+store), "damage   none")
	require.Equal(s.t, "finished\n", s.succeeds(command))
	s.whole(store, 1)
}

// TestDiskFillsUp: a disk that gets full in the middle of a run stops it, and nothing of it is lost.
func TestDiskFillsUp(t *testing.T) {
	s, disk, inside := inNamespace(t, "1m")
	if !inside {
		return
	}
	s.write("long.yaml", longScript(t, 12, 60_000))
	r := s.run("run --model script:long.yaml long --store disk/store")
	r.refused(exitStore, `^task [0-9a-z]{26}: store: failed: write .*: no space left on device; the disk is full: free some space`)
	s.run("tasks list --store disk/store").refused(exitStore, `no space left on device; free some space`)
	s.goesOn(r, "disk/store", func() { remount(t, disk, 0, "size=64m") })
}

// TestDiskFillsUpUnderTwo: the disk fails the process that has the store and one that works through it; both go on.
func TestDiskFillsUpUnderTwo(t *testing.T) {
	s, disk, inside := inNamespace(t, "1m")
	if !inside {
		return
	}
	s.write("long.yaml", longScript(t, 12, 60_000))
	ended, _, answer := s.hanging("run --model m held --store disk/store")
	through := s.run("run --model script:long.yaml long --store disk/store")
	through.refused(exitStore, `^task [0-9a-z]{26}: store: failed: write .*: no space left on device; the disk is full`)
	answer()
	held := ended()
	held.refused(exitStore, `^task [0-9a-z]{26}: store: failed: write .*: no space left on device; the disk is full`)
	remount(t, disk, 0, "size=64m")
	require.Contains(t, s.succeeds("doctor --store disk/store"), "damage   none")
	require.Equal(t, "finished\n", s.succeeds(goOnWith(t, s, through)))
	require.Equal(t, "done\n", s.succeeds(goOnWith(t, s, held)+" --model script:one.yaml"))
	s.whole("disk/store", 2)
}

// goOnWith gives the arguments of the command that a stopped run said to go on with.
func goOnWith(t *testing.T, s *shell, r said) string {
	t.Helper()
	_, after, found := strings.Cut(r.err, "\naxishost: go on with: "+s.binary+" ")
	require.True(t, found, r.err)
	return strings.TrimSpace(after)
}

// TestFileSizeLimit: so does a file that must not get larger.
func TestFileSizeLimit(t *testing.T) {
	s := newShell(t)
	s.write("long.yaml", longScript(t, 12, 60_000))
	real := s.binary
	s.as = func(cmd *exec.Cmd) { // ulimit -f counts blocks of 512 or of 1024 bytes
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `ulimit -f 400; exec "$0" "$@"`, real}, cmd.Args[1:]...)
	}
	r := s.run("run --model script:long.yaml long --store store")
	r.refused(exitStore, `^task [0-9a-z]{26}: store: failed: write .*: file too large; allow larger files`)
	s.goesOn(r, "store", func() { s.as = nil })
}
