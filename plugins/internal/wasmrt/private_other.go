//go:build !unix

package wasmrt

import "os"

// private has nothing to look at here: a user's cache directory is the user's own by the lists of its parents.
func private(os.FileInfo) bool { return true }
