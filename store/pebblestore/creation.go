package pebblestore

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The engine's file names that tell how far the creation of a directory came.
const (
	manifestMarker = "marker.manifest."       // then a number, then the name of the current manifest
	formatMarker   = "marker.format-version." // made when the manifest and its marker are durable
	tableSuffix    = ".sst"
	legacyMarker   = "CURRENT" // of databases that have no such markers
)

// clearCreation makes a directory usable whose creation was cut short by a crash, which kept the marker of the
// manifest and lost the manifest: the engine does not open that. Nothing was ever committed there, since the
// format marker comes later. It says whether the directory was such a one; every other is left alone. The caller
// has the directory's lock.
func clearCreation(fs vfs.FS, dir string) bool {
	names, err := fs.List(dir)
	if err != nil {
		return false
	}
	markers := danglingMarkers(names)
	for _, name := range markers {
		if fs.Remove(fs.PathJoin(dir, name)) != nil {
			return false
		}
	}
	return len(markers) > 0
}

// danglingMarkers gives the markers of manifests, when none of the manifests is there and neither is anything
// else that a finished creation leaves.
func danglingMarkers(names []string) []string {
	present := make(map[string]bool, len(names))
	for _, name := range names {
		present[name] = true
	}
	var markers []string
	for _, name := range names {
		if strings.HasPrefix(name, formatMarker) || strings.HasSuffix(name, tableSuffix) || name == legacyMarker {
			return nil
		}
		if rest, ok := strings.CutPrefix(name, manifestMarker); ok {
			_, manifest, _ := strings.Cut(rest, ".")
			if present[manifest] {
				return nil
			}
			markers = append(markers, name)
		}
	}
	return markers
}
