package conv

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/axishost/axishost/host/internal/event"
)

// Strategies of format errors.
const (
	StrategyIgnore   = "ignore"
	StrategyReprompt = "reprompt"
	StrategyRollback = "rollback"
)

// Config is the configuration of a conversation. Its keys are those of the manifest's conversation object
// and of the configuration file.
type Config struct {
	// SystemPrompt is the first message; null or empty sends none.
	SystemPrompt *string `json:"system_prompt"`
	// UserPromptTemplate makes the second message of the task: {task} stands for it, {{ and }} for braces.
	UserPromptTemplate string `json:"user_prompt_template"`
	// EarlyStopPrompt announces a forced final turn; null announces nothing.
	EarlyStopPrompt *string `json:"early_stop_announcement_prompt"`
	// FinalResponsePrompt asks for the final answer after a reply that would complete; null asks nothing.
	FinalResponsePrompt *string `json:"final_response_prompt"`
	// FinalPromptOnce asks for it once in a conversation, not again after each tool round.
	FinalPromptOnce bool `json:"final_prompt_once"`
	// MaxTurns bounds the model's turns, the forced one included; null is no bound.
	MaxTurns *int64 `json:"max_turns"`
	// StrictTurnLimit forces the final turn from MaxTurns on, not only exactly at it.
	StrictTurnLimit bool `json:"strict_turn_limit"`
	// MaxGoalRetries is how often an answer that verify rejects is sent back.
	MaxGoalRetries int64             `json:"max_goal_retries"`
	FormatError    FormatErrorConfig `json:"format_error"`
	Rollback       RollbackConfig    `json:"assistant_rollback"`
	ContextLimit   ContextConfig     `json:"context_limit"`
	// ProtectTask keeps the task itself from being hidden when the context window is full.
	ProtectTask bool `json:"protect_task_message"`
	// AggregateRejected puts the results of rejected calls that say the same into one message.
	AggregateRejected bool `json:"agg_reject_tool_message"`
	// KeepCalls hides, when the context window is full, only the results of the latest calls, not the calls.
	KeepCalls bool `json:"context_rollback_keeps_calls"`
	// SilentFinal forces the final turn without a word, and without hiding anything.
	SilentFinal bool `json:"silent_finalization"`
	// ToolResultRole is the role that results are sent in: tool, or user for endpoints that take no tool
	// messages; calls and results are then told as text.
	ToolResultRole string `json:"tool_result_role"`
	// KeepToolResults is how many tool results, from the latest, are shown to the model whole; -1 is all.
	KeepToolResults int64 `json:"keep_tool_result"`
}

// ContextConfig says how full the context window may become, in tokens.
type ContextConfig struct {
	// Window is the model's; null checks nothing.
	Window *int64 `json:"window"`
	// SafetyMargin is kept free besides.
	SafetyMargin int64 `json:"safety_margin"`
	// MinGeneration is the room that a reply needs at least; 0 does not look.
	MinGeneration int64 `json:"min_tokens_for_generation"`
	// SpareAnswers leaves the reply that ends the conversation unmeasured: no other follows that would need room.
	SpareAnswers bool `json:"spare_answers"`
	// Warning is the room below which the final turn is forced; null takes the model's output limit.
	Warning *int64 `json:"warning_threshold"`
}

// FormatErrorConfig says what becomes of a reply that looks like a tool call and is none.
type FormatErrorConfig struct {
	Keywords []string `json:"keywords"`
	Strategy string   `json:"strategy"`
	Reprompt string   `json:"reprompt"`
	// MaxReprompts bounds the reprompts in a row; 0 is no bound.
	MaxReprompts int64 `json:"max_reprompts"`
}

// RollbackConfig says which replies are hidden and asked for again.
type RollbackConfig struct {
	RefusalKeywords []string `json:"refusal_keywords"`
	// MaxRollbacks bounds the rollbacks in a row; 0 turns them off.
	MaxRollbacks int64 `json:"max_rollbacks"`
}

