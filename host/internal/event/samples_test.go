package event

import "encoding/json"

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
	payloads := []Payload{
		&TaskCreated{
			Goal: "g", Model: "m", Config: json.RawMessage(`{"limits":{}}`), Host: "v1", ABI: "1.0-rc",
			Grants: []Grant{{Plugin: "web", Capability: "http", Limits: []string{"example.org"}}},
			Policy: json.RawMessage(`{"rules":[]}`), Tokenizer: "cl100k_base", Context: ContextProtocol,
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
		&Decided{Operation: "assistant", StagePath: []Stage{"assistant_completed", "b"}, Head: head, Info: &info},
		&ModelRequested{Ordinal: 2, Messages: 4, Compaction: &Compaction{From: 2, To: 4, Prompt: "sum up"}},
		&ModelReplied{Message: message, FinishReason: "stop", Usage: Usage{Prompt: 1, Completion: 2, Reported: true}, Model: "m"},
		&ModelFailed{Class: "transient", Status: 503, Reason: "busy", Answered: true},
		&ToolRequested{CallID: "c1", Tool: "calc", Arguments: "{}", OperationID: "op", Repaired: "{}", Repairs: []string{"coerce"}, Key: "k"},
		&ToolAuthorized{},
		&StepDenied{Reason: "unknown_tool", Text: "There is no tool."},
		&ToolStarted{Approval: 4},
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
	return append(append(payloads, approvalSamples()...), writeSamples()...)
}

func approvalSamples() []Payload {
	return []Payload{
		&PlanProposed{Source: "recipe", Items: []PlanItem{
			{ID: "1", Text: "look", CallID: "c1"}, {ID: "2", Text: "write", Needs: []string{"1"}}}},
		&ReplanRequested{Reason: "conflict", Detail: "it was changed meanwhile"},
		&PolicyDecided{Verdict: "ask", Rule: "writes", Reason: "effect is write"},
		&PluginRejected{Name: "web", Digest: "aa", Class: "grant", Reason: "it asks for http"},
		&PermissionMissing{Capability: "http", Limit: "example.org", Plugin: "web"},
		&PermissionGranted{Plugin: "web", Capability: "http", Limit: "example.org", Expires: 12},
		&ApprovalRequested{
			Tool: "send", Arguments: `{"to":"a"}`, Effect: "write", Impact: "sends a letter", Reversible: "no",
			Resources: []string{"mail:a"}, Risk: 2, Rule: "writes", Expires: 12,
		},
		&ApprovalGranted{
			Scope:   ApprovalScope{Kind: ScopeTask, Tool: "send", Resource: "mail:a", Pattern: json.RawMessage(`{}`)},
			Expires: 12, Uses: 3, Reason: "fine",
		},
		&ApprovalEdited{Arguments: `{"to":"b"}`, Reason: "not to a"},
		&ArgumentsValid{},
		&ArgumentsInvalid{Reason: "policy", Detail: "not to b"},
		&ApprovalRejected{Reason: "no", Cancel: true},
		&ApprovalExpired{Expired: 12},
		&BudgetReserved{For: "step", Amount: amount(), Child: "01child"},
		&BudgetSettled{Of: 4, Spent: amount(), Estimated: true},
		&BudgetExhausted{Dimensions: []string{"tokens"}, For: "model", Wanted: amount(), Left: Amount{Tokens: 1}},
		&CancelRequested{Reason: "enough", InFlight: []InFlight{{Step: 1, Attempt: 2, Tool: "calc", OperationID: "op"}}},
		&StepCancelled{Reason: "the task was cancelled"},
		&CancelAcknowledged{NothingHappened: true, Result: new("391"), Tokens: 6, Evidence: json.RawMessage(`[1]`)},
		&TaskBlocked{Reason: "approval_expired", Who: "ops", What: "approve step 1", Until: 12, Steps: []int64{1}, Resume: 3},
		&TaskCancelled{Reason: "enough", InFlight: []InFlight{{Step: 1, Attempt: 2, Tool: "calc", OperationID: "op", End: EndCancelled}}},
	}
}

func amount() Amount {
	return Amount{Steps: 1, Tokens: 2, WallMS: 3, MoneyMicros: 4, Writes: 5, Risk: 6}
}

func writeSamples() []Payload {
	return []Payload{
		&LeaseAcquired{Resource: "file:a", Fence: 2, Expires: 12, Version: "etag"},
		&LeaseReleased{Resource: "file:a", Fence: 2, Reason: "done"},
		&ToolProgress{Text: "half", Done: 1, Total: 2},
		&HostOperation{
			Number: 1, Capability: "http", Target: "POST example.org", Write: true, State: OperationFailed, Result: "r",
			Blob: "aa", Reason: "refused", Sent: 10, Received: 20,
		},
		&ToolUnknown{Class: "timeout", Reason: "no answer in 2 s", Operations: 1},
		&ReconcileStarted{OperationID: "op", Try: 1},
		&OperationFound{Result: "sent", Tokens: 2, Evidence: json.RawMessage(`{"id":1}`)},
		&OperationAbsent{Evidence: json.RawMessage(`{"id":null}`)},
		&ReconcileInconclusive{Try: 1, Reason: "no answer", Next: 12},
		&CompensationStarted{Of: "op", OperationID: "undo", Reason: "not to a"},
		&CompensationSucceeded{Of: "op", Evidence: json.RawMessage(`{}`)},
		&CompensationFailed{Of: "op", Reason: "read already", Unknown: true},
	}
}

// samplesV2 gives the payloads that V2 added fields to, with all of them set.
func samplesV2() []Payload {
	return []Payload{&TaskCreated{Goal: "g", Config: json.RawMessage("{}"), Key: "0f", Tools: []Plugin{{Name: "ledger", Tools: []ToolSpec{{
		Name: "append", Schema: json.RawMessage("{}"), Effect: "write", Reconcile: true, Compensate: true, Preview: true, Check: true,
		Precondition: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"string"}`), Success: json.RawMessage("true"),
		Resources: []string{"account:{account}"}, Risk: 7,
	}}}}}, compensationSample(),
		&CompensationSucceeded{Of: "op", Evidence: json.RawMessage(`{}`), Result: "void"},
		&CompensationFailed{Of: "op", Reason: "no answer", Unknown: true, Class: "timeout"},
	}
}

// compensationSample is a task that undoes what another one did.
func compensationSample() Payload {
	return &TaskCreated{Goal: "undo", Config: json.RawMessage("{}"), Compensates: &Compensation{
		Task: "01other", Reason: "not to a", Operations: []CompensatedOperation{{
			Step: 3, Tool: "append", Arguments: "{}", OperationID: "op", Result: "entry 7", Evidence: json.RawMessage(`{"id":7}`),
		}},
	}}
}
