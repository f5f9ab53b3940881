package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write puts text into a file and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// serve runs a server for a script called demo.yaml.
func serve(t *testing.T, text string) *Server {
	t.Helper()
	s, err := Parse(strings.NewReader(text), "demo.yaml")
	require.NoError(t, err)
	server, err := Serve(s)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}
