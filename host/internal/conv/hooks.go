package conv

import (
	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
)

// TextHooks gives the hooks whose answers the next decision may read, were this the reply: those of the
// levels that it can reach.
func TextHooks(s *State, reply *event.Message, finishReason string) []abi.Hook {
	switch {
	case s.stage == ForceFinal || reply.Content == "":
		return nil
	case finishReason == FinishLength:
		return []abi.Hook{abi.HookDirectFinal}
	case len(reply.ToolCalls) > 0 || s.stage == FinalResponsePrompt:
		return nil
	}
	hooks := []abi.Hook{abi.HookRefusal, abi.HookFormatError, abi.HookDirectFinal}
	if s.mayPromptFinal() {
		hooks = append(hooks, abi.HookPromptFinal)
	}
	return hooks
}
