package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// Cancelling takes two commits at most. The first says that it was asked for, closes what had not begun, and settles
// the model call under way: from then on nothing begins. Where no step is executing it ends the task as well; else
// each of those is cut off, and whatever closes the last one ends the task in the same commit. So the end is
// written only when nothing is under way, and a crash in between leaves the request, which a claim completes.

// whileCancelling are the events that a task can have between the request to cancel it and its end.
var whileCancelling = []event.Type{
	event.TypeClaimed, event.TypeModelFailed, event.TypeToolSucceeded, event.TypeToolFailed, event.TypeStepCancelled,
	event.TypeCancelAcknowledged, event.TypeObservationRecorded, event.TypeTaskCancelled, event.TypePluginRejected,
	event.TypeToolUnknown, event.TypeReconcileStarted, event.TypeReconcileInconclusive, event.TypeOperationFound,
	event.TypeOperationAbsent, event.TypeHostOperation, event.TypeLeaseReleased, event.TypeCompensationSucceeded, event.TypeCompensationFailed,
}

// heeds tells whether an input can still lead to something, once the task is being cancelled.
func (s *State) heeds(in Input) bool {
	switch in.(type) {
	case TaskSubmitted, PluginsRejected, Claimed, ToolFinished, ToolCancelled, TimerFired, OperationBegan, OperationEnded,
		Reconciled, OutcomeDecided, Compensated:
		return true
	}
	return s.cancel == nil
}

func (d *draft) cancelRequested(in CancelRequested) error {
	s := d.s
	request := &event.CancelRequested{Reason: in.Reason}
	for i := range s.steps {
		if step := &s.steps[i]; step.State.Unsure() || s.toRepeat(step) {
			request.InFlight = append(request.InFlight, event.InFlight{
				Step: step.ID, Attempt: step.Attempt, Tool: step.Request.Tool, OperationID: step.Request.OperationID,
			})
		}
	}
	if u := turn(d.undos); u != nil && u.State == task.UndoExecuting {
		op := &d.compensates.Operations[u.ID-1]
		request.InFlight = append(request.InFlight, event.InFlight{
			Step: u.ID, Attempt: u.Attempt, Tool: op.Tool, OperationID: CompensationID(d.compensates.Task, op.OperationID),
		})
	}
	e := d.emit(request, 0)
	if e.Actor = in.Actor; e.Actor.Kind == "" {
		e.Actor = userActor
	}
	if s.request != 0 {
		d.emit(&event.ModelFailed{
			Class: event.ClassCancelled, Reason: "the task was cancelled before the reply was known",
		}, s.request).Attempt = s.failures + 1
	}
	for i := range s.steps {
		switch step := &s.steps[i]; {
		case s.toRepeat(step):
			const reason = "it got no answer, and is not made again since the task was cancelled"
			unknown := &event.ToolUnknown{Class: event.ClassLost, Reason: reason, Operations: step.Operations}
			d.probe(step, d.emitStep(step.ID, step.Attempt, unknown, e.Seq).Seq)
		case slices.Contains(notBegun, step.State):
			d.emitStep(step.ID, step.Attempt, &event.StepCancelled{Reason: "the task was cancelled"}, e.Seq)
		}
	}
	return d.endCancelled(request, e.Seq)
}

// notBegun are the states of a step that is closed by a cancel at once.
var notBegun = []task.State{task.Proposed, task.AwaitingPermission, task.AwaitingApproval, task.Validating, task.Ready, task.Failed}

// toRepeat tells whether a step waits to be made again under the same operation id, and may have happened before.
func (s *State) toRepeat(step *task.Step) bool { return step.State == task.Ready && s.inDoubt(step) }

// toolCancelled closes a step whose call was cut off.
func (d *draft) toolCancelled(in ToolCancelled) error {
	s := d.s
	step := s.step(in.Step)
	switch {
	case step == nil || step.State != task.Executing || step.Attempt != in.Attempt:
		return nil // its outcome came first
	case s.cancel == nil:
		return fmt.Errorf("step %d is not being cancelled", in.Step)
	}
	d.acknowledge(step, s.cancelSeq)
	return d.endCancelled(s.cancel, s.cancelSeq)
}

// acknowledge says that a call no longer runs. One that may have changed the world is looked for before the task ends;
// any other has changed nothing, or nothing that a repetition would not have changed.
func (d *draft) acknowledge(step *task.Step, cause uint64) {
	unsure := d.s.mayHaveHappened(step) || d.s.mayRepeat(step)
	e := d.emitStep(step.ID, step.Attempt, &event.CancelAcknowledged{NothingHappened: !unsure}, cause)
	if unsure {
		d.probe(step, e.Seq)
	}
}

// takeOverCancelled ends what an earlier worker was asked to: its calls died with it.
func (d *draft) takeOverCancelled(claim uint64) error {
	for i := range d.s.steps {
		switch step := &d.s.steps[i]; {
		case step.State == task.Executing:
			d.acknowledge(step, claim)
		case step.State == task.Reconciling && step.Probing:
			d.startProbe(step, step.Tries, claim)
		case step.State == task.AwaitingOutcome && d.s.reconciles(step):
			d.startProbe(step, step.Tries+1, claim)
		}
	}
	return d.endCancelled(d.s.cancel, d.s.cancelSeq)
}

// endCancelled ends the task, unless what a step did is not known yet after the events of this draft.
func (d *draft) endCancelled(request *event.CancelRequested, cause uint64) error {
	steps, err := d.steps()
	if err != nil {
		return err
	}
	for i := range steps {
		if steps[i].State.Unsure() {
			return nil
		}
	}
	if u := turn(d.undos); u != nil && u.State == task.UndoExecuting {
		return nil
	}
	end := &event.TaskCancelled{Reason: request.Reason, InFlight: slices.Clone(request.InFlight)}
	for i := range end.InFlight {
		if end.InFlight[i].End = endOf(steps, end.InFlight[i].Step); d.compensates != nil {
			end.InFlight[i].End = endOfUndo(&d.undos[end.InFlight[i].Step-1])
		}
	}
	for i := range steps {
		switch step := &steps[i]; step.State {
		case task.Failed, task.Ready: // failed meanwhile, or was found not to have happened
			d.emitStep(step.ID, step.Attempt, &event.StepCancelled{Reason: "the task was cancelled"}, step.Settled)
		case task.Observing, task.Denied:
			d.emitStep(step.ID, step.Attempt, &event.ObservationRecorded{}, step.Settled)
		}
	}
	d.emit(end, cause)
	return nil
}

// steps gives the steps as they are after the events of this draft.
func (d *draft) steps() ([]task.Step, error) {
	steps, _, err := d.outcomes()
	return steps, err
}

// outcomes gives the steps as they are after the events of this draft, and the messages of those that are settled.
func (d *draft) outcomes() ([]task.Step, map[uint64]event.Message, error) {
	after := New()
	after.created, after.steps, after.stepCount = d.s.created, slices.Clone(d.s.steps), d.s.stepCount
	maps.Copy(after.made, d.s.made)
	for _, e := range d.events {
		if e.Step == 0 || d.compensates != nil {
			continue
		}
		if err := after.evolveStep(e); err != nil {
			return nil, nil, err
		}
	}
	return after.steps, after.made, nil
}

// endOf tells how a step ended, before it is closed.
func endOf(steps []task.Step, id int64) string {
	for i := range steps {
		switch {
		case steps[i].ID != id:
		case steps[i].State == task.Observing:
			return event.EndDone
		case steps[i].State == task.Failed:
			return event.EndFailed
		}
	}
	return event.EndCancelled
}
