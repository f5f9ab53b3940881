package abi

import "strconv"

// Code is what a function of this contract returns. Negative values are errors; the list is append-only
// and a number never changes its meaning.
type Code int32

// What a hook returns when it did not fail.
const (
	// CodeNoDecision says that the host's default holds (keyword lists, prompts).
	CodeNoDecision Code = 0
	// CodeDecided says that the output decides. Without output it is CodeBadOutput.
	CodeDecided Code = 1
)

// Errors, of host functions and of hooks.
const (
	CodeInvalid     Code = -1  // an argument is not what the function takes
	CodeNoSpace     Code = -2  // past the output limit; what was written before stays
	CodeUnknown     Code = -3  // the host does not know the operation
	CodeDenied      Code = -4  // the host knows the operation and it was not granted
	CodeBadHandle   Code = -5  // the handle is not open
	CodeTooMany     Code = -6  // all response handles are in use
	CodeTooLarge    Code = -7  // a length is past its limit
	CodeTimeout     Code = -8  // the call's deadline passed
	CodeCanceled    Code = -9  // the call was cancelled
	CodeIO          Code = -10 // the outside world failed
	CodeBadInput    Code = -11 // the hook could not read its input
	CodeBadOutput   Code = -12 // the hook decided and gave no output, or one of the wrong form
	CodeUnsupported Code = -13 // the guest does not implement what it was asked
	CodeFailed      Code = -14 // the guest failed; error_set has the text
	CodeNotNow      Code = -15 // the function may not be called at this point, such as during _initialize
)

// String gives the code's name in SPEC.md, or its number when this version does not know it.
func (c Code) String() string {
	names := [...]string{
		"no_decision", "invalid", "no_space", "unknown", "denied", "bad_handle", "too_many", "too_large",
		"timeout", "canceled", "io", "bad_input", "bad_output", "unsupported", "failed", "not_now",
	}
	switch i := -int64(c); {
	case c == CodeDecided:
		return "decided"
	case i >= 0 && i < int64(len(names)):
		return names[i]
	default:
		return "code " + strconv.Itoa(int(c))
	}
}

// Error makes a negative code an error, so that callers can ask errors.Is(err, abi.CodeDenied).
func (c Code) Error() string { return c.String() }

// Answers of host_has.
const (
	OperationUnknown Code = 0 // the host does not know the operation
	OperationDenied  Code = 1 // known, but not granted to this plugin
	OperationGranted Code = 2 // known and granted
)

// LogLevel is the severity of a guest's log line. The host decides what becomes of it.
type LogLevel int32

// The levels of log. Other values are CodeInvalid.
const (
	LogDebug LogLevel = 0
	LogInfo  LogLevel = 1
	LogWarn  LogLevel = 2
	LogError LogLevel = 3
)

// EmitKind says what a chunk given to output_emit is.
type EmitKind int32

// The kinds of output_emit. Other values are CodeInvalid.
const (
	EmitProgress EmitKind = 0 // a line about how far the call is, for people
	EmitChunk    EmitKind = 1 // a piece of the result, before it is whole
)
