// Command durable is behind make demo-durable: a task writes three entries to an outside ledger. The ledger makes the
// second one and, instead of answering, kills the process that runs the task. The task is resumed, finds out that the
// entry was made, and goes on. In the end each entry is there once.
//
//	durable AXISHOST LEDGER.wasm STORE
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/axishost/axishost/host/ledgertest"
)

// script is what the model says.
const script = `replies:
  - content: "Two entries first."
    tool_calls: [{name: append, arguments: '{"account":"cash","amount":100,"text":"opening"}'}]
  - tool_calls: [{name: append, arguments: '{"account":"cash","amount":-30,"text":"rent"}'}]
  - tool_calls: [{name: append, arguments: '{"account":"cash","amount":5,"text":"refund"}'}]
  - content: "Three entries are in the ledger: 100, -30 and 5."
`

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: durable AXISHOST LEDGER.wasm STORE")
		os.Exit(2)
	}
	if err := demo(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "demo-durable:", err)
		os.Exit(1)
	}
}

func demo(axishost, plugin, store string) error {
	dir, err := os.MkdirTemp("", "demo-durable-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	model := filepath.Join(dir, "model.yaml")
	if err := os.WriteFile(model, []byte(script), 0o600); err != nil {
		return err
	}
	var running atomic.Pointer[os.Process]
	ledger, err := ledgertest.New(ledgertest.Options{Raw: true, OnEffect: func(e ledgertest.Effect) {
		if p := running.Load(); p != nil && e.Amount == -30 {
			say("the ledger made entry %s, and kills the host before it answers", e.ID)
			_ = p.Kill()
		}
	}})
	if err != nil {
		return err
	}
	defer func() { _ = ledger.Close() }()
	address := strings.TrimPrefix(ledger.URL(), "http://")

	say("a task is run")
	run := command(axishost, "run", "--store", store, "--model", "script:"+model, "--tool", plugin, "--allow", "http="+address,
		"--set", "tools.ledger.url="+ledger.URL(), "Book the opening, the rent and the refund")
	if err := run.Start(); err != nil {
		return err
	}
	running.Store(run.Process)
	err = run.Wait()
	running.Store(nil)
	if err == nil {
		return fmt.Errorf("the run was not killed")
	}
	say("the run: %v; the task is resumed", err)
	if err := command(axishost, "resume", "--store", store, "last").Run(); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	return judge(ledger)
}

// judge counts what happened outside.
func judge(ledger *ledgertest.Server) error {
	effects := ledgertest.Of(ledgertest.Post, ledger.Effects())
	say("the ledger, which ignores idempotency keys, has %d entries:", len(effects))
	for _, e := range effects {
		fmt.Fprintf(os.Stderr, "   %s  %5d  %s  (operation %.8s)\n", e.ID, e.Amount, e.Text, e.Key)
	}
	if twice := ledgertest.Duplicates(effects); len(effects) != 3 || len(twice) > 0 {
		return fmt.Errorf("entries are missing, or there twice: %v", twice)
	}
	return nil
}

func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "== "+format+"\n", args...) }
