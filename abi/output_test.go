package abi_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

func TestCheckOutput(t *testing.T) {
	tests := []struct {
		hook         abi.Hook
		output, want string
	}{
		{abi.HookDirectFinal, "", ""},
		{abi.HookDirectFinal, "391", ""},
		{abi.HookFinalOutput, "\xff", "text is not UTF-8"},
		{abi.HookRefusal, `{"keywords": []}`, ""},
		{abi.HookRefusal, ``, "a decision without output"},
		{abi.HookRefusal, `["no"]`, "not a JSON object"},
		{abi.HookRefusal, "{\"keywords\": [\"\xff\"]}", "text is not UTF-8"},
		{
			abi.HookRefusal, `{"keywords": "no"}`,
			"not the JSON it should be: json: cannot unmarshal string into Go struct field Keywords.keywords of type []string",
		},
		{abi.HookFormatError, `{"keywords": ["k"], "strategy": "rollback"}`, ""},
		{abi.HookFormatError, `{"keywords": ["k"], "strategy": "again"}`, `strategy "again" must be ignore, reprompt or rollback`},
		{abi.HookFormatError, `{`, "not a JSON object"},
		{abi.HookPromptFinal, `{"prompt": true, "later": 1}`, ""},
		{abi.HookPromptFinal, `true`, "not a JSON object"},
		{abi.HookStart, `{"system": ""}`, ""},
		{abi.HookStart, `null`, "not a JSON object"},
		{abi.HookVerify, `{"verified": true, "evidence": [1]}`, ""},
		{abi.HookVerify, `[]`, "not a JSON object"},
		{abi.HookToolCall, `{"status": "unknown", "result": ""}`, ""},
		{abi.HookToolCall, `{"status": "done", "result": ""}`, `status "done" must be ok, failed or unknown`},
		{abi.HookToolCall, `{"status": "failed", "result": "", "class": "rate_limited"}`, ""},
		{abi.HookToolCall, `{"status": "failed", "result": "", "class": ""}`, ""},
		{abi.HookToolCall, `{"status": "failed", "result": "", "class": "Permanent"}`, `class "Permanent" is not one of SPEC.md`},
		{abi.HookToolCall, `{"status": "ok", "result": "", "class": "ev\nil"}`, `class "ev\nil" is not one of SPEC.md`},
		{abi.HookToolCall, `""`, "not a JSON object"},
		{abi.HookDedupe, "", ""},
		{abi.HookDedupe, "calc 17*23", ""},
		{abi.HookDedupe, "\xff", "text is not UTF-8"},
		{abi.HookToolOutcome, `{"verdict": "ok"}`, ""},
		{abi.HookToolOutcome, `{"verdict": "rollback", "later": 1}`, ""},
		{abi.HookToolOutcome, `{"verdict": "retry"}`, `verdict "retry" must be ok or rollback`},
		{abi.HookToolOutcome, `{}`, `verdict "" must be ok or rollback`},
		{abi.HookToolOutcome, `"ok"`, "not a JSON object"},
		{abi.HookRepairArguments, `{"expression": "17*23"}`, ""},
		{abi.HookRepairArguments, `{}`, ""},
		{abi.HookRepairArguments, ``, "a decision without output"},
		{abi.HookRepairArguments, `null`, "not a JSON object"},
		{abi.HookRepairArguments, `[{}]`, "not a JSON object"},
		{abi.HookRepairArguments, `{"expression": `, "not a JSON object"},
		{abi.HookRepairArguments, "{\"expression\": \"\xff\"}", "text is not UTF-8"},
		{abi.HookCompact, `{"from": 0, "to": 1}`, ""},
		{abi.HookCompact, `{"from": 2, "to": 9, "prompt": "Sum up."}`, ""},
		{abi.HookCompact, `{"from": 2, "discard": true}`, ""},
		{abi.HookCompact, `{"from": 2, "to": 1, "discard": true}`, ""},
		{abi.HookCompact, `{"from": -1, "to": 1}`, "from -1 must be 0 or more"},
		{abi.HookCompact, `{"from": -1, "discard": true}`, "from -1 must be 0 or more"},
		{abi.HookCompact, `{"from": 2, "to": 2}`, "to 2 must be more than from 2"},
		{abi.HookCompact, `{"from": 2, "to": 1, "discard": false}`, "to 1 must be more than from 2"},
		{abi.HookCompact, `{}`, "to 0 must be more than from 0"},
		{
			abi.HookCompact, `{"from": 0.5, "to": 1}`,
			"not the JSON it should be: json: cannot unmarshal number 0.5 into Go struct field CompactOutput.from of type int",
		},
		{abi.HookCompact, `[0, 1]`, "not a JSON object"},
		{abi.HookToolReconcile, `{"status": "found", "result": "r", "evidence": [1]}`, ""},
		{abi.HookToolReconcile, `{"status": "absent", "later": 1}`, ""},
		{abi.HookToolReconcile, `{"status": "inconclusive", "retry_after_ms": 1500}`, ""},
		{abi.HookToolReconcile, `{"status": "ok"}`, `status "ok" must be found, absent or inconclusive`},
		{abi.HookToolReconcile, `{}`, `status "" must be found, absent or inconclusive`},
		{abi.HookToolReconcile, `{"status": "inconclusive", "retry_after_ms": -1}`, "retry_after_ms -1 must be 0 or more"},
		{abi.HookToolReconcile, `"found"`, "not a JSON object"},
		{abi.HookToolReconcile, ``, "a decision without output"},
		{abi.HookToolCompensate, `{"status": "unknown", "result": ""}`, ""},
		{abi.HookToolCompensate, `{"status": "found", "result": ""}`, `status "found" must be ok, failed or unknown`},
		{abi.HookToolPreview, `{"impact": "Nothing.", "reversible": "yes"}`, ""},
		{abi.HookToolPreview, `{"arguments": {"a": 1}, "reversible": "unknown", "resources": ["file:a"]}`, ""},
		{abi.HookToolPreview, `{"impact": "Nothing."}`, `reversible "" must be yes, no or unknown`},
		{abi.HookToolPreview, `{"reversible": true}`, "not the JSON it should be: json: cannot unmarshal bool into Go struct field PreviewOutput.reversible of type abi.Reversible"},
		{abi.HookToolPreview, `{"reversible": "no", "arguments": [1]}`, "arguments must be an object"},
		{abi.HookToolPreview, `{"reversible": "no", "arguments": null}`, "arguments must be an object"},
		{abi.HookToolPreview, `{"reversible": "no", "resources": [""]}`, `resource "" must be 1 to 1024 bytes`},
		{abi.HookToolPreview, `{"reversible": "no", "resources": ["` + strings.Repeat("x", 1025) + `"]}`, `resource "` + strings.Repeat("x", 80) + `…" must be 1 to 1024 bytes`},
		{abi.HookToolPreview, `{"reversible": "no", "resources": [` + strings.Repeat(`"a",`, 16) + `"a"]}`, "17 resources are over the limit of 16"},
		{abi.HookToolPreview, `[]`, "not a JSON object"},
		{abi.HookToolCheck, `{"ok": true}`, ""},
		{abi.HookToolCheck, `{"ok": false, "reason": "no such file"}`, ""},
		{abi.HookToolCheck, `{"reason": "no such file"}`, "ok is missing"},
		{abi.HookToolCheck, `true`, "not a JSON object"},
		{abi.HookScore, `{"score": 1}`, ""},
		{abi.HookScore, `{"score"`, "not JSON"},
	}
	for _, test := range tests {
		t.Run(string(test.hook)+" "+test.output, func(t *testing.T) {
			err := abi.CheckOutput(test.hook, []byte(test.output))
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			assert.EqualError(t, err, test.want)
		})
	}
}

