package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/repair"
)

// Reasons why a step is denied.
const (
	deniedUnknownTool  = "unknown_tool"
	deniedArguments    = "invalid_arguments"
	deniedPrecondition = "precondition"
	deniedPerReply     = "per_reply_limit"
	deniedPerTask      = "per_task_limit"
	deniedPerTool      = "per_tool_limit"
	deniedSame         = "same_arguments"
)

// callCounts counts the calls that ran.
type callCounts struct {
	total  int64
	byTool map[string]int64
	// last is what each tool was last called with, and how often in a row.
	last map[string]repeated
}

type repeated struct {
	args  string // their digest
	times int64
}

func newCallCounts() callCounts {
	return callCounts{byTool: map[string]int64{}, last: map[string]repeated{}}
}

func (c *callCounts) clone() callCounts {
	return callCounts{total: c.total, byTool: maps.Clone(c.byTool), last: maps.Clone(c.last)}
}

func (c *callCounts) add(tool, args string) {
	c.total++
	c.byTool[tool]++
	times := int64(1)
	if last := c.last[tool]; last.args == args {
		times += last.times
	}
	c.last[tool] = repeated{args, times}
}

// limited says why one more call would be one too many; empty when it is not. inReply counts the calls of
// this reply that run.
func (l *Limits) limited(c *callCounts, inReply int64, tool, args string) (reason, text string) {
	reached := func(limit *int64, n int64) bool { return limit != nil && n >= *limit }
	last := c.last[tool]
	switch {
	case reached(l.CallsPerReply, inReply):
		return deniedPerReply, fmt.Sprintf("No more than %d calls of one reply are run. The call was not run.", *l.CallsPerReply)
	case reached(l.CallsPerTask, c.total):
		return deniedPerTask, fmt.Sprintf("All %d tool calls of this task are used up. The call was not run.", *l.CallsPerTask)
	case reached(l.CallsPerTool, c.byTool[tool]):
		return deniedPerTool, fmt.Sprintf("All %d calls of %s are used up. The call was not run.", *l.CallsPerTool, tool)
	case last.args == args && reached(l.SameArguments, last.times):
		return deniedSame, fmt.Sprintf("%s was just called %d times with these arguments. Try something else. The call was not run.", tool, last.times)
	}
	return "", ""
}

// exhausted tells whether no tool can be called any more.
func (s *State) exhausted(c *callCounts) bool {
	l := &s.config.Limits
	if l.CallsPerTask != nil && c.total >= *l.CallsPerTask {
		return true
	}
	offered := false
	for _, p := range s.created.Tools {
		for _, t := range p.Tools {
			offered = true
			if l.CallsPerTool == nil || c.byTool[t.Name] < *l.CallsPerTool {
				return false
			}
		}
	}
	return offered
}

// deny says why a call cannot run; nil when it can. The text is for the model.
func (d *draft) deny(requested *event.Event, misfit, unmet string, inReply int64) *event.StepDenied {
	request := requested.Payload.(*event.ToolRequested)
	tool := request.Tool
	if d.s.tool(tool) == nil {
		return &event.StepDenied{Reason: deniedUnknownTool, Text: fmt.Sprintf("There is no tool %q. %s", tool, d.s.toolNames())}
	}
	if reason, text := d.s.config.Limits.limited(&d.calls, inReply, tool, requested.Args); reason != "" {
		return &event.StepDenied{Reason: reason, Text: text}
	}
	var object map[string]json.RawMessage
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal([]byte(effective(request)), &object); {
	case errors.As(err, &wrong):
		misfit = "they must be one JSON object, not " + wrong.Value
	case err != nil:
		misfit = "they must be one JSON object: " + err.Error()
	case object == nil:
		misfit = "they must be one JSON object, not null"
	}
	if misfit == "" {
		if _, err := abi.Resources(d.s.tool(tool).Resources, json.RawMessage(effective(request))); err != nil {
			misfit = err.Error()
		}
	}
	switch {
	case misfit == "" && unmet == "":
		return nil
	case misfit == "":
		return &event.StepDenied{Reason: deniedPrecondition, Text: fmt.Sprintf("%s may not be called so: %s. The call was not run.", tool, unmet)}
	}
	return &event.StepDenied{Reason: deniedArguments, Text: fmt.Sprintf("The arguments of %s do not fit: %s. The call was not run.", tool, misfit)}
}

func (s *State) toolNames() string {
	var names []string
	for _, p := range s.created.Tools {
		for _, t := range p.Tools {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return "No tools are offered."
	}
	slices.Sort(names)
	return "The tools are: " + strings.Join(names, ", ") + "."
}

// EffectiveArguments gives the arguments that the i-th call of a reply would run with, and how they came
// about: the recipe's repair, then the repairs that the configuration allows, else the model's own.
func EffectiveArguments(s *State, c event.ToolCall, i int, answers []event.Answer) (arguments string, rules []string) {
	arguments = c.Arguments
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	spec := s.tool(c.Name)
	if spec == nil {
		return arguments, nil
	}
	if a := answeredFor(answers, abi.HookRepairArguments, i); a != nil && a.Decided {
		arguments, rules = a.Output, append(rules, "recipe")
	}
	if s.config.Repair.Enabled {
		if fixed, applied, err := repair.Arguments(spec.Schema, arguments, s.config.Repair); err == nil {
			arguments, rules = fixed, append(rules, applied...)
		}
	}
	return arguments, rules
}

// effective gives the arguments that a step runs with.
func effective(r *event.ToolRequested) string {
	switch {
	case r.Repaired != "":
		return r.Repaired
	case strings.TrimSpace(r.Arguments) == "":
		return "{}"
	}
	return r.Arguments
}
