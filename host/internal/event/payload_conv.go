package event

import "encoding/json"

// RecipeConsulted holds what the recipe answered for one decision. On recovery these answers are used, and
// the recipe is not asked again.
type RecipeConsulted struct {
	Digest  string   `json:"digest"`
	Answers []Answer `json:"answers"`
}

// Answer is what one hook said.
type Answer struct {
	Hook string `json:"hook"`
	// Call is which call of the reply it is about, from 1; 0 for the reply.
	Call int64 `json:"call,omitempty"`
	// Decided is false when the host's default holds.
	Decided bool `json:"decided,omitempty"`
	// Output is the hook's output when it decided.
	Output string `json:"output,omitempty"`
	// Fault is why the hook failed; it then decided nothing.
	Fault string `json:"fault,omitempty"`
}

// MessageAppended adds a message to the conversation. A message that another event already holds is not
// stored twice: Of is then that event's sequence number, and Message is empty.
type MessageAppended struct {
	Message *Message `json:"message,omitempty"`
	Of      uint64   `json:"of,omitempty"`
	// Joined tells that it was appended together with the message before it: a batch is estimated as one.
	Joined bool `json:"joined,omitempty"`
}

// RollbackMarked hides the last Count visible messages. The log keeps them, and what they did stays done.
type RollbackMarked struct {
	Count  int64  `json:"count"`
	Reason string `json:"reason"`
}

// MarkerAppended adds a marker that a recipe wrote, word for word: what it says of the visible messages holds
// where it can be read, and nothing where it cannot.
type MarkerAppended struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// PromptObserved is how many tokens the endpoint counted for what was visible.
type PromptObserved struct {
	Tokens int64 `json:"tokens"`
}

// ConversationReset takes a conversation back to before its first message.
type ConversationReset struct{}

// FinalizationForced says that the next reply is the last one.
type FinalizationForced struct {
	Trigger   string `json:"trigger"`
	HasPrompt bool   `json:"has_prompt"`
}

// Head is where a conversation stands: everything about it but its messages.
type Head struct {
	Stage string `json:"stage"`
	// Turns counts the replies, less those that were rolled back.
	Turns int64 `json:"turns"`
	// Rollbacks counts the rollbacks in a row.
	Rollbacks int64 `json:"rollbacks,omitempty"`
	// Reprompts counts the format reprompts in a row.
	Reprompts int64 `json:"reprompts,omitempty"`
	// Rejections counts the answers that verify rejected.
	Rejections int64 `json:"rejections,omitempty"`
	// Trigger is why finalisation was forced; empty when it was not.
	Trigger string `json:"trigger,omitempty"`
	// HasPrompt tells that the forced turn was announced to the model.
	HasPrompt bool `json:"has_prompt,omitempty"`
	// FinalPrompted tells that the final-answer prompt was given.
	FinalPrompted bool `json:"final_prompted,omitempty"`
	// MaxTurns is the turn limit in force; null for none.
	MaxTurns *int64 `json:"max_turns"`
}

// Decided is what the conversation machine decided: the stages that it went through, and where it stands.
type Decided struct {
	Operation string   `json:"operation"`
	StagePath []string `json:"stage_path"`
	Head      Head     `json:"head"`
	Info      *Info    `json:"info"`
}

// Info explains a decision: what was found in the reply, and what followed from it. Keys that say nothing
// are left out.
type Info struct {
	ToolRequestCount    int64    `json:"tool_request_count,omitempty"`
	FinishReason        string   `json:"finish_reason,omitempty"`
	HadContent          *bool    `json:"token_exhaustion_had_content,omitempty"`
	RefusalKeywords     []string `json:"refusal_keywords,omitempty"`
	FormatKeywords      []string `json:"wrong_tool_call_format_keywords,omitempty"`
	FormatStrategy      string   `json:"format_error_strategy,omitempty"`
	OffendingPreview    string   `json:"offending_content_preview,omitempty"`
	OffendingLength     int64    `json:"offending_content_length,omitempty"`
	RollbackReason      string   `json:"rollback_reason,omitempty"`
	RollbackCount       *int64   `json:"rollback_message_count,omitempty"`
	AssistantRollbacks  int64    `json:"assistant_rollback_count,omitempty"`
	DirectAnswer        *string  `json:"direct_final_answer,omitempty"`
	DirectAnswerPreview string   `json:"direct_final_answer_preview,omitempty"`
	FinalizationTrigger string   `json:"finalization_trigger,omitempty"`
	HasEarlyStopPrompt  *bool    `json:"has_early_stop_prompt,omitempty"`
	GoalRejectedReason  string   `json:"goal_rejected_reason,omitempty"`
	ForceFinalizeStage  string   `json:"force_finalize_stage,omitempty"`
	BudgetStop          bool     `json:"context_budget_stop,omitempty"`
	ForceRecovery       bool     `json:"force_finalization_recovery,omitempty"`
	TokenRecovery       bool     `json:"token_exhaustion_recovery,omitempty"`
	ContextRecovery     bool     `json:"context_limit_error_recovery,omitempty"`
	SkippedFinal        bool     `json:"skipped_budget_limit_final_response,omitempty"`
	SkippedTurnLimit    bool     `json:"skipped_turn_limit_final_response,omitempty"`
	SkippedContextLimit bool     `json:"skipped_context_limit_final_response,omitempty"`
	SkippedExhausted    bool     `json:"skipped_tools_exhausted_final_response,omitempty"`
	// Context is what the context window had room for.
	Context         *ContextEstimate `json:"context_limit_estimate,omitempty"`
	VisibleMessages int64            `json:"visible_message_count"`
	Messages        int64            `json:"raw_message_count"`
	Appended        int64            `json:"appended_message_count"`
	AssistantTurn   int64            `json:"assistant_turn_idx"`
}

// ContextEstimate is what the context window had room for when a decision was made, in tokens.
type ContextEstimate struct {
	Prompt        int64  `json:"estimated_prompt_tokens"`
	Reserved      int64  `json:"reserved_output_tokens"`
	Margin        int64  `json:"context_safety_margin"`
	Total         int64  `json:"estimated_total_tokens"`
	Remaining     *int64 `json:"remaining_tokens"`
	MinGeneration int64  `json:"min_tokens_for_generation"`
	Warning       int64  `json:"context_warning_threshold"`
	Window        *int64 `json:"context_window"`
	HardStop      bool   `json:"hard_stop"`
	NeedsFinal    bool   `json:"needs_final_warning"`
	Exceeds       bool   `json:"exceeds_context"`
	*PromptFit
	ProviderError json.RawMessage `json:"provider_error,omitempty"`
	Detection     string          `json:"context_limit_detection,omitempty"`
}

// PromptFit is what room the announcement of a forced turn finds, in tokens.
type PromptFit struct {
	WithPrompt int64  `json:"estimated_prompt_with_warning_tokens"`
	Remaining  *int64 `json:"warning_remaining_tokens"`
	Fits       bool   `json:"warning_prompt_fits"`
}

func (*RecipeConsulted) Type() Type    { return TypeRecipeConsulted }
func (*MessageAppended) Type() Type    { return TypeMessageAppended }
func (*RollbackMarked) Type() Type     { return TypeRollbackMarked }
func (*MarkerAppended) Type() Type     { return TypeMarkerAppended }
func (*PromptObserved) Type() Type     { return TypePromptObserved }
func (*ConversationReset) Type() Type  { return TypeConversationReset }
func (*FinalizationForced) Type() Type { return TypeFinalizationForced }
func (*Decided) Type() Type            { return TypeDecided }
