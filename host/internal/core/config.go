package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/repair"
)

// Config is what a task pins of its configuration.
type Config struct {
	Conversation conv.Config `json:"conversation"`
	// Recipe is what config/1 answers to the recipe; Tools to each plugin of tools, by plugin name.
	Recipe map[string]any            `json:"recipe,omitempty"`
	Tools  map[string]map[string]any `json:"tools,omitempty"`
	Limits Limits                    `json:"limits"`
	// Compaction says when older messages are replaced by a summary.
	Compaction CompactionConfig `json:"compaction"`
	// Repair says how arguments that do not fit are repaired.
	Repair repair.Config `json:"argument_repair"`
	// Goal says what an answer has to be for the task to have succeeded.
	Goal GoalConfig `json:"goal,omitzero"`
}

// CompactionConfig says when and how older messages are replaced by a summary that the model writes.
type CompactionConfig struct {
	// Threshold is the estimate, in tokens, from which on the recipe's compact hook is asked, or older
	// messages are summed up; null never does. It needs conversation.context_limit.window.
	Threshold *int64 `json:"threshold_tokens"`
	// KeepRecent is how many of the latest messages stay as they are.
	KeepRecent int64 `json:"keep_recent"`
	// Prompt asks the model for the summary.
	Prompt string `json:"prompt"`
}

// Limits bound what a task may use. Times are in milliseconds.
type Limits struct {
	// HookTimeout bounds one hook call; ToolTimeout one tool call.
	HookTimeout int64 `json:"hook_timeout_ms"`
	ToolTimeout int64 `json:"tool_timeout_ms"`
	// PluginMemory caps the linear memory of one instance, in bytes; 0 leaves it to the manifests.
	PluginMemory int64 `json:"plugin_memory_bytes"`
	// PluginOutput caps what one call may give back, in bytes; 0 leaves it to the manifests.
	PluginOutput int64 `json:"plugin_output_bytes"`
	// ParallelTools is how many tool calls of one reply run at once.
	ParallelTools int64 `json:"parallel_tools"`
	// ModelRetries is how often a model call that failed for a passing reason is made again.
	ModelRetries int64 `json:"model_retries"`
	// RetryBase is the first wait before such a call; each further one doubles, up to RetryMax. An endpoint
	// that asks for a longer wait than RetryMax is not waited for.
	RetryBase int64 `json:"retry_base_ms"`
	RetryMax  int64 `json:"retry_max_ms"`
	// ToolRetries is how often a call that failed for a passing reason, or that is known not to have happened,
	// is made again, with the waits of model calls. A write is made again only when it is known not to have happened.
	ToolRetries int64 `json:"tool_retries"`
	// ReconcileTries is how often a tool is asked whether a call happened before a person is.
	ReconcileTries int64 `json:"reconcile_tries"`
	// LeaseTime is how long a step keeps the named resources that it may change to itself at most, where nobody finds out
	// what it did: then other tasks may change them. Never less than the time of the tool's call.
	LeaseTime int64 `json:"lease_ms"`
	// MaxOutputTokens is what a reply may use: the room that is kept for it in the context window.
	MaxOutputTokens int64 `json:"max_output_tokens"`
	// TokensPerTask is how many tokens, prompt and completion, the endpoint may count for the task before the
	// final turn is forced; that turn is still paid for. Null is no bound.
	TokensPerTask *int64 `json:"tokens_per_task"`
	// Calls that run: of one reply, of the task, of each tool, and of one tool with the same arguments in a
	// row. Null is no bound.
	CallsPerReply *int64 `json:"tool_calls_per_reply"`
	CallsPerTask  *int64 `json:"tool_calls_per_task"`
	CallsPerTool  *int64 `json:"tool_calls_per_tool"`
	SameArguments *int64 `json:"tool_calls_same_arguments"`
	// SameFailure is how often a call may fail in the same way, with the same arguments, before the final turn is
	// forced, whose answer is then partial. Null is no bound.
	SameFailure *int64 `json:"same_failure"`
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
			// As for the model; what still fails then is for the model to read.
			ToolRetries: 3,
			// Over 15 s with the waits above: a service that restarts has come back, and nothing is decided by guess.
			ReconcileTries: 6,
			// A call of two minutes and six probes of as long: what a worker that lives may need. Others wait so long for one
			// that has died, unless its task is gone on with.
			LeaseTime: 900_000,
			// What most models allow by default.
			MaxOutputTokens: 4096,
			// The same call with the same arguments a fourth time brings what it brought three times.
			SameArguments: new(int64(3)),
			// Twice may be a slip, four times the same is no attempt any more. Above SameArguments, whose denial it counts.
			SameFailure: new(int64(4)),
		},
		Compaction: CompactionConfig{
			// Four exchanges: what the model is in the middle of.
			KeepRecent: 8,
			Prompt: "Sum up the conversation so far, for yourself to go on from: what was asked, what was found (with exact names, " +
				"numbers and sources), what was tried without success, and what remains to be done. Write the summary alone.",
		},
		Repair: repair.DefaultConfig(),
	}
}

