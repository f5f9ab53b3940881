package guest

import (
	"encoding/json"
	"fmt"
	"unsafe"

	"github.com/axishost/axishost/abi"
)

// Every function of this file registers one hook and is called from init. Registering a hook twice panics.
//
// A hook's ok says that it decides. When it is false the host's own default holds (keyword lists, prompts,
// no direct answer), whatever the other results are. A hook is a pure function of its input and of Config.

// DirectFinal registers the hook that finds a final answer in a reply. With ok, an empty answer says that
// the reply holds none.
func DirectFinal(f func(reply string) (answer string, ok bool)) {
	plugin.add(abi.HookDirectFinal, func(input []byte) ([]byte, abi.Code, error) {
		answer, ok := f(text(input))
		if !ok {
			return nil, abi.CodeNoDecision, nil
		}
		return []byte(answer), abi.CodeDecided, nil
	})
}

// Refusal registers the hook that tells a refusal. With ok, the keywords are what makes the reply one, and
// none says that it is no refusal whatever the configured keywords say.
func Refusal(f func(reply string) (keywords []string, ok bool)) {
	plugin.add(abi.HookRefusal, textHook(func(reply string) (abi.Keywords, bool) {
		keywords, ok := f(reply)
		return abi.Keywords{Keywords: listed(keywords)}, ok
	}))
}

// FormatError registers the hook that tells a malformed tool call. With ok, no keywords say that the reply
// is none, whatever the configured keywords say.
func FormatError(f func(reply string) (found abi.FormatError, ok bool)) {
	plugin.add(abi.HookFormatError, textHook(func(reply string) (abi.FormatError, bool) {
		found, ok := f(reply)
		found.Keywords = listed(found.Keywords)
		return found, ok
	}))
}

// PromptFinal registers the hook that says whether the model is asked for its final answer after a reply.
func PromptFinal(f func(reply string) (prompt, ok bool)) {
	plugin.add(abi.HookPromptFinal, textHook(func(reply string) (abi.PromptFinal, bool) {
		prompt, ok := f(reply)
		return abi.PromptFinal{Prompt: prompt}, ok
	}))
}

// Start registers the hook that writes the first messages. An error stops the task, resumably.
func Start(f func(abi.StartInput) (messages abi.StartOutput, ok bool, err error)) {
	plugin.add(abi.HookStart, jsonHook(f))
}

// Verify registers the hook that judges an answer. An error counts as not verified.
func Verify(f func(abi.VerifyInput) (verdict abi.VerifyOutput, ok bool, err error)) {
	plugin.add(abi.HookVerify, jsonHook(f))
}

// FinalOutput registers the hook that extracts the task's answer from the visible messages at the end. With
// ok, an empty answer says that there is none. An error stops the task, resumably.
func FinalOutput(f func(messages []abi.Message) (answer string, ok bool, err error)) {
	plugin.add(abi.HookFinalOutput, func(input []byte) ([]byte, abi.Code, error) {
		var in abi.FinalInput
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, abi.CodeBadInput, fmt.Errorf("input: %w", err)
		}
		answer, ok, err := f(in.Messages)
		switch {
		case err != nil:
			return nil, abi.CodeFailed, err
		case !ok:
			return nil, abi.CodeNoDecision, nil
		}
		return []byte(answer), abi.CodeDecided, nil
	})
}

// textHook makes a handler of a function from a reply's text to a JSON message.
func textHook[Out any](f func(reply string) (Out, bool)) handler {
	return func(input []byte) ([]byte, abi.Code, error) {
		out, ok := f(text(input))
		if !ok {
			return nil, abi.CodeNoDecision, nil
		}
		return encode(out)
	}
}

// jsonHook makes a handler of a function from one JSON message to another.
func jsonHook[In, Out any](f func(In) (Out, bool, error)) handler {
	return func(input []byte) ([]byte, abi.Code, error) {
		var in In
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, abi.CodeBadInput, fmt.Errorf("input: %w", err)
		}
		out, ok, err := f(in)
		switch {
		case err != nil:
			return nil, abi.CodeFailed, err
		case !ok:
			return nil, abi.CodeNoDecision, nil
		}
		return encode(out)
	}
}

func encode(message any) ([]byte, abi.Code, error) {
	output, err := json.Marshal(message)
	if err != nil {
		return nil, abi.CodeBadOutput, fmt.Errorf("output: %w", err)
	}
	return output, abi.CodeDecided, nil
}

// text views the input as a string without copying it: nothing writes to an input once it was read.
func text(input []byte) string { return unsafe.String(unsafe.SliceData(input), len(input)) }

// listed turns a nil list into an empty one, which is what the encoding has for "none".
func listed(keywords []string) []string {
	if keywords == nil {
		return []string{}
	}
	return keywords
}
