package script

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// MaxBytes bounds a script. It is written by hand; a bigger one is another file by mistake.
const MaxBytes = 1 << 20

// Script is a parsed script. It is not changed after Parse and safe for concurrent use.
type Script struct {
	Name    string // as errors call it: the path
	Replies []Reply
}

// Reply is one reply of a script.
type Reply struct {
	Content      string
	Reasoning    string
	ToolCalls    []ToolCall
	FinishReason string // "" is by shape
	Usage        *Usage // nil is not reported
	Delay        time.Duration
	HTTPStatus   int    // 0 is 200
	RetryAfter   string // raw header value; "" is none
	Expect       *Expect
}

// ToolCall is a call in a reply. Arguments are sent as they are.
type ToolCall struct {
	ID        string // "" is call_<reply>_<position>
	Name      string
	Arguments string
}

// Usage is what a reply reports as used, in tokens.
type Usage struct {
	PromptTokens     int
	CompletionTokens int
}

// Expect is what the request must look like to get the reply.
type Expect struct {
	LastRole string   // "" is any
	Contains []string // all in the last message
	Tools    []string // nil is any; empty is none offered
}

// Load parses the script at a path.
func Load(path string) (*Script, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("script %s does not exist", path)
	case err != nil:
		return nil, fmt.Errorf("script %s: %w", path, bare(err))
	case info.IsDir():
		return nil, fmt.Errorf("script %s is a directory, not a YAML file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", path, bare(err))
	}
	defer file.Close()
	return Parse(file, path)
}

// bare is the cause of an error of package os, without the path that the caller names.
func bare(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Parse parses a script; name is what errors call it.
func Parse(r io.Reader, name string) (*Script, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", name, bare(err))
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("script %s is larger than %d bytes", name, MaxBytes)
	}
	return parse(data, name)
}
