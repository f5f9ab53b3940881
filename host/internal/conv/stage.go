package conv

import (
	"fmt"

	"github.com/axishost/axishost/host/internal/event"
)

// Stage is where a conversation stands between two operations, or passes through within one.
type Stage uint8

// The stages.
const (
	NotInitialized Stage = iota
	SystemMessageSet
	InitialUserMessage
	ToolMessages
	AssistantReceived
	AwaitTools
	FinalResponsePrompt
	FormatErrorPrompt
	GoalRejectedPrompt
	AssistantRollback
	ContextRollback
	ForceFinal
	Completed
	ForceCompleted
	ToolCallsRejected
	TokenExceeded
	stageCount
)

var stageNames = [stageCount]string{
	NotInitialized:      "not_initialized",
	SystemMessageSet:    "system_message_set",
	InitialUserMessage:  "initial_user_message_await_assistant",
	ToolMessages:        "tool_messages_await_assistant",
	AssistantReceived:   "assistant_message_received",
	AwaitTools:          "assistant_tool_calls_await_tool",
	FinalResponsePrompt: "final_response_prompt_await_assistant",
	FormatErrorPrompt:   "tool_call_format_error_prompt_await_assistant",
	GoalRejectedPrompt:  "goal_rejected_prompt_await_assistant",
	AssistantRollback:   "assistant_message_rollback",
	ContextRollback:     "context_limit_rollback",
	ForceFinal:          "force_final_await_assistant",
	Completed:           "assistant_completed",
	ForceCompleted:      "assistant_force_completed",
	ToolCallsRejected:   "assistant_tool_calls_rejected_force_final",
	TokenExceeded:       "assistant_terminated_token_exceed",
}

func (s Stage) String() string {
	if s < stageCount {
		return stageNames[s]
	}
	return fmt.Sprintf("stage %d", uint8(s))
}

// name is how events write the stage.
func (s Stage) name() event.Stage { return event.Stage(s.String()) }

// ParseStage finds a stage by its name.
func ParseStage(name string) (Stage, error) {
	for s, n := range stageNames {
		if n == name {
			return Stage(s), nil
		}
	}
	return 0, fmt.Errorf("stage %q is not known", name)
}

// Action is what a conversation waits for.
type Action uint8

// The actions. Internal stages have none: they are only passed through.
const (
	NoAction Action = iota
	CallModel
	ExecuteTools
	Done
)

func (a Action) String() string {
	return [...]string{"none", "call_model", "execute_tools", "done"}[a]
}

// Action gives what the stage waits for.
func (s Stage) Action() Action {
	switch s {
	case InitialUserMessage, ToolMessages, FinalResponsePrompt, FormatErrorPrompt, GoalRejectedPrompt, ForceFinal:
		return CallModel
	case AwaitTools:
		return ExecuteTools
	case Completed, ForceCompleted, ToolCallsRejected, TokenExceeded:
		return Done
	}
	return NoAction
}

// transitions is the table: where each stage may go. The terminal stages go nowhere.
var transitions = [stageCount][]Stage{
	NotInitialized:     {SystemMessageSet, InitialUserMessage},
	SystemMessageSet:   {InitialUserMessage},
	InitialUserMessage: {AssistantReceived, ForceFinal},
	ToolMessages:       {AssistantReceived, ContextRollback, ForceFinal, TokenExceeded},
	AssistantReceived: {
		AwaitTools, FormatErrorPrompt, FinalResponsePrompt, GoalRejectedPrompt, ForceFinal,
		Completed, ForceCompleted, ToolCallsRejected, TokenExceeded, AssistantRollback,
	},
	AwaitTools:          {ToolMessages, AssistantRollback},
	FormatErrorPrompt:   {AssistantReceived, ForceFinal},
	FinalResponsePrompt: {AssistantReceived, ForceFinal},
	GoalRejectedPrompt:  {AssistantReceived, ForceFinal},
	ContextRollback:     {ForceFinal, TokenExceeded},
	AssistantRollback:   {ToolMessages, InitialUserMessage},
	ForceFinal:          {AssistantReceived, ContextRollback},
}

// TransitionError says that a stage was to be left in a way that the table does not have.
type TransitionError struct {
	From, To Stage
	// Path is how the operation came to From, oldest first.
	Path []event.Stage
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("conversation cannot go from %s to %s (path %v)", e.From, e.To, e.Path)
}

// StageError says that an operation does not fit the stage.
type StageError struct {
	Operation string
	Stage     Stage
}

func (e *StageError) Error() string {
	return fmt.Sprintf("operation %s does not fit stage %s", e.Operation, e.Stage)
}
