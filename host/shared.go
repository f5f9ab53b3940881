package host

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins"
)

// sharedPlugin is a plugin that the tasks of a host which are loaded with the same bytes, configuration and limits have
// together: compiled code and what else belongs to it are there once, however many tasks wait. No state of a guest is
// shared: a tool call has an instance of its own, and a hook one that stands at its image.
type sharedPlugin struct {
	*plugins.Plugin
	contracts map[string]*contract // by tool
	// turns holds a token for each hook that may be under way, as many as the plugin has instances. Who waits here waits
	// for other tasks, and that does not count as time of the hook.
	turns chan struct{}
	key   shareKey
	ready chan struct{} // closed once it is loaded, or was not
	// Guarded by sharing.mu; failed does not change once ready is closed.
	users  int
	failed bool
}

// shareKey is what makes two loaded plugins the same.
type shareKey struct {
	digest, config string
	memory, output int64
	hook, tool     time.Duration
}

// Hook asks a hook when it is this task's turn.
func (s *sharedPlugin) Hook(ctx context.Context, hook abi.Hook, input []byte) (plugins.Answer, error) {
	if err := s.turn(ctx); err != nil {
		return plugins.Answer{}, err
	}
	defer func() { <-s.turns }()
	return s.Plugin.Hook(ctx, hook, input)
}

// Check is Hook for the check of a tool's call, which has the same instances.
func (s *sharedPlugin) Check(ctx context.Context, in abi.CheckInput) (abi.CheckResult, error) {
	if err := s.turn(ctx); err != nil {
		return abi.CheckResult{}, err
	}
	defer func() { <-s.turns }()
	return s.Plugin.Check(ctx, in)
}

// Preview is Hook for what a tool says of a call.
func (s *sharedPlugin) Preview(ctx context.Context, in abi.PreviewInput) (abi.PreviewOutput, error) {
	if err := s.turn(ctx); err != nil {
		return abi.PreviewOutput{}, err
	}
	defer func() { <-s.turns }()
	return s.Plugin.Preview(ctx, in)
}

// turn waits for this task's turn.
func (s *sharedPlugin) turn(ctx context.Context) error {
	select {
	case s.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sharing has the plugins that are loaded. Invariant: what is in loaded has users, and is ready or being loaded by one
// of them.
type sharing struct {
	mu     sync.Mutex
	loaded map[shareKey]*sharedPlugin
}

func newSharing() *sharing { return &sharing{loaded: map[shareKey]*sharedPlugin{}} }

// take gives the plugin of that key, and has load make it where nobody has it. Each taker gives it back. Where load
// fails, that is this caller's alone: the next one tries for itself, since it may have been interrupted.
func (all *sharing) take(ctx context.Context, key shareKey, load func(*sharedPlugin) error) (*sharedPlugin, error) {
	for {
		s, first := all.join(key)
		if first {
			err := load(s)
			all.settle(s, err)
			return s, err
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			all.leave(s)
			return nil, context.Cause(ctx)
		}
		if !s.failed {
			return s, nil
		}
	}
}

// join makes the caller a user of what has that key, and tells whether it is the first.
func (all *sharing) join(key shareKey) (s *sharedPlugin, first bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	s = all.loaded[key]
	if first = s == nil; first {
		s = &sharedPlugin{key: key, ready: make(chan struct{}), turns: make(chan struct{}, runtime.GOMAXPROCS(0))}
		all.loaded[key] = s
	}
	s.users++
	return s, first
}

// settle says how the loading of s ended. What could not be loaded has no users, and the next one begins anew.
func (all *sharing) settle(s *sharedPlugin, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s.failed = err != nil; s.failed {
		delete(all.loaded, s.key)
	}
	close(s.ready)
}

// leave ends the use of s, which is closed with its last user.
func (all *sharing) leave(s *sharedPlugin) {
	all.mu.Lock()
	s.users--
	last := s.users == 0 && !s.failed
	if last {
		delete(all.loaded, s.key)
	}
	all.mu.Unlock()
	if last {
		_ = s.Close()
	}
}
