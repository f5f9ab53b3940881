//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	tortureTrials = flag.Int("torture.n", 3, "trials of TestTorture")
	tortureSeed   = flag.Uint64("torture.seed", 0, "seed of TestTorture; 0: one of the time")
)

// TestTorture kills the real binary at random instants, and resumes, again and again. In each trial two
// terminals run a task each on one store, so that the process that has the store is killed as well as the one
// that works through it. What the tools did is held against a record outside of the log: each execution is in
// the terminal's output before anything else of it.
func TestTorture(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary and its plugins; left out with -short")
	}
	seed := *tortureSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	w := newTorture(t, rand.New(rand.NewPCG(seed, 1)))
	for trial := range *tortureTrials {
		w.trial(trial)
	}
	t.Logf("seed %d: %d trials, %d processes, %d killed (%d while they had the store), %d executions of tools, "+
		"%d cut off and done again, lost events 0, repeated completed calls 0", seed, *tortureTrials, w.processes, w.kills, w.holders.Load(), w.executions, w.again)
	require.Positive(t, w.kills, "no kill hit: nothing was tested")
}

// torture is the world in which the binary is killed.
type torture struct {
	t       *testing.T
	random  *rand.Rand
	dir     string
	binary  string
	plugins string
	whole   time.Duration // of a run that nobody kills

	processes, kills, executions, again int
	holders                             atomic.Int64 // killed while they had the store
}

// told is what is known of one task from outside.
type told struct {
	goal     string
	events   []string        // as they were when they were last read
	executed map[string]int  // executions, by operation
	done     map[string]bool // operations that the log has completed
	answered bool
}

func newTorture(t *testing.T, random *rand.Rand) *torture {
	w := &torture{t: t, random: random, dir: t.TempDir()}
	w.binary, w.plugins = builtBinary(t), filepath.Join(w.dir, "plugins")
	require.NoError(t, os.Mkdir(w.plugins, 0o700))
	for name, source := range map[string]string{"boxed": "../../recipes/boxed", "witness": "./testdata/guests/witness"} {
		raw := filepath.Join(w.plugins, name+".raw.wasm")
		goBuild(t, raw, "./"+source, "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildmode=c-shared")
		pack(t, filepath.Join(w.plugins, name), raw, filepath.Join(source, "axis.json"))
	}
	for range 2 { // the first run compiles
		begun := time.Now()
		p := w.start("warm", w.runArgs("warm")...)
		require.NoError(t, p.cmd.Wait(), "%s", p.err)
		w.whole = time.Since(begun)
	}
	return w
}

func (w *torture) runArgs(goal string) []string {
	return []string{"run", "--recipe", filepath.Join(w.plugins, "boxed.wasm"), "--tool", filepath.Join(w.plugins, "witness.wasm"),
		"--model", "script:testdata/torture.yaml", "--set", "limits.parallel_tools=2", goal}
}

// process is one axishost.
type process struct {
	cmd      *exec.Cmd
	out, err *bytes.Buffer
}

