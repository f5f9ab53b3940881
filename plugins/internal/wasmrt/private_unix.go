//go:build unix

package wasmrt

import (
	"os"
	"syscall"
)

// private tells whether a file belongs to this user and nobody else can write to it: code from it is run.
func private(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
