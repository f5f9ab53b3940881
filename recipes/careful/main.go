// Command careful is a recipe for agents that search: it knows a query that was made before, has a call that
// failed for a reason that another call may not meet hidden, and repairs arguments that a model wrapped in a
// code fence.
package main

import (
	"encoding/json"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

func init() {
	guest.Dedupe(queryKey)
	guest.ToolOutcome(verdict)
	guest.RepairArguments(unfence)
}

func main() {}

// queryKey makes the same key of queries that differ in case and white space alone.
func queryKey(in abi.DedupeInput) (string, bool, error) {
	var arguments map[string]any
	if err := json.Unmarshal(in.Arguments, &arguments); err != nil {
		return "", false, nil
	}
	for name, value := range arguments {
		if text, ok := value.(string); ok {
			arguments[name] = strings.ToLower(strings.Join(strings.Fields(text), " "))
		}
	}
	canonical, err := json.Marshal(arguments) // keys in order
	return in.Tool + " " + string(canonical), err == nil, err
}

// verdict hides calls that failed for a reason that another call may not meet: the model asks anew, without
// an error to work around.
func verdict(in abi.OutcomeInput) (abi.Verdict, bool, error) {
	switch in.Class {
	case abi.ClassTransient, abi.ClassRateLimited, abi.ClassInvalidArguments:
		return abi.VerdictRollback, true, nil
	}
	return abi.VerdictOK, true, nil
}

// unfence takes a JSON object out of the Markdown code fence that some models put around it.
func unfence(in abi.RepairInput) (json.RawMessage, bool, error) {
	text := strings.TrimSpace(in.Arguments)
	inner, fenced := strings.CutPrefix(text, "```")
	if !fenced {
		return nil, false, nil
	}
	inner = strings.TrimPrefix(inner, "json")
	inner = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner), "```"))
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(inner), &object) != nil || object == nil {
		return nil, false, nil
	}
	return json.RawMessage(inner), true, nil
}