// TestCheckOutputOfManyValues: what is decoded after the guest has answered is bounded in what decoding takes.
func TestCheckOutputOfManyValues(t *testing.T) {
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	for _, test := range []struct {
		hook         abi.Hook
		output, want string
	}{
		{abi.HookRefusal, `{"keywords": ` + list(abi.MaxKeywords, `"a,[{"`) + `}`, ""},
		{abi.HookRefusal, `{"keywords": ` + list(abi.MaxKeywords+1, `"a"`) + `}`, "1001 keywords are over the limit of 1000"},
		{abi.HookFormatError, `{"keywords": ` + list(abi.MaxKeywords+1, `"a"`) + `}`, "1001 keywords are over the limit of 1000"},
		{abi.HookRefusal, `{"keywords": ` + list(4<<20, `""`) + `}`, "4194306 values are over the limit of 100000"},
		{abi.HookStart, `{"system": "", "later": ` + list(4<<20, `{}`) + `}`, "8388611 values are over the limit of 100000"},
		{abi.HookRepairArguments, `{` + strings.Repeat(`"a":1,`, 2<<20) + `"b":2}`, "2097154 values are over the limit of 100000"},
		{abi.HookVerify, `{"verified": true, "evidence": ` + list(abi.MaxValues-3, "1") + `}`, ""},
		{abi.HookVerify, `{"verified": true, "evidence": ` + list(abi.MaxValues-2, "1") + `}`, "100001 values are over the limit of 100000"},
		{abi.HookToolCall, `{"status": "ok", "result": "` + strings.Repeat(`,[{\"`, 1<<20) + `"}`, ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := abi.CheckOutput(test.hook, []byte(test.output))
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4*len(test.output)+(4<<20)), test.hook)
		if test.want == "" {
			require.NoError(t, err)
			continue
		}
		assert.EqualError(t, err, test.want)
	}
}
