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

// Plan registers the hook that says what a reply's calls are part of, and which of them wait for which. An error stops
// the task, resumably.
func Plan(f func(abi.PlanInput) (plan abi.PlanOutput, ok bool, err error)) {
	plugin.add(abi.HookPlan, jsonHook(f))
}

// Compact registers the hook that chooses what a prompt that grew too long loses. An error counts as no
// decision.
func Compact(f func(abi.CompactInput) (cut abi.CompactOutput, ok bool, err error)) {
	plugin.add(abi.HookCompact, jsonHook(f))
}

// Dedupe registers the hook that gives a call the key by which its repetition is known. The keys of all
// tools are compared with one another. With an empty key, without ok or with an error the call is never a
// duplicate.
func Dedupe(f func(abi.DedupeInput) (key string, ok bool, err error)) {
	plugin.add(abi.HookDedupe, jsonTextHook(f))
}

// ToolOutcome registers the hook that says whether a call that is over is shown to the model. An error
// counts as no decision.
func ToolOutcome(f func(abi.OutcomeInput) (verdict abi.Verdict, ok bool, err error)) {
	plugin.add(abi.HookToolOutcome, jsonHook(func(in abi.OutcomeInput) (abi.OutcomeOutput, bool, error) {
		verdict, ok, err := f(in)
		return abi.OutcomeOutput{Verdict: verdict}, ok, err
	}))
}

// RepairArguments registers the hook that mends a call's arguments before they are checked. With ok, the
// arguments are one JSON object. Without it or with an error they stay as the model wrote them.
func RepairArguments(f func(abi.RepairInput) (arguments json.RawMessage, ok bool, err error)) {
	plugin.add(abi.HookRepairArguments, jsonHook(f))
}

// Verify registers the hook that judges an answer. An error counts as not verified.
func Verify(f func(abi.VerifyInput) (verdict abi.VerifyOutput, ok bool, err error)) {
	plugin.add(abi.HookVerify, jsonHook(f))
}

// FinalOutput registers the hook that extracts the task's answer from the visible messages at the end. With
// ok, an empty answer says that there is none. An error stops the task, resumably.
func FinalOutput(f func(messages []abi.Message) (answer string, ok bool, err error)) {
	plugin.add(abi.HookFinalOutput, jsonTextHook(func(in abi.FinalInput) (string, bool, error) {
		return f(in.Messages)
	}))
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
	return messageHook(f, encode[Out])
}

// jsonTextHook makes a handler of a function from a JSON message to raw text.
func jsonTextHook[In any](f func(In) (string, bool, error)) handler {
	return messageHook(f, func(out string) ([]byte, abi.Code, error) {
		return []byte(out), abi.CodeDecided, nil
	})
}

// messageHook makes a handler of a function that is given a JSON message; write encodes what it decides.
func messageHook[In, Out any](f func(In) (Out, bool, error), write func(Out) ([]byte, abi.Code, error)) handler {
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
		return write(out)
	}
}

func encode[Out any](message Out) ([]byte, abi.Code, error) {
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
