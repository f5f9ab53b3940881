package abi

import (
	"errors"
	"fmt"
)

// PlanInput is the input of plan: a reply whose calls are about to run.
type PlanInput struct {
	Text  string     `json:"text"`
	Calls []ToolCall `json:"calls"`
}

// PlanOutput is the output of plan: what is to be done for the goal from here on, as far as is known.
type PlanOutput struct {
	Items []PlanItem `json:"items"`
}

// PlanItem is one thing to be done.
type PlanItem struct {
	// ID is its name, the same in later plans.
	ID   string `json:"id"`
	Text string `json:"text,omitempty"`
	// CallID is the call of the reply that does it; empty for what is to be done later.
	CallID string `json:"call_id,omitempty"`
	// Needs are the ids of the items that come first: its call waits for theirs, and does not run when one of them
	// fails.
	Needs []string `json:"needs,omitempty"`
}

// checkPlan refuses a plan that cannot be followed: without names, with a name twice, with needs that nobody meets.
func checkPlan(output []byte) error {
	var p PlanOutput
	if err := decodes(output, &p); err != nil {
		return err
	}
	if len(p.Items) > MaxPlanItems {
		return fmt.Errorf("%d items are over the limit of %d", len(p.Items), MaxPlanItems)
	}
	needs := map[string][]string{}
	for _, item := range p.Items {
		_, twice := needs[item.ID]
		switch {
		case item.ID == "" || len(item.ID) > MaxNameBytes:
			return fmt.Errorf("item %q must have an id of 1 to %d bytes", clip(item.ID), MaxNameBytes)
		case twice:
			return fmt.Errorf("item %q is there twice", clip(item.ID))
		}
		needs[item.ID] = item.Needs
	}
	for _, item := range p.Items {
		for _, need := range item.Needs {
			if _, known := needs[need]; !known {
				return fmt.Errorf("item %q needs %q, which is not in the plan", clip(item.ID), clip(need))
			}
		}
	}
	return acyclic(needs)
}

// acyclic refuses items that wait for each other. It takes away what waits for nothing, as long as there is something.
func acyclic(needs map[string][]string) error {
	waiting, followers := map[string]int{}, map[string][]string{}
	var free []string
	for id, before := range needs {
		if waiting[id] = len(before); len(before) == 0 {
			free = append(free, id)
		}
		for _, need := range before {
			followers[need] = append(followers[need], id)
		}
	}
	done := 0
	for len(free) > 0 {
		id := free[len(free)-1]
		free = free[:len(free)-1]
		done++
		for _, next := range followers[id] {
			if waiting[next]--; waiting[next] == 0 {
				free = append(free, next)
			}
		}
	}
	if done < len(needs) {
		return errors.New("items need each other in a circle")
	}
	return nil
}
