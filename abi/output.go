package abi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// CheckOutput tells whether output is what hook h gives when it decides: the host checks it before it
// records an answer, so that what is in a log can always be read again.
func CheckOutput(h Hook, output []byte) error {
	if h == HookDirectFinal || h == HookFinalOutput || h == HookDedupe {
		if !utf8.Valid(output) {
			return errors.New("text is not UTF-8")
		}
		return nil
	}
	if len(output) == 0 {
		return errors.New("a decision without output")
	}
	switch h {
	case HookRefusal:
		return decodes(output, &Keywords{})
	case HookFormatError:
		return checkFormatError(output)
	case HookPromptFinal:
		return decodes(output, &PromptFinal{})
	case HookStart:
		return decodes(output, &StartOutput{})
	case HookCompact:
		return checkCompact(output)
	case HookToolOutcome:
		return checkOutcome(output)
	case HookRepairArguments:
		return decodes(output, &map[string]json.RawMessage{})
	case HookVerify:
		return decodes(output, &VerifyOutput{})
	case HookToolCall, HookToolCompensate:
		return checkToolOutput(output)
	case HookToolReconcile:
		return checkReconcile(output)
	case HookToolPreview:
		return checkPreview(output)
	case HookToolCheck:
		return checkCheck(output)
	}
	if !json.Valid(output) {
		return errors.New("not JSON")
	}
	return nil
}

func decodes(output []byte, into any) error {
	if !utf8.Valid(output) {
		return errors.New("text is not UTF-8")
	}
	if deeper(output, MaxNesting) {
		return fmt.Errorf("nested deeper than %d", MaxNesting)
	}
	if !isObject(output) {
		return errors.New("not a JSON object")
	}
	if err := json.Unmarshal(output, into); err != nil {
		return fmt.Errorf("not the JSON it should be: %w", err)
	}
	return nil
}

// deeper tells whether JSON is nested deeper than limit. What is no JSON is another check's business.
func deeper(text []byte, limit int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > limit {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

func checkFormatError(output []byte) error {
	var f FormatError
	if err := decodes(output, &f); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "ignore", "reprompt", "rollback"}, f.Strategy) {
		return fmt.Errorf("strategy %q must be ignore, reprompt or rollback", clip(f.Strategy))
	}
	return nil
}

// checkCompact leaves to the host whether the range lies within the messages, which only the host knows.
func checkCompact(output []byte) error {
	var c CompactOutput
	if err := decodes(output, &c); err != nil {
		return err
	}
	switch {
	case c.From < 0:
		return fmt.Errorf("from %d must be 0 or more", c.From)
	case !c.Discard && c.To <= c.From:
		return fmt.Errorf("to %d must be more than from %d", c.To, c.From)
	}
	return nil
}

func checkOutcome(output []byte) error {
	var o OutcomeOutput
	if err := decodes(output, &o); err != nil {
		return err
	}
	if o.Verdict != VerdictOK && o.Verdict != VerdictRollback {
		return fmt.Errorf("verdict %q must be ok or rollback", clip(string(o.Verdict)))
	}
	return nil
}

func checkToolOutput(output []byte) error {
	var t ToolOutput
	if err := decodes(output, &t); err != nil {
		return err
	}
	if !slices.Contains([]ToolStatus{ToolOK, ToolFailed, ToolUnknown}, t.Status) {
		return fmt.Errorf("status %q must be ok, failed or unknown", clip(string(t.Status)))
	}
	return nil
}
