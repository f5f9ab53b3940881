package abi

// Hook names one question that the host asks a plugin.
type Hook string

// The hooks of ABI 1. SPEC.md gives the input and output of each.
const (
	HookDirectFinal     Hook = "direct_final"
	HookRefusal         Hook = "refusal"
	HookFormatError     Hook = "format_error"
	HookPromptFinal     Hook = "prompt_final"
	HookStart           Hook = "start"
	HookPlan            Hook = "plan"
	HookRetrieve        Hook = "retrieve"
	HookRender          Hook = "render"
	HookCompact         Hook = "compact"
	HookDedupe          Hook = "dedupe"
	HookToolOutcome     Hook = "tool_outcome"
	HookRepairArguments Hook = "repair_arguments"
	HookVerify          Hook = "verify"
	HookFinalOutput     Hook = "final_output"
	HookScore           Hook = "score"
	HookToolCall        Hook = "tool_call"
	HookToolReconcile   Hook = "tool_reconcile"
	HookToolCompensate  Hook = "tool_compensate"
	HookToolPreview     Hook = "tool_preview"
	HookToolCheck       Hook = "tool_check"
)

// HookInfo describes one hook of the specification.
type HookInfo struct {
	Name Hook
	// Text tells that the input is the raw UTF-8 of a reply; the input of every other hook is JSON.
	Text bool
	// Tool tells that the hook belongs to the tools of a plugin, not to its recipe.
	Tool bool
	// Served tells that this host calls the hook. A manifest that declares one that is specified but not
	// served is refused by name, since a plugin that counts on it would silently behave differently.
	Served bool
}

// Export returns the name that the hook's function is exported by.
func (h Hook) Export() string { return HookPrefix + string(h) }

// Hooks lists every hook of the specification, in its order. The result is the caller's own.
func Hooks() []HookInfo {
	return []HookInfo{
		{Name: HookDirectFinal, Text: true, Served: true},
		{Name: HookRefusal, Text: true, Served: true},
		{Name: HookFormatError, Text: true, Served: true},
		{Name: HookPromptFinal, Text: true, Served: true},
		{Name: HookStart, Served: true},
		{Name: HookPlan, Served: true},
		{Name: HookRetrieve},
		{Name: HookRender},
		{Name: HookCompact, Served: true},
		{Name: HookDedupe, Served: true},
		{Name: HookToolOutcome, Served: true},
		{Name: HookRepairArguments, Served: true},
		{Name: HookVerify, Served: true},
		{Name: HookFinalOutput, Served: true},
		{Name: HookScore},
		{Name: HookToolCall, Tool: true, Served: true},
		{Name: HookToolReconcile, Tool: true, Served: true},
		{Name: HookToolCompensate, Tool: true, Served: true},
		{Name: HookToolPreview, Tool: true, Served: true},
		{Name: HookToolCheck, Tool: true, Served: true},
	}
}

// LookupHook finds a hook of the specification by name.
func LookupHook(name Hook) (HookInfo, bool) {
	for _, h := range Hooks() {
		if h.Name == name {
			return h, true
		}
	}
	return HookInfo{}, false
}
