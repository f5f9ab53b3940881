package core

import (
	"encoding/json"
	"slices"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/task"
)

// resources are what a step names as used: calls that name the same resource run one after the other, in call order.
// A call whose resources cannot be told is denied, so there is none here.
func (s *State) resources(step *task.Step) []string {
	spec := s.tool(step.Request.Tool)
	if spec == nil {
		return nil
	}
	names, err := abi.Resources(spec.Resources, json.RawMessage(effective(&step.Request)))
	if err != nil {
		return nil
	}
	return names
}

// held tells whether an earlier step of the batch, the outcome of which is still to come, uses what the i-th does.
func (s *State) held(steps []task.Step, i int) bool {
	names := s.resources(&steps[i])
	if len(names) == 0 {
		return false
	}
	for j := range steps[:i] {
		if earlier := &steps[j]; !earlier.State.Settled() && !earlier.State.Over() && intersect(names, s.resources(earlier)) {
			return true
		}
	}
	return false
}

func intersect(a, b []string) bool {
	return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}
