//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axishost/axishost/host/ledgertest"
	"github.com/stretchr/testify/require"
)

var tortureKills = flag.Int("torture.kills", 0, "kills of TestTortureWrites; 0: 50")

// TestTortureWrites kills the real binary at random instants while it writes to a ledger that knows no idempotency keys,
// loses requests and replies, and is slow; and right when a request arrives there, and before a reply leaves. Other
// processes go on, also two at once on one task, and some tasks are cancelled meanwhile. In the end each task's log
// and the ledger agree: nothing was done twice, nothing that is told of as done is not there.
func TestTortureWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary and its plugins; left out with -short")
	}
	seed := *tortureSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	kills := *tortureKills
	if kills == 0 {
		kills = 50
	}
	w := newWriteTorture(t, seed)
	for trial := 0; w.kills < kills; trial++ {
		w.trial(trial)
	}
	require.Equal(t, w.judged, len(ledgertest.Of(ledgertest.Post, w.ledger.Effects())), "the ledger has what no task knows of")
	t.Logf("%d tasks (%d cancelled), %d processes, %d kills, %d of them while a write was in flight, %d unknowns, %d found, %d absent, %d refused because their lease had run out, %d entries; duplicates 0, losses 0",
		w.tasks, w.cancelled, w.processes, w.kills, w.midWrite, w.unknowns, w.found, w.absent, w.late, w.judged)
	require.Positive(t, w.midWrite, "no kill hit a write: nothing was tested")
}

// tortureScript is what each task does: writes side by side, one after the other because they share an account, and
// reads between them.
const tortureScript = `replies:
  - tool_calls:
      - {name: append, arguments: {account: cash, amount: 1}}
      - {name: append, arguments: {account: bank, amount: 2}}
      - {name: append, arguments: {account: fees, amount: 3}}
  - {tool_calls: [{name: entries, arguments: {}}], delay_ms: 5}
  - tool_calls:
      - {name: append, arguments: {account: cash, amount: 4}}
      - {name: append, arguments: {account: cash, amount: 5}}
  - tool_calls:
      - {name: append, arguments: {account: bank, amount: 6}}
      - {name: entries, arguments: {}}
  - {content: "Six are made.", delay_ms: 5}
`

// writeTorture is the world in which the binary writes and is killed.
type writeTorture struct {
	*torture
	*gate
	ledger *ledgertest.Server

	tasks, cancelled, midWrite, unknowns, found, absent, late, judged int
}

func newWriteTorture(t *testing.T, seed uint64) *writeTorture {
	w := &writeTorture{torture: &torture{t: t, random: rand.New(rand.NewPCG(seed, 2)), dir: t.TempDir(), binary: builtBinary(t)}}
	raw := filepath.Join(w.dir, "raw.wasm")
	goBuild(t, raw, "./../../recipes/ledger", "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildmode=c-shared")
	pack(t, filepath.Join(w.dir, "ledger"), raw, "../../recipes/ledger/axis.json")
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "script.yaml"), []byte(tortureScript), 0o600))
	var err error
	w.ledger, err = ledgertest.New(ledgertest.Options{Raw: true, Seed: seed})
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.ledger.Close() })
	w.gate = newGate(t, w.ledger.URL())
	for range 2 { // the first run compiles
		begun := time.Now()
		w.output("warm", w.runArgs("warm")...)
		w.whole = time.Since(begun)
	}
	w.tasks, w.judged = 2, len(ledgertest.Of(ledgertest.Post, w.ledger.Effects()))
	require.Equal(t, 12, w.judged)
	require.NoError(t, w.ledger.SetFaults(
		ledgertest.Fault{Trouble: ledgertest.DelayBefore, Method: "POST", Probability: 0.3, Delay: 15},
		ledgertest.Fault{Trouble: ledgertest.DelayAfter, Method: "POST", Probability: 0.3, Delay: 15},
		ledgertest.Fault{Trouble: ledgertest.LoseRequest, Method: "POST", Probability: 0.1},
		ledgertest.Fault{Trouble: ledgertest.LoseReply, Method: "POST", Probability: 0.1},
		ledgertest.Fault{Trouble: ledgertest.FailAfter, Method: "POST", Probability: 0.05},
		ledgertest.Fault{Trouble: ledgertest.Inconclusive, Probability: 0.1},
		ledgertest.Fault{Trouble: ledgertest.LoseReply, Method: "PUT", Probability: 0.2},
		ledgertest.Fault{Trouble: ledgertest.FailBefore, Method: "PUT", Probability: 0.1},
	))
	return w
}

