package event

import "encoding/json"

// RecipeConsulted holds what the recipe answered for one decision. On recovery these answers are used, and
// the recipe is not asked again.
type RecipeConsulted struct {
	Digest  string   `json:"digest" cbor:"1,keyasint,omitempty"`
	Answers []Answer `json:"answers" cbor:"2,keyasint"`
}

// Answer is what one hook said.
type Answer struct {
	Hook string `json:"hook" cbor:"1,keyasint,omitempty"`
	// Call is which call of the reply it is about, from 1; 0 for the reply.
	Call int64 `json:"call,omitempty" cbor:"2,keyasint,omitempty"`
	// Decided is false when the host's default holds.
	Decided bool `json:"decided,omitempty" cbor:"3,keyasint,omitempty"`
	// Output is the hook's output when it decided.
	Output string `json:"output,omitempty" cbor:"4,keyasint,omitempty"`
	// Fault is why the hook failed; it then decided nothing.
	Fault string `json:"fault,omitempty" cbor:"5,keyasint,omitempty"`
}

// MessageAppended adds a message to the conversation. A message that another event already holds is not
// stored twice: Of is then that event's sequence number, and Message is empty.
type MessageAppended struct {
	Message *Message `json:"message,omitempty" cbor:"1,keyasint,omitempty"`
	Of      uint64   `json:"of,omitempty" cbor:"2,keyasint,omitempty"`
	// Joined tells that it was appended together with the message before it: a batch is estimated as one.
	Joined bool `json:"joined,omitempty" cbor:"3,keyasint,omitempty"`
}

// RollbackMarked hides the last Count visible messages. The log keeps them, and what they did stays done.
type RollbackMarked struct {
	Count  int64  `json:"count" cbor:"1,keyasint,omitempty"`
	Reason string `json:"reason" cbor:"2,keyasint,omitempty"`
}

// MarkerAppended adds a marker that a recipe wrote, word for word: what it says of the visible messages holds
// where it can be read, and nothing where it cannot.
type MarkerAppended struct {
	Name    string `json:"name" cbor:"1,keyasint,omitempty"`
	Content string `json:"content" cbor:"2,keyasint,omitempty"`
}

// PromptObserved is how many tokens the endpoint counted for what was visible.
type PromptObserved struct {
	Tokens int64 `json:"tokens" cbor:"1,keyasint,omitempty"`
}

// ConversationReset takes a conversation back to before its first message.
type ConversationReset struct{}

// FinalizationForced says that the next reply is the last one.
type FinalizationForced struct {
	Trigger   string `json:"trigger" cbor:"1,keyasint,omitempty"`
	HasPrompt bool   `json:"has_prompt" cbor:"2,keyasint,omitempty"`
}

// Head is where a conversation stands: everything about it but its messages.
type Head struct {
	Stage Stage `json:"stage" cbor:"1,keyasint,omitempty"`
	// Turns counts the replies, less those that were rolled back.
	Turns int64 `json:"turns" cbor:"2,keyasint,omitempty"`
	// Rollbacks counts the rollbacks in a row.
	Rollbacks int64 `json:"rollbacks,omitempty" cbor:"3,keyasint,omitempty"`
	// Reprompts counts the format reprompts in a row.
	Reprompts int64 `json:"reprompts,omitempty" cbor:"4,keyasint,omitempty"`
	// Rejections counts the answers that verify rejected.
	Rejections int64 `json:"rejections,omitempty" cbor:"5,keyasint,omitempty"`
	// Trigger is why finalisation was forced; empty when it was not.
	Trigger string `json:"trigger,omitempty" cbor:"6,keyasint,omitempty"`
	// HasPrompt tells that the forced turn was announced to the model.
	HasPrompt bool `json:"has_prompt,omitempty" cbor:"7,keyasint,omitempty"`
	// FinalPrompted tells that the final-answer prompt was given.
	FinalPrompted bool `json:"final_prompted,omitempty" cbor:"8,keyasint,omitempty"`
	// MaxTurns is the turn limit in force; null for none.
	MaxTurns *int64 `json:"max_turns" cbor:"9,keyasint,omitempty"`
}

// Decided is what the conversation machine decided: the stages that it went through, and where it stands.
type Decided struct {
	Operation string  `json:"operation" cbor:"1,keyasint,omitempty"`
	StagePath []Stage `json:"stage_path" cbor:"2,keyasint"`
	Head      Head    `json:"head" cbor:"3,keyasint,omitempty"`
	Info      *Info   `json:"info" cbor:"4,keyasint,omitempty"`
}

