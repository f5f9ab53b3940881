package core

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// A recipe's plan says which calls of a reply wait for which, and what is still to be done. Without one each call is a
// thing of its own: its ToolRequested says all that a plan of it would.

// planQuestion asks what a reply's calls are part of.
func planQuestion(reply *event.ModelReplied) Question {
	in := abi.PlanInput{Text: reply.Message.Content, Calls: visibleMessage(&reply.Message).ToolCalls}
	return Question{Hook: abi.HookPlan, Input: encode(in)}
}

// plan emits what the recipe planned; nil where it did not.
func (d *draft) plan(answers []event.Answer, cause uint64) {
	var out abi.PlanOutput
	a := answered(answers, abi.HookPlan)
	if a == nil || !a.Decided || json.Unmarshal([]byte(a.Output), &out) != nil {
		return
	}
	proposed := &event.PlanProposed{Source: "recipe", Items: []event.PlanItem{}}
	for _, item := range out.Items {
		proposed.Items = append(proposed.Items, event.PlanItem(item))
	}
	e := d.emit(proposed, cause)
	e.Actor, e.Actor.ID = recipeActor, d.s.created.Recipe.Name
}

// item is the item of the plan that a step does; nil when there is none.
func item(plan []event.PlanItem, step *task.Step) *event.PlanItem {
	i := slices.IndexFunc(plan, func(p event.PlanItem) bool { return p.CallID != "" && p.CallID == step.Request.CallID })
	if i < 0 {
		return nil
	}
	return &plan[i]
}

// before tells of what the i-th step waits for by the plan: whether that is still to come, and the item that failed.
func before(plan []event.PlanItem, steps []task.Step, i int) (open bool, failed string) {
	own := item(plan, &steps[i])
	if own == nil {
		return false, ""
	}
	for j := range steps {
		other := item(plan, &steps[j])
		if other == nil || !slices.Contains(own.Needs, other.ID) {
			continue
		}
		switch state := steps[j].State; {
		case !state.Settled() && !state.Over():
			open = true
		case state != task.Observing:
			failed = other.ID
		}
	}
	return open, failed
}

// giveUp closes the steps that wait for an item which failed, and those that wait for them.
func (d *draft) giveUp() error {
	for again := true; again; {
		again = false
		steps, err := d.steps()
		if err != nil {
			return err
		}
		plan := d.planned()
		for i := range steps {
			step := &steps[i]
			if _, failed := before(plan, steps, i); step.State == task.Ready && failed != "" {
				reason := fmt.Sprintf("The call was not run: it needs %q, which did not succeed.", failed)
				d.emitStep(step.ID, step.Attempt, &event.StepCancelled{Reason: reason}, step.Readied)
				again = true
			}
		}
	}
	return nil
}

// planned is the plan after the events of this draft.
func (d *draft) planned() []event.PlanItem {
	for _, e := range slices.Backward(d.events) {
		if p, ok := e.Payload.(*event.PlanProposed); ok {
			return p.Items
		}
	}
	return d.s.plan
}

// progress counts what is done and what is not: items of the plan, or steps where there was none.
func (d *draft) progress() (done, undone int64) {
	if len(d.s.plan) == 0 {
		done = int64(len(d.s.evidence))
		return done, d.s.stepCount - done
	}
	for i := range d.s.plan {
		if d.s.items[d.s.plan[i].ID] {
			done++
		}
	}
	return done, int64(len(d.s.plan)) - done
}

// finish notes that the item of a step which was observed is done.
func (s *State) finish(step *task.Step) {
	if own := item(s.plan, step); own != nil && step.Succeeded {
		s.items[own.ID] = true
	}
}
