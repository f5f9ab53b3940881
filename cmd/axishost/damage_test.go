package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
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
	do   func(t *testing.T, path string)
}

// harms are the ways that the tests know: whole files, and bits at offsets all over one.
func harms() []harm {
	change := func(f func(b []byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, f(b), 0o600))
		}
	}
	all := []harm{
		{"removed", func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }},
		{"emptied", change(func([]byte) []byte { return nil })},
		{"cut to half", change(func(b []byte) []byte { return b[:len(b)/2] })},
		{"cut by one", change(func(b []byte) []byte { return b[:max(0, len(b)-1)] })},
	}
	for i := range *damagePlaces {
		all = append(all, harm{fmt.Sprintf("bit at place %d", i), change(func(b []byte) []byte {
			if len(b) > 0 {
				b[i*(len(b)-1)/(*damagePlaces-1)] ^= 1 << (i % 8)
			}
			return b
		})})
	}
	return all
}

var damagePlaces = flag.Int("damage.n", 3, "places in each file in which TestDamagedFile changes a bit, above 1")

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
	s.eachHarm("whole", "*", func(name string, s *shell, restore func()) {
		s.damaged(name, healthy)
		restore()
		after := s.doctor(name)
		require.GreaterOrEqual(s.t, after.Tasks, tasks)
		require.GreaterOrEqual(s.t, after.Events, healthy.Events)
		require.Empty(s.t, after.Damage)
	})
}

// eachHarm gives a copy of a store to try for each harm to each of its files of the pattern. restore makes that
// file what it was.
func (s *shell) eachHarm(store, pattern string, try func(name string, s *shell, restore func())) {
	files, err := os.ReadDir(s.path(store))
	require.NoError(s.t, err)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(s.t, err)
		if chosen, _ := filepath.Match(pattern, f.Name()); !chosen || f.Name() == "LOCK" || !info.Mode().IsRegular() {
			continue
		}
		before, err := os.ReadFile(filepath.Join(s.path(store), f.Name()))
		require.NoError(s.t, err)
		minor := strings.HasPrefix(f.Name(), "OPTIONS") || f.Name() == "manifest.sum"
		for i, h := range harms() {
			if len(before) == 0 && h.name != "removed" || minor && i%2 == 1 {
				continue
			}
			s.t.Run(f.Name()+" "+h.name, func(t *testing.T) {
				t.Parallel()
				s := s.in(t)
				name := fmt.Sprintf("%s-%s-%d", store, f.Name(), i)
				require.NoError(t, os.CopyFS(s.path(name), os.DirFS(s.path(store))))
				t.Cleanup(func() { _ = os.RemoveAll(s.path(name)) })
				path := filepath.Join(s.path(name), f.Name())
				h.do(t, path)
				try(name, s, func() { require.NoError(t, os.WriteFile(path, before, 0o600)) })
			})
		}
	}
}

// TestDamagedAfterKill damages the write-ahead log that a kill left in the middle of a task. What was at rest
// before is there whenever anything is; damage at the end of the log looks like what the kill cut off.
func TestDamagedAfterKill(t *testing.T) {
	s := newShell(t)
	const atRest = 2
	wholeStore(s, atRest)
	s.write("long.yaml", longScript(t, 6, 20_000))
	s.killAt("turn 4 ", "run --model script:long.yaml killed --store whole")
	require.NoError(t, os.Rename(s.path("whole"), s.path("killed")))
	_ = os.Remove(filepath.Join(s.path("killed"), "control.sock"))
	s.eachHarm("killed", "*[0-9].log", func(name string, s *shell, _ func()) {
		s.doctor(name)
		list := s.run("tasks list --json --store " + name)
		if list.code == 0 {
			require.GreaterOrEqual(s.t, strings.Count(list.out, `"succeeded"`), atRest, list.out)
		} else {
			list.refused(exitStore, damageAdvice)
		}
		resumed := s.run("resume last --model script:long.yaml --store " + name)
		if resumed.code != 0 {
			resumed.refused(exitStore, damageAdvice)
		} else {
			require.Equal(s.t, "finished\n", resumed.out)
		}
	})
}

// killAt starts a command, and kills it when a line of stderr begins with prefix.
func (s *shell) killAt(prefix, words string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), tooLong)
	defer cancel()
	cmd := s.command(ctx, words)
	stderr, err := cmd.StderrPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), prefix) {
			_ = cmd.Process.Kill()
		}
	}
	require.ErrorContains(s.t, cmd.Wait(), "killed")
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

// damageAdvice is what the error of damage says in the end.
const damageAdvice = `restore|doctor`

// damaged runs every command on a damaged store.
func (s *shell) damaged(store string, healthy report) {
	s.t.Helper()
	found := s.doctor(store)
	if found.Tasks > 0 && len(found.Damage) == 0 {
		require.Equal(s.t, healthy, found, "it is damaged, and doctor says nothing")
	}
	for _, d := range found.Damage {
		require.NotEmpty(s.t, d.Task, "%+v", found)
	}
	for _, words := range everyCommand {
		if words == "doctor" {
			continue
		}
		r := s.run(words + " --store " + store)
		require.NotRegexp(s.t, innards, r.err)
		require.Less(s.t, r.took, 20*time.Second, words)
		switch {
		case r.code != 0:
			r.refused(exitStore, damageAdvice)
		case words == "tasks list":
			require.Equal(s.t, healthy.Tasks, strings.Count(r.out, " script:"), r.out)
		case strings.HasPrefix(words, "resume"):
			require.Equal(s.t, "finished\n", r.out)
		case strings.HasPrefix(words, "tasks show"):
			require.Contains(s.t, r.out, "answer   finished")
		}
	}
}