// Info explains a decision: what was found in the reply, and what followed from it. Keys that say nothing
// are left out.
type Info struct {
	ToolRequestCount    int64    `json:"tool_request_count,omitempty" cbor:"1,keyasint,omitempty"`
	FinishReason        string   `json:"finish_reason,omitempty" cbor:"2,keyasint,omitempty"`
	HadContent          *bool    `json:"token_exhaustion_had_content,omitempty" cbor:"3,keyasint,omitempty"`
	RefusalKeywords     []string `json:"refusal_keywords,omitempty" cbor:"4,keyasint,omitempty"`
	FormatKeywords      []string `json:"wrong_tool_call_format_keywords,omitempty" cbor:"5,keyasint,omitempty"`
	FormatStrategy      string   `json:"format_error_strategy,omitempty" cbor:"6,keyasint,omitempty"`
	OffendingPreview    string   `json:"offending_content_preview,omitempty" cbor:"7,keyasint,omitempty"`
	OffendingLength     int64    `json:"offending_content_length,omitempty" cbor:"8,keyasint,omitempty"`
	RollbackReason      string   `json:"rollback_reason,omitempty" cbor:"9,keyasint,omitempty"`
	RollbackCount       *int64   `json:"rollback_message_count,omitempty" cbor:"10,keyasint,omitempty"`
	AssistantRollbacks  int64    `json:"assistant_rollback_count,omitempty" cbor:"11,keyasint,omitempty"`
	DirectAnswer        *string  `json:"direct_final_answer,omitempty" cbor:"12,keyasint,omitempty"`
	DirectAnswerPreview string   `json:"direct_final_answer_preview,omitempty" cbor:"13,keyasint,omitempty"`
	FinalizationTrigger string   `json:"finalization_trigger,omitempty" cbor:"14,keyasint,omitempty"`
	HasEarlyStopPrompt  *bool    `json:"has_early_stop_prompt,omitempty" cbor:"15,keyasint,omitempty"`
	GoalRejectedReason  string   `json:"goal_rejected_reason,omitempty" cbor:"16,keyasint,omitempty"`
	ForceFinalizeStage  string   `json:"force_finalize_stage,omitempty" cbor:"17,keyasint,omitempty"`
	BudgetStop          bool     `json:"context_budget_stop,omitempty" cbor:"18,keyasint,omitempty"`
	ForceRecovery       bool     `json:"force_finalization_recovery,omitempty" cbor:"19,keyasint,omitempty"`
	TokenRecovery       bool     `json:"token_exhaustion_recovery,omitempty" cbor:"20,keyasint,omitempty"`
	ContextRecovery     bool     `json:"context_limit_error_recovery,omitempty" cbor:"21,keyasint,omitempty"`
	SkippedFinal        bool     `json:"skipped_budget_limit_final_response,omitempty" cbor:"22,keyasint,omitempty"`
	SkippedTurnLimit    bool     `json:"skipped_turn_limit_final_response,omitempty" cbor:"23,keyasint,omitempty"`
	SkippedContextLimit bool     `json:"skipped_context_limit_final_response,omitempty" cbor:"24,keyasint,omitempty"`
	SkippedExhausted    bool     `json:"skipped_tools_exhausted_final_response,omitempty" cbor:"25,keyasint,omitempty"`
	// Context is what the context window had room for.
	Context         *ContextEstimate `json:"context_limit_estimate,omitempty" cbor:"26,keyasint,omitempty"`
	VisibleMessages int64            `json:"visible_message_count" cbor:"27,keyasint,omitempty"`
	Messages        int64            `json:"raw_message_count" cbor:"28,keyasint,omitempty"`
	Appended        int64            `json:"appended_message_count" cbor:"29,keyasint,omitempty"`
	AssistantTurn   int64            `json:"assistant_turn_idx" cbor:"30,keyasint,omitempty"`
}

// ContextEstimate is what the context window had room for when a decision was made, in tokens.
type ContextEstimate struct {
	Prompt        int64  `json:"estimated_prompt_tokens" cbor:"1,keyasint,omitempty"`
	Reserved      int64  `json:"reserved_output_tokens" cbor:"2,keyasint,omitempty"`
	Margin        int64  `json:"context_safety_margin" cbor:"3,keyasint,omitempty"`
	Total         int64  `json:"estimated_total_tokens" cbor:"4,keyasint,omitempty"`
	Remaining     *int64 `json:"remaining_tokens" cbor:"5,keyasint,omitempty"`
	MinGeneration int64  `json:"min_tokens_for_generation" cbor:"6,keyasint,omitempty"`
	Warning       int64  `json:"context_warning_threshold" cbor:"7,keyasint,omitempty"`
	Window        *int64 `json:"context_window" cbor:"8,keyasint,omitempty"`
	HardStop      bool   `json:"hard_stop" cbor:"9,keyasint,omitempty"`
	NeedsFinal    bool   `json:"needs_final_warning" cbor:"10,keyasint,omitempty"`
	Exceeds       bool   `json:"exceeds_context" cbor:"11,keyasint,omitempty"`
	// PromptFit is a field of its own in a record, and part of this object in JSON.
	*PromptFit    `cbor:"14,keyasint,omitempty"`
	ProviderError json.RawMessage `json:"provider_error,omitempty" cbor:"12,keyasint,omitempty"`
	Detection     string          `json:"context_limit_detection,omitempty" cbor:"13,keyasint,omitempty"`
}

// PromptFit is what room the announcement of a forced turn finds, in tokens.
type PromptFit struct {
	WithPrompt int64  `json:"estimated_prompt_with_warning_tokens" cbor:"1,keyasint,omitempty"`
	Remaining  *int64 `json:"warning_remaining_tokens" cbor:"2,keyasint,omitempty"`
	Fits       bool   `json:"warning_prompt_fits" cbor:"3,keyasint,omitempty"`
}

func (*RecipeConsulted) Type() Type    { return TypeRecipeConsulted }
func (*MessageAppended) Type() Type    { return TypeMessageAppended }
func (*RollbackMarked) Type() Type     { return TypeRollbackMarked }
func (*MarkerAppended) Type() Type     { return TypeMarkerAppended }
func (*PromptObserved) Type() Type     { return TypePromptObserved }
func (*ConversationReset) Type() Type  { return TypeConversationReset }
func (*FinalizationForced) Type() Type { return TypeFinalizationForced }
func (*Decided) Type() Type            { return TypeDecided }
