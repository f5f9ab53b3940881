package core

import (
	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// Reasons of ReplanRequested that this machine gives.
const (
	replanConflict     = "conflict"      // the world is not as the model saw it
	replanPlanFailed   = "plan_failed"   // what the rest of the plan needs did not succeed
	replanGoalRejected = "goal_rejected" // the answer does not hold
)

// replan says that the plan no longer fits, where a step of a batch shows it. What it is to be replaced by is the model's
// next turn, which reads why from the results.
func (d *draft) replan(steps []task.Step) {
	plan := d.planned()
	for i := range steps {
		step := &steps[i]
		reason, cause := "", step.Settled
		if step.State == task.Failed && step.Class == string(abi.ClassConflict) {
			reason = replanConflict
		} else if _, failed := before(plan, steps, i); step.State == task.Cancelled && failed != "" {
			reason = replanPlanFailed
		}
		if reason != "" {
			d.emit(&event.ReplanRequested{Reason: reason}, cause)
			return
		}
	}
}