// DefaultConfig gives the product's defaults.
func DefaultConfig() Config {
	system := "You are a helpful agent. Work step by step, use the tools you are given, and answer the task."
	early := "No more tools can be called. Answer the task now from what this conversation already holds."
	// A loop of a hundred turns has read a few hundred thousand tokens: past it, more turns of the same
	// conversation rarely help, and an agent that never ends is worse than one that ends with what it has.
	turns := int64(100)
	return Config{
		SystemPrompt:       &system,
		UserPromptTemplate: "{task}",
		EarlyStopPrompt:    &early,
		FinalPromptOnce:    true,
		MaxTurns:           &turns,
		StrictTurnLimit:    true,
		MaxGoalRetries:     2,
		FormatError: FormatErrorConfig{
			Keywords:     []string{"<tool_call>", "</tool_call>"},
			Strategy:     StrategyReprompt,
			Reprompt:     "That reply resembles a tool call but holds no valid one. Send a valid structured tool call, or go on without tool-call markup.",
			MaxReprompts: 3,
		},
		ContextLimit:    ContextConfig{SpareAnswers: true},
		ProtectTask:     true,
		KeepToolResults: -1,
		ToolResultRole:  event.RoleTool,
	}
}

// Validate reports every problem at once.
func (c *Config) Validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	switch m, err := c.userMessage("\x00"); {
	case err != nil:
		add("user_prompt_template: %w", err)
	case !strings.Contains(m, "\x00"):
		add("user_prompt_template %q must hold {task}: the model would never see the task", c.UserPromptTemplate)
	}
	if l := &c.ContextLimit; l.Window != nil && *l.Window > 0 && (l.SafetyMargin >= *l.Window || l.MinGeneration >= *l.Window-l.SafetyMargin) {
		add("context_limit.safety_margin and min_tokens_for_generation leave no room in a window of %d", *l.Window)
	}
	if c.FinalResponsePrompt != nil && *c.FinalResponsePrompt == "" {
		add("final_response_prompt must be null or a text; it is empty")
	}
	if c.MaxTurns != nil && *c.MaxTurns < 1 {
		add("max_turns must be null or at least 1; it is %d", *c.MaxTurns)
	}
	if !slices.Contains([]string{StrategyIgnore, StrategyReprompt, StrategyRollback}, c.FormatError.Strategy) {
		add("format_error.strategy %q must be ignore, reprompt or rollback", c.FormatError.Strategy)
	}
	if c.FormatError.Strategy == StrategyReprompt && c.FormatError.Reprompt == "" {
		add("format_error.reprompt must not be empty")
	}
	for key, n := range map[string]*int64{"context_limit.window": c.ContextLimit.Window, "context_limit.warning_threshold": c.ContextLimit.Warning} {
		if n != nil && *n < 1 {
			add("%s must be null or at least 1; it is %d", key, *n)
		}
	}
	if c.ToolResultRole != event.RoleTool && c.ToolResultRole != event.RoleUser {
		add("tool_result_role %q must be tool or user", c.ToolResultRole)
	}
	if c.KeepToolResults < -1 {
		add("keep_tool_result must be -1 or more; it is %d", c.KeepToolResults)
	}
	for key, n := range map[string]int64{
		"context_limit.safety_margin": c.ContextLimit.SafetyMargin, "context_limit.min_tokens_for_generation": c.ContextLimit.MinGeneration,
		"max_goal_retries": c.MaxGoalRetries, "format_error.max_reprompts": c.FormatError.MaxReprompts,
		"assistant_rollback.max_rollbacks": c.Rollback.MaxRollbacks,
	} {
		if n < 0 {
			add("%s must be 0 or more; it is %d", key, n)
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}

// userMessage fills the task into the template. Braces in the task are its own.
func (c *Config) userMessage(task string) (string, error) {
	var out strings.Builder
	for rest := c.UserPromptTemplate; rest != ""; {
		at := strings.IndexAny(rest, "{}")
		if at < 0 {
			out.WriteString(rest)
			break
		}
		out.WriteString(rest[:at])
		rest = rest[at:]
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			out.WriteByte(rest[0])
			rest = rest[2:]
		case strings.HasPrefix(rest, "{task}"):
			out.WriteString(task)
			rest = rest[len("{task}"):]
		default:
			return "", fmt.Errorf("%q: only {task} may stand in braces; write {{ and }} for braces", rest[:min(len(rest), 20)])
		}
	}
	return out.String(), nil
}

// finalPrompt is the text that announces a forced final turn; nil for none.
func (c *Config) finalPrompt() *string {
	var parts []string
	for _, p := range []*string{c.EarlyStopPrompt, c.FinalResponsePrompt} {
		if p != nil {
			parts = append(parts, *p)
		}
	}
	if parts == nil {
		return nil
	}
	return new(strings.Join(parts, "\n\n"))
}
