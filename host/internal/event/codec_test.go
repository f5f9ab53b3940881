package event

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files of types that have none; a released one is never changed")

// samples has one payload of every type, every field set.
func samples() []Payload {
	answer := "391"
	message := Message{
		Role: RoleAssistant, Tokens: 12, Content: "text <b> 答", Reasoning: "why", Name: "n", ToolCallID: "id",
		ToolCalls: []ToolCall{{ID: "c1", Name: "calc", Arguments: `{"expression":"1"}`}},
	}
	head := Head{
		Stage: "assistant_completed", Turns: 3, Rollbacks: 1, Reprompts: 1, Rejections: 1,
		Trigger: "turn_limit", HasPrompt: true, FinalPrompted: true, MaxTurns: new(int64(9)),
	}
	info := Info{
		ToolRequestCount: 1, FinishReason: "length", HadContent: new(true), RefusalKeywords: []string{"sorry"},
		FormatKeywords: []string{"<tool_call>"}, FormatStrategy: "reprompt", OffendingPreview: "<tool_call>",
		OffendingLength: 11, RollbackReason: "assistant_refusal", RollbackCount: new(int64(1)), AssistantRollbacks: 1,
		DirectAnswer: &answer, DirectAnswerPreview: "391", FinalizationTrigger: "turn_limit",
		HasEarlyStopPrompt: new(true), GoalRejectedReason: "no", ForceFinalizeStage: "force_final_await_assistant",
		BudgetStop: true, ForceRecovery: true, TokenRecovery: true, ContextRecovery: true, SkippedFinal: true,
		SkippedTurnLimit: true, SkippedContextLimit: true, SkippedExhausted: true,
		Context: &ContextEstimate{
			Prompt: 1, Reserved: 2, Margin: 3, Total: 4, Remaining: new(int64(5)), MinGeneration: 6, Warning: 7,
			Window: new(int64(8)), HardStop: true, NeedsFinal: true, Exceeds: true, Detection: "provider_error",
			PromptFit:     &PromptFit{WithPrompt: 9, Remaining: new(int64(10)), Fits: true},
			ProviderError: json.RawMessage(`{"message":"too long"}`),
		},
		VisibleMessages: 4, Messages: 5, Appended: 1, AssistantTurn: 3,
	}
	return []Payload{
		&TaskCreated{
			Goal: "g", Model: "m", Config: json.RawMessage(`{"limits":{}}`), Host: "v1", ABI: "1.0-rc",
			Recipe: &Plugin{Name: "boxed", Version: "1.0.0", Digest: "aa", Hooks: []string{"refusal"}},
			Tools: []Plugin{{Name: "calc", Version: "1.0.0", Digest: "bb", Tools: []ToolSpec{
				{Name: "calc", Description: "d", Schema: json.RawMessage(`{"type":"object"}`), Effect: "pure"}}}},
		},
		&Claimed{Worker: "w:1", Fence: 2},
		&RecipeConsulted{Digest: "aa", Answers: []Answer{
			{Hook: "refusal", Decided: true, Output: `{"keywords":[]}`}, {Hook: "dedupe", Call: 1, Fault: "trap"}}},
		&MessageAppended{Message: &message, Of: 7, Joined: true},
		&MarkerAppended{Name: "compaction", Content: `{"summary": "s"}`},
		&PromptObserved{Tokens: 12},
		&ConversationReset{},
		&RollbackMarked{Count: 1, Reason: "assistant_refusal"},
		&FinalizationForced{Trigger: "turn_limit", HasPrompt: true},
		&Decided{Operation: "assistant", StagePath: []string{"a", "b"}, Head: head, Info: &info},
		&ModelRequested{Ordinal: 2, Messages: 4, Compaction: &Compaction{From: 2, To: 4, Prompt: "sum up"}},
		&ModelReplied{Message: message, FinishReason: "stop", Usage: Usage{Prompt: 1, Completion: 2, Reported: true}, Model: "m"},
		&ModelFailed{Class: "transient", Status: 503, Reason: "busy", Answered: true},
		&ToolRequested{CallID: "c1", Tool: "calc", Arguments: "{}", OperationID: "op", Repaired: "{}", Repairs: []string{"coerce"}, Key: "k"},
		&ToolAuthorized{},
		&StepDenied{Reason: "unknown_tool", Text: "There is no tool."},
		&ToolStarted{},
		&ToolSucceeded{Result: "391", Tokens: 6, Evidence: json.RawMessage(`[1]`)},
		&ToolFailed{Class: "permanent", Reason: "r", Tokens: 6, Fault: true},
		&RetryScheduled{At: 12},
		&ObservationRecorded{},
		&GoalVerified{Verified: VerifiedRecipe, Evidence: json.RawMessage(`{"step":1}`)},
		&GoalRejected{Reason: "no", Evidence: json.RawMessage(`{}`)},
		&TaskSucceeded{Answer: "391", Verified: VerifiedNone, Source: "direct_final"},
		&TaskPartial{Reason: "no_answer", Answer: "a", Done: 1, Undone: 2, Resume: 3},
		&TaskFailed{Reason: "r"},
	}
}

