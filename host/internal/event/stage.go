package event

import (
	"fmt"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// Stage names a stage of the conversation. A record holds the number of a stage that is listed here, and the name of
// any other: the names are long, and every decision has three of them or more.
type Stage string

// stages numbers the stages of the conversation machine; append-only, as types is.
var stages = [...]Stage{
	"not_initialized", "system_message_set", "initial_user_message_await_assistant", "tool_messages_await_assistant",
	"assistant_message_received", "assistant_tool_calls_await_tool", "final_response_prompt_await_assistant",
	"tool_call_format_error_prompt_await_assistant", "goal_rejected_prompt_await_assistant", "assistant_message_rollback",
	"context_limit_rollback", "force_final_await_assistant", "assistant_completed", "assistant_force_completed",
	"assistant_tool_calls_rejected_force_final", "assistant_terminated_token_exceed",
}

// MarshalCBOR implements cbor.Marshaler.
func (s Stage) MarshalCBOR() ([]byte, error) {
	for i, name := range stages {
		if name == s {
			return appendHead(nil, majorUint, uint64(i)), nil
		}
	}
	return append(appendHead(nil, majorText, uint64(len(s))), s...), nil
}

// UnmarshalCBOR implements cbor.Unmarshaler. A stage has one encoding.
func (s *Stage) UnmarshalCBOR(data []byte) error {
	r := reader{data: data}
	if len(data) > 0 && data[0]>>5 == majorText {
		*s = Stage(r.string(majorText))
		if again, _ := s.MarshalCBOR(); r.err == nil && again[0]>>5 != majorText {
			return fmt.Errorf("stage %q is not written by its number", *s)
		}
		return r.err
	}
	number := r.head(majorUint)
	if r.err == nil && number >= uint64(len(stages)) {
		return fmt.Errorf("it has stage %d, which this version does not have", number)
	}
	*s = stages[number]
	return r.err
}

// Path is the path of a decision through the stages, with sep between them.
func (d *Decided) Path(sep string) string {
	names := make([]string, len(d.StagePath))
	for i, s := range d.StagePath {
		names[i] = string(s)
	}
	return strings.Join(names, sep)
}

var (
	_ cbor.Marshaler   = Stage("")
	_ cbor.Unmarshaler = (*Stage)(nil)
)
