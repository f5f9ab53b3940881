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
		return checkKeywords(output)
	case HookFormatError:
		return checkFormatError(output)
	case HookPromptFinal:
		return decodes(output, &PromptFinal{})
	case HookStart:
		return decodes(output, &StartOutput{})
	case HookPlan:
		return checkPlan(output)
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

// decodes decodes an output, whose length, depth and number of values are bounded first: it is done after the guest
// has answered, and so by no deadline.
func decodes(output []byte, into any) error {
	if !utf8.Valid(output) {
		return errors.New("text is not UTF-8")
	}
	switch depth, values := Extent(output); {
	case depth > MaxNesting:
		return fmt.Errorf("nested deeper than %d", MaxNesting)
	case values > MaxValues:
		return fmt.Errorf("%d values are over the limit of %d", values, MaxValues)
	}
	if !isObject(output) {
		return errors.New("not a JSON object")
	}
	if err := json.Unmarshal(output, into); err != nil {
		return fmt.Errorf("not the JSON it should be: %w", err)
	}
	return nil
}

// Extent tells how deep JSON text is nested, and how many values it has at most, in one pass that allocates nothing:
// what both sides look at before they decode what the other one wrote. What is no JSON is another check's business.
func Extent(text []byte) (depth, values int) {
	level, quoted := 0, false
	values = 1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			values++ // the first one in it
			level++
			depth = max(depth, level)
		case c == ',':
			values++
		case c == ']' || c == '}':
			level--
		}
	}
	return depth, values
}

func checkKeywords(output []byte) error {
	var k Keywords
	if err := decodes(output, &k); err != nil {
		return err
	}
	return fewKeywords(k.Keywords)
}

func fewKeywords(keywords []string) error {
	if len(keywords) > MaxKeywords {
		return fmt.Errorf("%d keywords are over the limit of %d", len(keywords), MaxKeywords)
	}
	return nil
}

func checkFormatError(output []byte) error {
	var f FormatError
	if err := decodes(output, &f); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "ignore", "reprompt", "rollback"}, f.Strategy) {
		return fmt.Errorf("strategy %q must be ignore, reprompt or rollback", clip(f.Strategy))
	}
	return fewKeywords(f.Keywords)
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
	if t.Class != "" && !slices.Contains(failureClasses(), t.Class) {
		return fmt.Errorf("class %q is not one of SPEC.md", clip(string(t.Class)))
	}
	return nil
}

func failureClasses() []FailureClass {
	return []FailureClass{
		ClassTransient, ClassRateLimited, ClassInvalidArguments, ClassPermission, ClassConflict, ClassPermanent,
	}
}