// TestGolden: what V1 writes never changes, and reads back as it was.
func TestGolden(t *testing.T) {
	seen := map[Type]bool{}
	for _, p := range samples() {
		t.Run(string(p.Type()), func(t *testing.T) {
			seen[p.Type()] = true
			e := &Event{
				Version: V1, Task: "01t", Seq: 9, Time: 1_700_000_000_000_000, Actor: Actor{Kind: ActorTool, ID: "calc"},
				Cause: 8, Step: 1, Attempt: 2, Payload: p,
			}
			got, err := Encode(e)
			require.NoError(t, err)
			path := filepath.Join("testdata", "v1", string(p.Type())+".json")
			if _, err := os.Stat(path); os.IsNotExist(err) && *update {
				require.NoError(t, os.WriteFile(path, append(got, '\n'), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err, "run with -update to add the golden file of a new type")
			assert.Equal(t, strings.TrimSpace(string(want)), string(got))
			back, err := Decode("01t", 9, want)
			require.NoError(t, err)
			assert.Equal(t, e, back)
		})
	}
	files, err := filepath.Glob("testdata/v1/*.json")
	require.NoError(t, err)
	assert.Len(t, files, len(seen), "a golden file without its type")
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ record, want string }{
		"not JSON":        {`{`, "event 3 of task t: unexpected end of JSON input"},
		"newer version":   {`{"v":2,"type":"TaskFailed","payload":{}}`, "event 3 of task t has version 2, and this axishost reads up to 1"},
		"no version":      {`{"type":"TaskFailed","payload":{}}`, "has version 0"},
		"unknown type":    {`{"v":1,"type":"Nonsense","payload":{}}`, `has type "Nonsense", which version 1 does not have`},
		"unknown field":   {`{"v":1,"type":"TaskFailed","payload":{"reason":"r","more":1}}`, `unknown field "more"`},
		"payload missing": {`{"v":1,"type":"TaskFailed"}`, "TaskFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode("t", 3, []byte(c.record))
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := Decode("t", 3, []byte(`{"v":2,"type":"TaskFailed","payload":{}}`))
	require.ErrorIs(t, err, ErrVersion)
}

func FuzzDecode(f *testing.F) {
	for _, p := range samples() {
		record, err := Encode(&Event{Version: V1, Payload: p})
		require.NoError(f, err)
		f.Add(record)
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		e, err := Decode("t", 1, record)
		if err != nil {
			return
		}
		again, err := Encode(e)
		require.NoError(t, err, "what was read cannot be written")
		back, err := Decode("t", 1, again)
		require.NoError(t, err)
		require.Equal(t, e.Payload.Type(), back.Payload.Type())
	})
}
