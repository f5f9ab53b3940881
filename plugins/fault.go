package plugins

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/hostfn"
	"github.com/axishost/axishost/plugins/internal/wasi"
	"github.com/axishost/axishost/plugins/internal/wasmrt"
)

// maxFaultText bounds the guest's message in an error: one line on a terminal.
const maxFaultText = 500

func (p *Plugin) callError(hook abi.Hook, kind FaultKind, text string) *CallError {
	return &CallError{Plugin: p.manifest.Name, Hook: hook, Kind: kind, Text: hostfn.Printable([]byte(text), maxFaultText)}
}

// fault makes of what ended a guest's call a *CallError, or gives the caller's own end of ctx. world holds
// what the guest wrote to standard output and error: a language runtime that gives up explains itself there.
func (p *Plugin) fault(ctx context.Context, hook abi.Hook, err error, world *wasi.World) error {
	if errors.Is(err, ErrClosed) {
		return p.closedError()
	}
	if errors.Is(err, errDeadline) {
		text := strings.TrimPrefix(err.Error(), errDeadline.Error()+": ")
		return p.callError(hook, FaultTimeout, text)
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		return fmt.Errorf("plugin %q: %w", p.manifest.Name, err)
	}
	var unstarted *wasmrt.InstantiateError
	if errors.As(err, &unstarted) {
		return p.callError(hook, FaultInstance, unstarted.Reason)
	}
	var exit *wasmrt.Exit
	var trap *wasmrt.Trap
	var e *CallError
	full := false // not a page is left of its memory
	switch {
	case errors.As(err, &exit):
		e = p.callError(hook, FaultExit, exit.Error()+" in the middle of the call")
	case errors.As(err, &trap):
		e = p.callError(hook, FaultTrap, trap.Reason)
		full = trap.MemoryBytes+abi.PageBytes > p.memoryLimit
		for _, frame := range trap.Frames {
			e.Frames = append(e.Frames, hostfn.Printable([]byte(frame), maxFaultText))
		}
	default:
		return fmt.Errorf("plugin %q: %w", p.manifest.Name, err)
	}
	if world != nil {
		explain(e, string(world.Said()))
	}
	if full || strings.Contains(e.Text, "out of memory") || strings.Contains(e.Text, "memory allocation of ") { // as Go and Rust say
		e.Text += fmt.Sprintf(" (its memory is capped at %s: %s)", size(p.memoryLimit), p.memoryOwner())
	}
	return e
}

// memoryOwner says who can give the plugin more memory.
func (p *Plugin) memoryOwner() string {
	if p.opts.MemoryBytes == p.memoryLimit {
		return "limits.plugin_memory_bytes"
	}
	return "limits.memory_bytes in the manifest"
}

// outputOwner says who can let the plugin give more.
func (p *Plugin) outputOwner() string {
	if p.opts.OutputBytes == int64(p.outputLimit) {
		return "limits.plugin_output_bytes"
	}
	return "limits.output_bytes in the manifest"
}

// explain adds what the guest wrote before it died.
func explain(e *CallError, said string) {
	message, panicked := panicText(said)
	message = hostfn.Printable([]byte(message), maxFaultText)
	switch {
	case panicked:
		e.Kind, e.Text = FaultPanic, message
	case message != "":
		e.Text += " (it wrote: " + message + ")"
	}
}

// withErrorText adds what the guest had given to error_set before it died.
func withErrorText(err error, text string) error {
	var call *CallError
	if text != "" && errors.As(err, &call) {
		call.Text += " (its error text: " + hostfn.Printable([]byte(text), maxFaultText) + ")"
	}
	return err
}

// panicText finds the message in what a language runtime wrote before it gave up, by the marks of Go and of
// Rust. Without one it gives the last line that is not blank, which may be about anything.
func panicText(said string) (text string, panicked bool) {
	for _, mark := range []string{"panic: ", "fatal error: ", " panicked at "} {
		_, text, found := strings.Cut(said, mark)
		if !found {
			continue
		}
		for _, end := range []string{"\n\ngoroutine ", "\n\nruntime ", "\nnote: run with "} {
			text, _, _ = strings.Cut(text, end)
		}
		return strings.TrimSpace(text), true
	}
	said = strings.TrimSpace(said)
	return strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:]), false
}

// size writes a size in memory for people.
func size(bytes int64) string {
	switch {
	case bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
