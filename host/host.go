package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
)

// Event is one event of a task, as Events.Committed and Read give it.
type Event = event.Event

// Config is what a task pins of its configuration.
type Config = core.Config

// Model answers requests. *model.Client is one.
type Model interface {
	Complete(ctx context.Context, req model.Request, progress func(model.Progress)) (*model.Reply, error)
}

// Runners knows which tasks are being run on this machine, and by which process. *control.Log is one.
type Runners interface {
	// Begin says that this process runs a task, until end is called; an error when another process does.
	Begin(ctx context.Context, task string) (end func(), err error)
	Running(ctx context.Context) (map[string]int, error)
}

// Options of Open.
type Options struct {
	// Log is where tasks live. The host does not close it.
	Log store.Log
	// Model is what tasks are run with. It may be nil for a host that only reads.
	Model Model
	// CacheDir keeps compiled plugins; empty keeps them in memory only.
	CacheDir string
	// Runners, where it is set, knows which tasks other processes run: none is then taken from them unawares.
	Runners Runners
	// Version is the host's version, pinned in each task.
	Version string
	Events  Events
}

// Events hear what a host does. Functions may be nil. Committed is called by one goroutine for each task;
// the others by several at once.
type Events struct {
	// Committed is called with each event once it is durable; Recalled, before, with those that a resumed
	// task had already.
	Committed func(*Event)
	Recalled  func(*Event)
	// Known is called where a submission's key belongs to a task already, with that task and the phase it is in: it has
	// ended, or is gone on with.
	Known func(task, phase string)
	// Compiling is called before a plugin is compiled that no cache holds.
	Compiling func(plugin string)
	// Held is called when a step waits for a resource that a step of another task has to itself, and again when what is
	// known of that task has changed.
	Held func(Holder)
	// Waiting is called while a reply streams in.
	Waiting func(model.Progress)
	// PluginLog and PluginProgress carry printable lines of guests.
	PluginLog      func(plugin string, level abi.LogLevel, text string)
	PluginProgress func(plugin, text string)
}

// Holder is who has a resource to itself.
type Holder struct {
	Resource, Task string
	// Process runs the task on this machine; 0: none that is known, so that it may have to be resumed.
	Process int
	// Waits tells that the task waits for a person to find out what it did.
	Waits bool
}

// Host runs tasks.
type Host struct {
	opts   Options
	worker string
	now    func() time.Time
	jitter func() int64
	// sharing has the plugins of the tasks that run now.
	sharing *sharing
}

// Open makes a host.
func Open(opts Options) (*Host, error) {
	if opts.Log == nil {
		return nil, errors.New("host needs a log")
	}
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	return &Host{
		opts:   opts,
		worker: fmt.Sprintf("%s:%d", name, os.Getpid()),
		now:    time.Now,
		jitter: func() int64 { return rand.Int64N(65536) },

		sharing: newSharing(),
	}, nil
}

// ErrInterrupted says that the caller ended ctx before the task ended. The task can be resumed.
var ErrInterrupted = errors.New("interrupted")

// StoppedError says that a task has halted before its end, and why. It can be resumed.
type StoppedError struct {
	Task string
	// Plugin tells that a plugin failed; otherwise it was the model or its endpoint, unless Step is set.
	Plugin bool
	// Step is which step waits for a person to find out whether it happened; 0: none.
	Step   int64
	Reason string
}

func (e *StoppedError) Error() string { return e.Reason }

// Result is how a task ended.
type Result struct {
	Task     string
	Phase    string // succeeded, partial, failed or cancelled
	Answer   string
	Verified string // by what: none or recipe
	Reason   string // why it is partial, failed or cancelled
}

// Submission is a task to be run.
type Submission struct {
	// Goal is what the task is to do: UTF-8, not blank.
	Goal string
	// ModelName is pinned in the task.
	ModelName string
	// Recipe may be nil: the base machine then runs with its defaults.
	Recipe *plugins.Inspection
	Tools  []*plugins.Inspection
	Config Config
	// Grants are what the plugins may do besides computing.
	Grants []Grant
	// Key, where it is not empty, has the submission begin one task, however often it comes: the same submission with the
	// same key is that task, which is resumed. With something else submitted it is a *KeyError. CheckKey says
	// what a key can be. A submission that is refused leaves its key free, and so does a task that is deleted.
	Key string
}
