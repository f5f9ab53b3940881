package pebblestore_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/axishost/axishost/store/storetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	t.Run("memory", func(t *testing.T) { storetest.Run(t, factory(vfs.NewMem())) })
	t.Run("disk", func(t *testing.T) { storetest.Run(t, factory(nil)) })
}

// factory opens logs on a file system; nil: the operating system's.
func factory(fs vfs.FS) storetest.Factory {
	return storetest.Factory{
		Durable: true,
		Open: func(t *testing.T, dir string) store.Log {
			log, err := pebblestore.Open(dir, pebblestore.Options{FS: fs})
			require.NoError(t, err)
			return log
		},
	}
}
