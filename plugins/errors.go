package plugins

import (
	"fmt"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/hostfn"
)

// RefusalClass says what kind of check a plugin failed.
type RefusalClass string

// The classes of refusal, in the order in which the checks are made.
const (
	RefusedFormat  RefusalClass = "format"  // no module, no plugin, or a bad manifest
	RefusedVersion RefusalClass = "version" // needs an ABI, an operation or a hook that this host has not
	RefusedImport  RefusalClass = "import"  // its boundary: imports, exports, or more memory than its manifest asks for
	RefusedGrant   RefusalClass = "grant"   // needs more than it is given
)

// RefusedError says why a file is not run as a plugin. No code of it has run.
type RefusedError struct {
	Class RefusalClass // empty: there was no file to be judged
	// Plugin names it: its manifest's name and version, else what the caller called it.
	Plugin string
	// Name is its manifest's name, or its file's where that was not read, empty when neither is known; Digest is
	// the SHA-256 of the file in hexadecimal, empty when it could not be read whole.
	Name, Digest string
	// Reasons are all that were found at the first check that failed, sorted, one line each.
	Reasons []string
}

// Error is one line: what is refused, and why.
func (e *RefusedError) Error() string { return fmt.Sprintf("plugin %s %s", e.Plugin, e.Reason()) }

// Reason is the first 20 reasons on one line.
func (e *RefusedError) Reason() string {
	const most = 20
	reasons, more := e.Reasons, ""
	if n := len(reasons) - most; n > 0 {
		reasons, more = reasons[:most], fmt.Sprintf("; and %d more", n)
	}
	return strings.Join(reasons, "; ") + more
}

// FaultKind is a way in which a call can fail.
type FaultKind int

// The ways in which a call can fail.
const (
	FaultTrap       FaultKind = iota + 1 // it did what it must not, and was stopped
	FaultPanic                           // its language runtime gave up, and said why
	FaultExit                            // it ended itself in the middle of a call
	FaultTimeout                         // its deadline passed
	FaultFailed                          // it returned an error code
	FaultBadOutput                       // it decided, and its output is not what the hook gives
	FaultUndeclared                      // it was asked for what its manifest does not declare, and not called
	FaultInstance                        // no instance of it can be made, such as with data past the end of its memory
)

func (k FaultKind) String() string {
	return [...]string{"unknown", "trap", "panic", "exit", "timeout", "failed", "bad_output", "undeclared", "instance"}[k]
}

// CallError says how a call of a guest failed. The instance, where there was one, is gone; the next call works.
type CallError struct {
	Plugin string
	Hook   abi.Hook // empty for _initialize
	Tool   string   // which was asked, empty for hooks of a recipe; printable
	Kind   FaultKind
	// Code is the guest's own, with FaultFailed.
	Code abi.Code
	// Text is one printable line: the guest's message, or what stopped it.
	Text string
	// Frames is the guest's stack, innermost first, where there is one.
	Frames []string
}

func (e *CallError) Error() string {
	what := string(e.Hook)
	if what == "" {
		what = abi.InitExport
	}
	switch e.Kind {
	case FaultTrap:
		return fmt.Sprintf("plugin %q: %s trapped: %s", e.Plugin, what, e.Text)
	case FaultPanic:
		return fmt.Sprintf("plugin %q: %s panicked: %s", e.Plugin, what, e.Text)
	case FaultExit, FaultTimeout, FaultUndeclared:
		return fmt.Sprintf("plugin %q: %s %s", e.Plugin, what, e.Text)
	case FaultInstance:
		return fmt.Sprintf("plugin %q cannot be instantiated: %s", e.Plugin, e.Text)
	case FaultBadOutput:
		return fmt.Sprintf("plugin %q: %s gave bad output: %s", e.Plugin, what, e.Text)
	default:
		return fmt.Sprintf("plugin %q: %s failed (%s): %s", e.Plugin, what, e.Code, e.Text)
	}
}

// Unwrap gives ErrUndeclared for what was not declared.
func (e *CallError) Unwrap() error {
	if e.Kind == FaultUndeclared {
		return ErrUndeclared
	}
	return nil
}

// Printable makes text that came from a guest, a model or a tool fit to be shown on one line: at most limit
// bytes of it, with control and formatting characters written as escapes and what is not UTF-8 as U+FFFD, so
// that it can neither forge a line nor drive a terminal.
func Printable(text string, limit int) string {
	if len(text) <= limit && isPlain(text) {
		return text
	}
	return hostfn.Printable([]byte(text), limit)
}

// isPlain tells whether text is all printable ASCII, which most is, and which lists of tasks have much of.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
