package ledgertest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// role starts this test's binary as another process.
func role(t *testing.T, role string, env ...string) (*exec.Cmd, *bufio.Reader, io.WriteCloser) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, "LEDGERTEST_ROLE="+role)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(out), in
}

// The client is killed exactly between the effect and the answer.
func TestKillBetweenEffectAndAnswer(t *testing.T) {
	happened, killed := make(chan Effect), make(chan struct{})
	s := start(t, Options{OnEffect: func(e Effect) { happened <- e; <-killed }})
	client, out, _ := role(t, "client", "LEDGERTEST_URL="+s.URL())
	assert.Equal(t, "k", (<-happened).Key)
	require.NoError(t, client.Process.Kill())
	said, err := io.ReadAll(out)
	require.NoError(t, err)
	assert.Empty(t, said, "it had no answer")
	require.Error(t, client.Wait())
	close(killed)

	assert.Equal(t, 200, must(t, s, "GET", "/entries?key=k", "", "").status)
	assert.Equal(t, 200, must(t, s, "POST", "/entries", "k", rent).status)
	assert.Len(t, s.Effects(), 1)
}

// OnRequest is the place to kill it before the effect.
func TestHooksAreInOrder(t *testing.T) {
	var mu sync.Mutex
	var order []string
	add := func(what, key string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what+" "+key)
	}
	s := start(t, Options{
		Faults:    []Fault{{Trouble: LoseReply, Method: "POST"}},
		OnRequest: add,
		OnEffect:  func(e Effect) { add(string(e.Kind), e.Key) },
	})
	_, err := ask(t, s.URL(), "POST", "/entries", "k", rent)
	require.Error(t, err)
	must(t, s, "POST", "/entries", "k", rent)
	must(t, s, "GET", "/entries?key=k", "", "")
	must(t, s, "DELETE", "/entries/e1", "v", "")
	require.NoError(t, s.Close())
	assert.Equal(t, []string{"POST k", "post k", "POST k", "GET k", "DELETE v", "void v"}, order)
}

func TestServerAsProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	server, out, in := role(t, "server", "LEDGERTEST_FILE="+file)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	base := "http://" + strings.TrimSpace(line)
	a, err := ask(t, base, "POST", "/entries", "k", rent)
	require.NoError(t, err)
	assert.Equal(t, 201, a.status)
	effects, err := ReadFile(file)
	require.NoError(t, err)
	assert.Len(t, effects, 1)

	// Its own end, when the listener is closed.
	require.NoError(t, in.Close())
	line, err = out.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "end <nil>\n", line)
	require.NoError(t, server.Wait())

	// Killed: what was answered is in the file.
	server, out, _ = role(t, "server", "LEDGERTEST_FILE="+file)
	line, err = out.ReadString('\n')
	require.NoError(t, err)
	base = "http://" + strings.TrimSpace(line)
	a, err = ask(t, base, "POST", "/entries", "k", rent)
	require.NoError(t, err)
	assert.Equal(t, 200, a.status)
	_, err = ask(t, base, "POST", "/entries", "k2", rent)
	require.NoError(t, err)
	require.NoError(t, server.Process.Kill())
	require.Error(t, server.Wait())
	effects, err = ReadFile(file)
	require.NoError(t, err)
	assert.Len(t, effects, 2)
	assert.Empty(t, Duplicates(effects))
}