// runArgs begin a task. It gives up nothing, however often it is killed: what is lost is then a loss.
func (w *writeTorture) runArgs(goal string) []string {
	return []string{
		"run", "--model", "script:" + filepath.Join(w.dir, "script.yaml"), "--tool", filepath.Join(w.dir, "ledger.wasm"),
		"--allow", "http=" + strings.TrimPrefix(w.gate.url, "http://"), "--set", "tools.ledger.url=" + w.gate.url,
		"--set", "limits.retry_base_ms=1", "--set", "limits.tool_retries=100", "--set", "limits.reconcile_tries=100",
		"--set", "limits.lease_ms=1000", "--set", "limits.tool_timeout_ms=1000", goal, // the other task waits for one that was killed
	}
}

// writeTask is one task, as it is known from outside.
type writeTask struct {
	goal, id string
	events   []string
	ended    bool
	cancel   bool // it was asked to end
}

// trial runs two tasks on one store until both have ended, through kills.
func (w *writeTorture) trial(n int) {
	store := fmt.Sprint("store", n)
	tasks := []*writeTask{{goal: "one"}, {goal: "two"}}
	for round := 0; !tasks[0].ended || !tasks[1].ended; round++ {
		require.Less(w.t, round, 50, "it does not come to an end")
		w.round(store, tasks, round)
	}
	for _, task := range tasks {
		w.judge(task)
	}
	w.output(store, "doctor")
	require.NoError(w.t, os.RemoveAll(filepath.Join(w.dir, store)))
}

// attempt is a process that works on a task, or cancels it.
type attempt struct {
	*process
	task *writeTask
	// crossed tells that another one works on the same task, so that this one may be refused.
	crossed bool
}

// round lets each task that has not ended go on, and kills some of the processes.
func (w *writeTorture) round(store string, tasks []*writeTask, round int) {
	var running []*attempt
	for _, task := range tasks {
		if task.ended {
			continue
		}
		running = append(running, w.goOn(store, task)...)
	}
	for _, a := range running {
		if round < 10 && (round == 0 || w.random.IntN(3) > 0) {
			w.killSometime(a.process)
		}
	}
	for _, a := range running {
		w.over(a)
	}
	w.gate.disarm()
	w.gate.awaitIdle()
	ids := w.ids(store)
	for _, task := range tasks {
		w.look(store, task, ids[task.goal])
	}
}

// goOn starts a process for a task: two at once sometimes, and sometimes one that cancels it.
func (w *writeTorture) goOn(store string, task *writeTask) []*attempt {
	if task.id == "" {
		return []*attempt{{process: w.start(store, w.runArgs(task.goal)...), task: task}}
	}
	all := []*attempt{{process: w.start(store, "resume", task.id), task: task}}
	if w.random.IntN(3) == 0 {
		all = append(all, &attempt{process: w.start(store, "resume", task.id), task: task})
	}
	if w.random.IntN(8) == 0 {
		task.cancel = true
		all = append(all, &attempt{process: w.start(store, "tasks", "cancel", task.id), task: task})
	}
	for _, a := range all {
		a.crossed = len(all) > 1
	}
	return all
}

// killSometime kills a process at a random instant, or at one of its next encounters with the ledger.
func (w *writeTorture) killSometime(p *process) {
	kill := func() { _ = p.cmd.Process.Signal(syscall.SIGKILL) }
	if w.random.IntN(2) == 0 {
		time.AfterFunc(time.Duration(w.random.Int64N(int64(w.whole))), kill)
		return
	}
	w.gate.arm(encounter(w.random.IntN(2)), 1+w.random.IntN(4), kill)
}

// over waits for a process, and takes up how it ended.
func (w *writeTorture) over(a *attempt) {
	err := a.cmd.Wait()
	exit, _ := err.(*exec.ExitError)
	code := a.cmd.ProcessState.ExitCode()
	switch {
	case exit != nil && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		w.kills++
	case a.crossed && (code == exitUsage || code == exitStore):
		// another one has the task, or has ended it, or has taken it over
	case code != exitSucceeded:
		require.Equal(w.t, exitCancelled, code, "%v: %s", a.cmd.Args, a.err)
		require.True(w.t, a.task.cancel, "%v: %s", a.cmd.Args, a.err)
	}
}