// reserved is the room in the window below which the final turn is forced.
func (c *Config) reserved() int64 {
	limit := &c.Conversation.ContextLimit
	if limit.Warning != nil {
		return *limit.Warning + limit.SafetyMargin
	}
	return c.Limits.MaxOutputTokens + limit.SafetyMargin
}

// Validate reports every problem at once.
func (c *Config) Validate() error {
	var problems []error
	if err := c.Conversation.Validate(); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			problems = append(problems, errors.New("conversation."+line))
		}
	}
	if err := c.Repair.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("argument_repair.%w", err))
	}
	if t := c.Compaction.Threshold; t != nil && (*t < 1 || c.Conversation.ContextLimit.Window == nil) {
		problems = append(problems, errors.New("compaction.threshold_tokens must be at least 1, and needs conversation.context_limit.window"))
	} else if w := c.Conversation.ContextLimit.Window; t != nil && *t >= *w {
		problems = append(problems, fmt.Errorf("compaction.threshold_tokens must be below the window of %d; it is %d", *w, *t))
	}
	if w, room := c.Conversation.ContextLimit.Window, c.reserved(); w != nil && *w <= room {
		problems = append(problems, fmt.Errorf("conversation.context_limit.window of %d is no more than the %d tokens kept free for a reply: lower limits.max_output_tokens", *w, room))
	}
	if c.Compaction.KeepRecent < 0 || c.Compaction.Prompt == "" {
		problems = append(problems, errors.New("compaction.keep_recent must be 0 or more, and compaction.prompt not empty"))
	}
	for _, l := range []struct {
		key   string
		value *int64
	}{
		{"tokens_per_task", c.Limits.TokensPerTask}, {"tool_calls_per_reply", c.Limits.CallsPerReply}, {"tool_calls_per_task", c.Limits.CallsPerTask},
		{"tool_calls_per_tool", c.Limits.CallsPerTool}, {"tool_calls_same_arguments", c.Limits.SameArguments},
		{"same_failure", c.Limits.SameFailure},
	} {
		if l.value != nil && *l.value < 1 {
			problems = append(problems, fmt.Errorf("limits.%s must be null or at least 1; it is %d", l.key, *l.value))
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
		{"plugin_output_bytes", c.Limits.PluginOutput, 0, abi.MaxOutputBytes},
		{"parallel_tools", c.Limits.ParallelTools, 1, 64},
		{"model_retries", c.Limits.ModelRetries, 0, 100},
		{"retry_base_ms", c.Limits.RetryBase, 1, 600_000},
		{"retry_max_ms", c.Limits.RetryMax, 1, 86_400_000},
		{"tool_retries", c.Limits.ToolRetries, 0, 100},
		{"reconcile_tries", c.Limits.ReconcileTries, 1, 100},
		{"lease_ms", c.Limits.LeaseTime, 1_000, 86_400_000},
		{"max_output_tokens", c.Limits.MaxOutputTokens, 1, 10_000_000},
	} {
		if l.value < l.min || l.value > l.max {
			problems = append(problems, fmt.Errorf("limits.%s must be %d to %d; it is %d", l.key, l.min, l.max, l.value))
		}
	}
	return errors.Join(append(problems, c.Goal.validate())...)
}

// decodeConfig reads a pinned configuration.
func decodeConfig(raw json.RawMessage) (Config, error) {
	c := DefaultConfig()
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("pinned configuration: %w", err)
	}
	return c, c.Validate()
}
