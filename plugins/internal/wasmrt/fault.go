package wasmrt

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/sys"
)

// Trap says that a guest did what it must not: an unreachable instruction, an access out of bounds, a stack
// that grew too deep, or a misuse of a host function.
type Trap struct {
	Reason string
	// Frames is the guest's stack, innermost first, as far as the module names its functions.
	Frames []string
	// MemoryBytes is the size of its linear memory then; 0 in the initialiser.
	MemoryBytes int64
}

func (t *Trap) Error() string { return t.Reason }

// Exit says that a guest ended itself, by proc_exit.
type Exit struct{ Code uint32 }

func (e *Exit) Error() string { return fmt.Sprintf("exited with code %d", e.Code) }

// InstantiateError says that no instance of a module can be made, such as with data past the end of its memory. No code
// of it has run.
type InstantiateError struct{ Reason string }

func (e *InstantiateError) Error() string { return "cannot be instantiated: " + e.Reason }

// maxStackBytes is wazero's: a stack that is as large grows no more. Its last step may lead past it, not to more
// than twice as much.
const maxStackBytes = 50_000_000

// fault makes of wazero's error one of: ctx's own, *Exit, *Trap.
func fault(ctx context.Context, err error) error {
	var exit *Exit
	if errors.As(err, &exit) {
		return exit
	}
	var closed *sys.ExitError
	if errors.As(err, &closed) {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return &Exit{Code: closed.ExitCode()}
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) { // of a host function: see adapt
		return cause
	}
	reason, stack, _ := strings.Cut(err.Error(), "\nwasm stack trace:\n")
	reason = strings.TrimSuffix(strings.TrimPrefix(reason, "wasm error: "), " (recovered by wazero)")
	var trap *Trap
	switch {
	case errors.As(err, &trap):
		reason = trap.Reason
	case reason == "stack overflow":
		reason += fmt.Sprintf(": calls nested past the %d MB of stack that a guest may use", maxStackBytes/1_000_000)
	}
	return &Trap{Reason: reason, Frames: frames(stack)}
}

// A stack is shown to people: its innermost functions, each with as many of its parameters as a line has room for.
// wazero gives 30.
const (
	maxFrames     = 30
	maxFrameBytes = 200
)

// frames reads the guest's functions out of wazero's stack trace, and leaves out the host's own. Names are the
// guest's: what is compiled has short ones on one line (wasmbin.Strip), and nothing here relies on that.
func frames(stack string) []string {
	stack, _, _ = strings.Cut(stack, "\n\n")
	var out []string
	for line := range strings.Lines(stack) {
		if len(out) == maxFrames {
			break
		}
		if line = strings.TrimPrefix(strings.TrimSpace(line), "."); line != "" {
			out = append(out, clip(line))
		}
	}
	return out
}

// clip shortens a frame, in memory of its own: it must not hold the whole trace.
func clip(frame string) string {
	if len(frame) <= maxFrameBytes {
		return strings.Clone(frame)
	}
	return strings.ToValidUTF8(frame[:maxFrameBytes], "") + "…"
}
