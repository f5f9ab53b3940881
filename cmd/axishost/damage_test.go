package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// harm is one way to damage a file.
type harm struct {
	name string
	do   func(t *testing.T, path string, size int)
}

// harms are the ways that the tests know: whole files, and bits at offsets all over one.
func harms() []harm {
	change := func(f func(b []byte) []byte) func(*testing.T, string, int) {
		return func(t *testing.T, path string, _ int) {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, f(b), 0o600))
		}
	}
	all := []harm{
		{"removed", func(t *testing.T, path string, _ int) { require.NoError(t, os.Remove(path)) }},
		{"emptied", change(func([]byte) []byte { return nil })},
		{"cut to half", change(func(b []byte) []byte { return b[:len(b)/2] })},
		{"cut by one", change(func(b []byte) []byte { return b[:max(0, len(b)-1)] })},
	}
	const places = 8
	for i := range places {
		all = append(all, harm{fmt.Sprintf("bit at %d of %d", i, places-1), change(func(b []byte) []byte {
			if len(b) > 0 {
				b[i*(len(b)-1)/(places-1)] ^= 1 << i
			}
			return b
		})})
	}
	return all
}

// wholeStore is a store at rest with tasks in several tables.
func wholeStore(s *shell, tasks int) {
	s.t.Helper()
	s.write("lines.yaml", longScript(s.t, 3, 2000))
	for i := range tasks {
		s.succeeds(fmt.Sprintf("run --model script:lines.yaml task%d --store whole", i))
	}
	s.whole("whole", tasks)
}

// TestDamagedFile damages each file of a store in every way. Each command then works or is refused, in time and
// with one line; none loses anything in silence; and with the file as it was the store is whole.
func TestDamagedFile(t *testing.T) {
	s := newShell(t)
	const tasks = 3
	wholeStore(s, tasks)
	healthy := s.doctor("whole")
	files, err := os.ReadDir(s.path("whole"))
	require.NoError(t, err)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		if f.Name() == "LOCK" || !info.Mode().IsRegular() {
			continue
		}
		for i, h := range harms() {
			if info.Size() == 0 && h.name != "removed" {
				continue
			}
			t.Run(f.Name()+" "+h.name, func(t *testing.T) {
				t.Parallel()
				s := s.in(t)
				name := fmt.Sprintf("%s-%d", f.Name(), i)
				require.NoError(t, os.CopyFS(s.path(name), os.DirFS(s.path("whole"))))
				path := filepath.Join(s.path(name), f.Name())
				h.do(t, path, int(info.Size()))
				s.damaged(name, tasks, healthy)
				before, err := os.ReadFile(filepath.Join(s.path("whole"), f.Name()))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, before, 0o600))
				t.Log(s.doctor(name))
			})
		}
	}
}

// in gives the shell for a test below its own.
func (s *shell) in(t *testing.T) *shell {
	below := *s
	below.t = t
	return &below
}

// report is what doctor --json prints.
type report struct {
	Tasks, Events, Modules int
	Bytes                  int64
	Damage                 []struct{ Task, What string }
}

// doctor gives what doctor finds; the zero value when it is refused.
func (s *shell) doctor(store string) (r report) {
	s.t.Helper()
	d := s.run("doctor --json --store " + store)
	if d.code != 0 {
		d.refused(exitStore, ".")
	}
	if d.out != "" {
		require.NoError(s.t, json.Unmarshal([]byte(d.out), &r))
	}
	return r
}

var innards = regexp.MustCompile(`goroutine|panic|\[recovered\]`)

// damaged runs every command on a damaged store.
func (s *shell) damaged(store string, tasks int, healthy report) {
	s.t.Helper()
	found := s.doctor(store)
	for _, words := range everyCommand {
		r := s.run(words + " --store " + store)
		s.t.Logf("%s: %d in %d ms: %s", words, r.code, r.took.Milliseconds(), strings.TrimSpace(r.err))
		require.NotRegexp(s.t, innards, r.err)
		require.Less(s.t, r.took, 20*time.Second, words)
		if r.code != 0 {
			r.refused(exitStore, ".")
			continue
		}
		switch {
		case words == "tasks list":
			require.Equal(s.t, tasks, strings.Count(r.out, " script:"), r.out)
		case strings.HasPrefix(words, "resume"):
			require.Equal(s.t, "finished\n", r.out)
		case strings.HasPrefix(words, "tasks show"):
			require.Contains(s.t, r.out, "answer   finished")
		}
	}
	s.t.Logf("%+v", found)
	if found.Tasks > 0 && len(found.Damage) == 0 {
		require.Equal(s.t, healthy, found)
	}
}