// start starts axishost on a store.
func (w *torture) start(store string, args ...string) *process {
	p := &process{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	p.cmd = exec.Command(w.binary, append(args, "--store", filepath.Join(w.dir, store))...)
	p.cmd.Env = []string{"HOME=" + w.dir, "AXISHOST_CACHE=" + filepath.Join(w.dir, "cache")}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	require.NoError(w.t, p.cmd.Start())
	w.processes++
	return p
}

// output runs a command to its end, which must be a good one.
func (w *torture) output(store string, args ...string) string {
	p := w.start(store, args...)
	require.NoError(w.t, p.cmd.Wait(), "%v: %s", args, p.err)
	return p.out.String()
}

// trial runs two tasks on one store until both have their answer, through kills.
func (w *torture) trial(n int) {
	store := fmt.Sprint("store", n)
	tasks := []*told{newTold("one"), newTold("two")}
	for round := 0; !tasks[0].answered || !tasks[1].answered; round++ {
		require.Less(w.t, round, 50, "it does not come to an end")
		w.round(store, tasks, round)
	}
	w.output(store, "doctor")
	require.NoError(w.t, os.RemoveAll(filepath.Join(w.dir, store)))
}

func newTold(goal string) *told {
	return &told{goal: goal, executed: map[string]int{}, done: map[string]bool{}}
}

// round lets each task that has no answer go on, and kills some of the processes at random instants.
func (w *torture) round(store string, tasks []*told, round int) {
	ids := w.ids(store)
	running := make([]*process, len(tasks))
	for i, task := range tasks {
		switch id := ids[task.goal]; {
		case task.answered:
		case id == "":
			require.Empty(w.t, task.events, "the task is gone")
			running[i] = w.start(store, w.runArgs(task.goal)...)
		default:
			running[i] = w.start(store, "resume", id)
		}
	}
	for _, p := range running {
		if p != nil && (round < 1 || w.random.IntN(3) > 0) && round < 8 {
			time.AfterFunc(time.Duration(w.random.Int64N(int64(w.whole))), func() {
				if w.holder(store) == p.cmd.Process.Pid {
					w.holders.Add(1)
				}
				_ = p.cmd.Process.Signal(syscall.SIGKILL)
			})
		}
	}
	for i, p := range running {
		if p != nil {
			w.ended(store, tasks[i], p)
		}
	}
}

// holder gives the process that has a store; 0 when there is none.
func (w *torture) holder(store string) int {
	web := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(w.dir, store, "control.sock"))
		}}}
	resp, err := web.Get("http://store/hello")
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	var hello struct{ PID int }
	_ = json.NewDecoder(resp.Body).Decode(&hello)
	return hello.PID
}

// ids gives the tasks of a store by their goal.
func (w *torture) ids(store string) map[string]string {
	var tasks []struct{ ID, Task string }
	require.NoError(w.t, json.Unmarshal([]byte(w.output(store, "tasks", "list", "--json")), &tasks))
	ids := map[string]string{}
	for _, task := range tasks {
		require.Empty(w.t, ids[task.Task], "a task was begun twice")
		ids[task.Task] = task.ID
	}
	return ids
}

var (
	executedLine  = regexp.MustCompile(`(?m)^log +witness: executed ([0-9a-f]+)$`)
	completedLine = regexp.MustCompile(`(?m)^tool +note .* in .*: noted [a-g]$`)
)

// ended holds what a process did, and what it said, against the log.
func (w *torture) ended(store string, task *told, p *process) {
	t, said := w.t, p.err.String
	err := p.cmd.Wait()
	if exit, ok := err.(*exec.ExitError); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		w.kills++
	} else {
		require.NoError(t, err, "%s", said())
		require.Equal(t, "42\n", p.out.String())
		task.answered = true
	}
	for _, m := range executedLine.FindAllStringSubmatch(said(), -1) {
		require.False(t, task.done[m[1]], "operation %s was completed, and was executed again:\n%s", m[1], said())
		w.executions++
		if task.executed[m[1]]++; task.executed[m[1]] > 1 {
			w.again++
		}
	}
	before := len(task.done)
	w.read(store, task)
	completed := len(completedLine.FindAllString(said(), -1))
	require.GreaterOrEqual(t, len(task.done)-before, completed, "a result that was shown is lost:\n%s", said())
	require.LessOrEqual(t, len(task.done), len(task.executed), "a result without an execution")
}

// read reads a task's events. What was there is there still.
func (w *torture) read(store string, task *told) {
	id := w.ids(store)[task.goal]
	if id == "" {
		require.Empty(w.t, task.events)
		return
	}
	events := strings.Split(strings.TrimSpace(w.output(store, "tasks", "events", id)), "\n")
	require.GreaterOrEqual(w.t, len(events), len(task.events), "events are lost")
	require.Equal(w.t, strings.Join(task.events, "\n"), strings.Join(events[:len(task.events)], "\n"), "events have changed")
	task.events = events
	operations := map[int64]string{}
	for _, line := range events {
		var e struct {
			Type    string
			Step    int64
			Payload struct {
				OperationID string `json:"operation_id"`
			}
		}
		require.NoError(w.t, json.Unmarshal([]byte(line), &e))
		switch e.Type {
		case "ToolRequested":
			operations[e.Step] = e.Payload.OperationID
		case "ToolSucceeded":
			task.done[operations[e.Step]] = true
		}
	}
}
