package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/store/pebblestore"
)

// fakeHolder listens on the socket of a store, and does with each connection, once it has asked something, what
// answer says.
func (s *shell) fakeHolder(store string, answer func(c net.Conn)) {
	s.t.Helper()
	path := s.path(store) + "/control.sock"
	_ = os.Remove(path)
	short, err := os.MkdirTemp("", "a") // a socket's path must be short
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = os.RemoveAll(short) })
	l, err := net.Listen("unix", short+"/s")
	require.NoError(s.t, err)
	require.NoError(s.t, os.Rename(short+"/s", path))
	s.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.t.Cleanup(func() { _ = c.Close() })
			go func() {
				defer c.Close()
				_, _ = c.Read(make([]byte, 4096))
				answer(c)
			}()
		}
	}()
}

// endless writes a text until nobody reads it any more.
func endless(c net.Conn, text string) {
	for {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

// TestGarbageOnTheSocket: what answers on the socket is no axishost. Where it has the store's lock as well,
// commands say in time that the store is in use; where it does not, they take the store.
func TestGarbageOnTheSocket(t *testing.T) {
	const inUse = `^opening the log in "[a-z-]+": store: in use by another process`
	s := newShell(t)
	s.succeeds("run --model script:one.yaml one --store store")
	copied := func(t *testing.T, name string) *shell {
		t.Parallel()
		require.NoError(t, os.CopyFS(s.path(name), os.DirFS(s.path("store"))))
		return s.in(t)
	}
	s.env = append(s.env, "AXISHOST_STORE_WAIT=200ms")
	fakes := []struct {
		name string
		do   func(c net.Conn)
		says string // while it has the lock as well
	}{
		{"junk", func(c net.Conn) { _, _ = io.WriteString(c, "\x00\x01junk\n\n") }, inUse + `, which does not serve it to others; end the axishost that has it, or name another directory \(--store or AXISHOST_STORE\)$`},
		{"closes at once", func(net.Conn) {}, inUse + `, which does not serve it to others; end`},
		{"endless body", func(c net.Conn) { endless(c, "HTTP/1.1 200 OK\r\n\r\n          ") }, inUse + `, which does not serve it to others; end`},
		{"endless header", func(c net.Conn) { endless(c, "HTTP/1.1 200 OK\r\nX: y\r\n") }, inUse + `, which does not serve it to others; end`},
		{"another protocol", func(c net.Conn) {
			const hello = `{"protocol":99,"version":"v9.9.9","pid":4711}`
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(hello), hello)
		}, inUse + `: process 4711 has it \(axishost v9\.9\.9\) and speaks version 99 of the protocol, this one speaks 1; use the same version, or wait until it ends; `},
	}
	for _, fake := range fakes {
		t.Run(fake.name, func(t *testing.T) {
			store := strings.ReplaceAll(fake.name, " ", "-")
			s := copied(t, store)
			holder, err := pebblestore.Open(s.path(store), pebblestore.Options{})
			require.NoError(t, err)
			s.fakeHolder(store, fake.do)
			s.refuses(store, fake.says)
			require.NoError(t, holder.Close())
			if fake.name == "another protocol" {
				require.NoError(t, os.Remove(s.path(store)+"/control.sock"))
			}
			s.whole(store, 1)
		})
	}
	t.Run("silence", func(t *testing.T) { // as of a process that hangs
		s, end := copied(t, "silent"), make(chan struct{})
		defer close(end)
		s.fakeHolder("silent", func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			<-end
		})
		s.refuses("silent", fmt.Sprintf(`%s: process %d has it and does not answer; end it \(kill -9 %[2]d\), or name another directory \(--store or AXISHOST_STORE\)$`, inUse, os.Getpid()))
		require.NoError(t, os.Remove(s.path("silent")+"/control.sock"))
		s.whole("silent", 1)
	})
}
