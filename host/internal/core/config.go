package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/axishost/axishost/host/internal/conv"
)

// Config is what a task pins of its configuration.
type Config struct {
	Conversation conv.Config `json:"conversation"`
	// Recipe is what config/1 answers to the recipe; Tools to each plugin of tools, by plugin name.
	Recipe map[string]any            `json:"recipe,omitempty"`
	Tools  map[string]map[string]any `json:"tools,omitempty"`
	Limits Limits                    `json:"limits"`
}

// Limits bound what a task may use. Times are in milliseconds.
type Limits struct {
	// HookTimeout bounds one hook call; ToolTimeout one tool call.
	HookTimeout int64 `json:"hook_timeout_ms"`
	ToolTimeout int64 `json:"tool_timeout_ms"`
	// PluginMemory caps the linear memory of one instance, in bytes; 0 leaves it to the manifests.
	PluginMemory int64 `json:"plugin_memory_bytes"`
	// ParallelTools is how many tool calls of one reply run at once.
	ParallelTools int64 `json:"parallel_tools"`
	// ModelRetries is how often a model call that failed for a passing reason is made again.
	ModelRetries int64 `json:"model_retries"`
	// RetryBase is the first wait before such a call; each further one doubles, up to RetryMax. An endpoint
	// that asks for a longer wait than RetryMax is not waited for.
	RetryBase int64 `json:"retry_base_ms"`
	RetryMax  int64 `json:"retry_max_ms"`
}

// DefaultConfig gives the product's defaults.
func DefaultConfig() Config {
	return Config{
		Conversation: conv.DefaultConfig(),
		Limits: Limits{
			// A hook computes over one reply: milliseconds. Two seconds is a hook that hangs.
			HookTimeout: 2_000,
			// Tools may wait for a slow service; two minutes is what most HTTP clients allow.
			ToolTimeout: 120_000,
			// Replies seldom hold more calls, and each running guest takes a few MiB.
			ParallelTools: 4,
			// Waits of 0.5, 1, 2 and 4 s: a restart or a short overload passes, a dead endpoint is soon told.
			ModelRetries: 4,
			RetryBase:    500,
			RetryMax:     60_000,
		},
	}
}

// Validate reports every problem at once.
func (c *Config) Validate() error {
	var problems []error
	if err := c.Conversation.Validate(); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			problems = append(problems, errors.New("conversation."+line))
		}
	}
	for _, l := range []struct {
		key      string
		value    int64
		min, max int64
	}{
		{"hook_timeout_ms", c.Limits.HookTimeout, 1, 600_000},
		{"tool_timeout_ms", c.Limits.ToolTimeout, 1, 3_600_000},
		{"plugin_memory_bytes", c.Limits.PluginMemory, 0, 4 << 30},
		{"parallel_tools", c.Limits.ParallelTools, 1, 64},
		{"model_retries", c.Limits.ModelRetries, 0, 100},
		{"retry_base_ms", c.Limits.RetryBase, 1, 600_000},
		{"retry_max_ms", c.Limits.RetryMax, 1, 86_400_000},
	} {
		if l.value < l.min || l.value > l.max {
			problems = append(problems, fmt.Errorf("limits.%s must be %d to %d; it is %d", l.key, l.min, l.max, l.value))
		}
	}
	return errors.Join(problems...)
}

// decodeConfig reads a pinned configuration.
func decodeConfig(raw json.RawMessage) (Config, error) {
	c := DefaultConfig()
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("pinned configuration: %w", err)
	}
	return c, c.Validate()
}
