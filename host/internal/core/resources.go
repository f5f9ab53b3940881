package core

import (
	"encoding/json"
	"slices"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// resources are what a step names as used: calls that name the same resource run one after the other, in call order.
// A call whose resources cannot be told is denied, so there is none here.
func (s *State) resources(step *task.Step) []string {
	return s.named(step.Request.Tool, effective(&step.Request))
}

// named are the resources that a call of a tool names.
func (s *State) named(tool, arguments string) []string {
	spec := s.tool(tool)
	if spec == nil {
		return nil
	}
	names, err := abi.Resources(spec.Resources, json.RawMessage(arguments))
	if err != nil {
		return nil
	}
	return names
}

// held tells whether the i-th step waits for others: by the plan, or for an earlier step of the batch, the outcome of
// which is still to come and which uses what it does.
func (s *State) held(plan []event.PlanItem, steps []task.Step, i int) bool {
	if open, _ := before(plan, steps, i); open {
		return true
	}
	names := s.resources(&steps[i])
	if len(names) == 0 || len(steps[i].Leases) > 0 { // what is made again has them already, and goes first
		return false
	}
	for j := range steps[i+1:] {
		if later := &steps[i+1+j]; len(later.Leases) > 0 && intersect(names, s.resources(later)) {
			return true
		}
	}
	for j := range steps[:i] {
		if open, _ := before(plan, steps, j); open && steps[j].State == task.Ready {
			continue // it waits by the plan, perhaps for this one: the plan's order goes over that of the calls
		}
		if earlier := &steps[j]; !earlier.State.Settled() && !earlier.State.Over() && intersect(names, s.resources(earlier)) {
			return true
		}
	}
	return false
}

func intersect(a, b []string) bool {
	return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}
