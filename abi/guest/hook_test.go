package guest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/axishost/axishost/abi"
)

// upkeepHooks registers the hooks that tend calls and the conversation. Each answers, fails, or does not
// decide, by its input.
func upkeepHooks() {
	Compact(func(in abi.CompactInput) (abi.CompactOutput, bool, error) {
		if in.Window == 0 {
			return abi.CompactOutput{From: 1, To: 2}, true, errors.New("no window")
		}
		over := in.Used > in.Window
		return abi.CompactOutput{From: 1, To: len(in.Messages), Prompt: "sum up", Discard: over}, in.Used > 0, nil
	})
	Dedupe(func(in abi.DedupeInput) (string, bool, error) {
		if len(in.Arguments) == 0 {
			return "ignored", true, errors.New("no arguments")
		}
		key, ok := strings.CutPrefix(in.Tool, "unique")
		return strings.Trim(key, "-") + string(in.Arguments[1:len(in.Arguments)-1]), !ok, nil
	})
	ToolOutcome(func(in abi.OutcomeInput) (abi.Verdict, bool, error) {
		if in.Class == abi.ClassPermanent {
			return abi.VerdictRollback, true, errors.New("permanent")
		}
		switch in.Status {
		case abi.ToolFailed:
			return abi.VerdictRollback, true, nil
		case abi.ToolOK:
			return "", false, nil
		}
		return abi.Verdict(in.Result), true, nil
	})
	RepairArguments(func(in abi.RepairInput) (json.RawMessage, bool, error) {
		if len(in.Schema) == 0 {
			return nil, true, errors.New("no schema")
		}
		return json.RawMessage(in.Arguments + "}"), in.Arguments != "", nil
	})
}

func TestUpkeepHooks(t *testing.T) {
	testHooks(t, register(t, upkeepHooks), []hookTest{
		{
			"compact", abi.HookCompact, `{"messages":[{"role":"user"},{"index":1},{"index":2}],"window":9,"used":8}`,
			abi.CodeDecided, `{"from":1,"to":3,"prompt":"sum up"}`, "",
		},
		{
			"compact, discard", abi.HookCompact, `{"messages":[],"window":8,"used":9}`,
			abi.CodeDecided, `{"from":1,"prompt":"sum up","discard":true}`, "",
		},
		{
			"compact, no range", abi.HookCompact, `{"messages":[],"window":9,"used":8}`,
			abi.CodeBadOutput, `{"from":1,"prompt":"sum up"}`, "to 0 must be more than from 1",
		},
		{"compact, undecided", abi.HookCompact, `{"messages":[],"window":9}`, abi.CodeNoDecision, "", ""},
		{"compact, error", abi.HookCompact, `{"messages":[]}`, abi.CodeFailed, "", "no window"},
		{"dedupe", abi.HookDedupe, `{"tool":"find","arguments":{"q":"<é>"}}`, abi.CodeDecided, `find"q":"<é>"`, ""},
		{"dedupe, no key", abi.HookDedupe, `{"tool":"-","arguments":{}}`, abi.CodeDecided, "", ""},
		{"dedupe, undecided", abi.HookDedupe, `{"tool":"unique","arguments":{}}`, abi.CodeNoDecision, "", ""},
		{"dedupe, error", abi.HookDedupe, `{"tool":"find"}`, abi.CodeFailed, "", "no arguments"},
		{
			"dedupe, bad input", abi.HookDedupe, `"find"`, abi.CodeBadInput, "",
			"input: json: cannot unmarshal string into Go value of type abi.DedupeInput",
		},
		{
			"tool outcome", abi.HookToolOutcome, `{"tool":"t","status":"failed","class":"conflict","result":""}`,
			abi.CodeDecided, `{"verdict":"rollback"}`, "",
		},
		{"tool outcome, undecided", abi.HookToolOutcome, `{"tool":"t","status":"ok","result":""}`, abi.CodeNoDecision, "", ""},
		{
			"tool outcome, error", abi.HookToolOutcome, `{"tool":"t","status":"failed","class":"permanent","result":""}`,
			abi.CodeFailed, "", "permanent",
		},
		{
			"tool outcome, no verdict", abi.HookToolOutcome, `{"tool":"t","status":"unknown","result":"retry"}`,
			abi.CodeBadOutput, `{"verdict":"retry"}`, `verdict "retry" must be ok or rollback`,
		},
		{
			"repair arguments", abi.HookRepairArguments, `{"tool":"t","schema":{},"arguments":"{\"a\": 1"}`,
			abi.CodeDecided, `{"a":1}`, "",
		},
		{"repair arguments, undecided", abi.HookRepairArguments, `{"tool":"t","schema":{},"arguments":""}`, abi.CodeNoDecision, "", ""},
		{
			"repair arguments, beyond repair", abi.HookRepairArguments, `{"tool":"t","schema":{},"arguments":"a"}`,
			abi.CodeBadOutput, "", "output: json: error calling MarshalJSON for type json.RawMessage: invalid character 'a' looking for beginning of value",
		},
		{"repair arguments, error", abi.HookRepairArguments, `{"tool":"t","arguments":"{"}`, abi.CodeFailed, "", "no schema"},
	})
}