// look reads a task's log. What was there is there still.
func (w *writeTorture) look(store string, task *writeTask, id string) {
	if id == "" {
		require.Empty(w.t, task.id, "the task is gone")
		return
	}
	task.id = id
	lines := strings.Split(strings.TrimSpace(w.output(store, "tasks", "events", id)), "\n")
	require.GreaterOrEqual(w.t, len(lines), len(task.events), "events are lost")
	require.Equal(w.t, strings.Join(task.events, "\n"), strings.Join(lines[:len(task.events)], "\n"), "events have changed")
	task.events = lines
	last := decoded(w.t, lines[len(lines)-1]).Type
	task.ended = last == "TaskSucceeded" || last == "TaskCancelled"
}

// judge holds the log of a task that has ended against the ledger.
func (w *writeTorture) judge(task *writeTask) {
	w.tasks++
	known, claimed := map[string]string{}, false
	operations, amounts := map[int64]string{}, map[string]int64{}
	for _, line := range task.events {
		e := decoded(w.t, line)
		switch op := operations[e.Step]; e.Type {
		case "ToolRequested":
			if e.Payload.Tool == "append" {
				operations[e.Step], known[e.Payload.OperationID] = e.Payload.OperationID, "not done"
				var a struct{ Amount int64 }
				require.NoError(w.t, json.Unmarshal([]byte(e.Payload.Arguments), &a))
				amounts[e.Payload.OperationID] = a.Amount
			}
		case "Claimed":
			claimed = true
		case "ToolUnknown":
			if w.unknowns++; claimed && strings.HasPrefix(e.Payload.Reason, "the worker stopped") {
				w.midWrite++ // counted once for each claim
				claimed = false
			}
		default:
			if op != "" {
				known[op] = e.learned(known[op])
			}
		}
		if e.Type == "OperationFound" {
			w.found++
		} else if e.Type == "OperationAbsent" {
			w.absent++
		}
	}
	w.compare(task, known, amounts)
}

// compare holds what a log knows of its writes against the ledger.
func (w *writeTorture) compare(task *writeTask, known map[string]string, amounts map[string]int64) {
	made := map[string]int{}
	for _, e := range ledgertest.Of(ledgertest.Post, w.ledger.Effects()) {
		if made[e.Key]++; known[e.Key] != "" {
			w.judged++
			require.Equal(w.t, amounts[e.Key], e.Amount)
		}
	}
	for op, k := range known {
		want := map[string]int{"done": 1, "not done": 0, tooLate: 0}
		n, ok := want[k]
		require.True(w.t, ok, "task %s has ended, and nobody knows of operation %s", task.id, op)
		require.Equal(w.t, n, made[op], "entry of %d, operation %s, which is %s:\n%s", amounts[op], op, k, strings.Join(task.events, "\n"))
	}
	if strings.Contains(task.events[len(task.events)-1], `"type":"TaskCancelled"`) {
		w.cancelled++
		return
	}
	require.Len(w.t, known, 6)
	for op, k := range known {
		if k == tooLate {
			w.late++
			continue
		}
		require.Equal(w.t, "done", k, "entry of %d is lost", amounts[op])
	}
}

// logged is what is read of an event.
type logged struct {
	Type    string
	Step    int64
	Payload struct {
		Tool, Arguments, Reason, State string
		Class                          string
		OperationID                    string `json:"operation_id"`
		Write                          bool
		NothingHappened                bool `json:"nothing_happened"`
		Result                         *string
	}
}

func decoded(t *testing.T, line string) *logged {
	e := &logged{}
	require.NoError(t, json.NewDecoder(bytes.NewReader([]byte(line))).Decode(e), line)
	return e
}

// tooLate is known of a write that was refused since its lease had run out: the script does not make it again.
const tooLate = "too late"

// learned is what is known of a write after an event of it.
func (e *logged) learned(before string) string {
	switch {
	case e.Type == "HostOperation" && e.Payload.Write && e.Payload.State == "begun":
		return "unsure"
	case e.Type == "ToolSucceeded", e.Type == "OperationFound", e.Type == "CancelAcknowledged" && e.Payload.Result != nil:
		return "done"
	case e.Type == "ToolFailed" && e.Payload.Class == "conflict":
		return tooLate
	case e.Type == "ToolFailed", e.Type == "OperationAbsent", e.Type == "CancelAcknowledged" && e.Payload.NothingHappened:
		return "not done"
	}
	return before
}
