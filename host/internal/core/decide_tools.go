package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// Reasons why a step is denied.
const (
	deniedUnknownTool = "unknown_tool"
	deniedArguments   = "invalid_arguments"
)

func (d *draft) emitStep(step, attempt int64, p event.Payload, cause uint64) *event.Event {
	e := d.emit(p, cause)
	e.Step, e.Attempt = step, attempt
	return e
}

// propose makes a step of each call, denies those that cannot run, and starts as many as may run at once.
func (d *draft) propose(calls []event.ToolCall, cause uint64) {
	started := int64(0)
	for i, c := range calls {
		id := d.s.stepCount + int64(i) + 1
		requested := d.emitStep(id, 0, &event.ToolRequested{
			CallID: c.ID, Tool: c.Name, Arguments: c.Arguments, OperationID: operationID(d.task, id, c.Arguments),
		}, cause).Seq
		if denied := d.deny(c, d.misfits[i]); denied != nil {
			d.emitStep(id, 0, denied, requested)
			continue
		}
		authorized := d.emitStep(id, 0, &event.ToolAuthorized{}, requested).Seq
		if started < d.s.config.Limits.ParallelTools {
			started++
			d.emitStep(id, 1, &event.ToolStarted{}, authorized)
		}
	}
}

// deny says why a call cannot run; nil when it can. The text is for the model.
func (d *draft) deny(c event.ToolCall, misfit string) *event.StepDenied {
	if d.s.tool(c.Name) == nil {
		return &event.StepDenied{Reason: deniedUnknownTool, Text: fmt.Sprintf("There is no tool %q. %s", c.Name, d.s.toolNames())}
	}
	var object map[string]json.RawMessage
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal([]byte(Arguments(c.Arguments)), &object); {
	case errors.As(err, &wrong):
		misfit = "they must be one JSON object, not " + wrong.Value
	case err != nil:
		misfit = "they must be one JSON object: " + err.Error()
	case object == nil:
		misfit = "they must be one JSON object, not null"
	}
	if misfit == "" {
		return nil
	}
	return &event.StepDenied{Reason: deniedArguments, Text: fmt.Sprintf("The arguments of %s do not fit: %s. The call was not run.", c.Name, misfit)}
}

// Arguments gives the arguments of a call as JSON: a call without any has an empty text.
func Arguments(raw string) string {
	if strings.TrimSpace(raw) == "" {
		return "{}"
	}
	return raw
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

// operationID is the same over all attempts of a step, and differs between any two steps.
func operationID(task string, step int64, arguments string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", task, step, arguments))
	return hex.EncodeToString(sum[:16])
}

// toolFinished settles a step, starts the next that waits, and closes the batch when it was the last.
func (d *draft) toolFinished(in ToolFinished) error {
	s := d.s
	step := s.step(in.Step)
	if step == nil || step.State != task.Executing || step.Attempt != in.Attempt {
		return nil // of an earlier attempt, or of a batch that is closed
	}
	settled := d.emitStep(step.ID, step.Attempt, outcome(in), step.Started)
	settled.Actor = event.Actor{Kind: event.ActorTool, ID: step.Request.Tool}
	if in.Fault != "" || s.stop != nil {
		return nil // stopped: what was under way is recorded, nothing new begins
	}
	open := false
	for i := range s.steps {
		other := &s.steps[i]
		switch {
		case other.ID == step.ID:
		case other.State == task.Ready:
			d.emitStep(other.ID, other.Attempt+1, &event.ToolStarted{}, settled.Seq)
			return nil
		case !other.State.Settled():
			open = true
		}
	}
	if open {
		return nil
	}
	return d.closeBatch(settled)
}

// outcome gives the event that an outcome becomes. A status that this host does not act upon otherwise,
// unknown, is a failure: only tools that may run again are offered at all.
func outcome(in ToolFinished) event.Payload {
	switch {
	case in.Fault != "":
		return &event.ToolFailed{Class: string(abi.ClassPermanent), Reason: in.Fault, Fault: true}
	case in.Output.Status == abi.ToolOK:
		return &event.ToolSucceeded{Result: in.Output.Result, Evidence: in.Output.Evidence}
	default:
		class := in.Output.Class
		if class == "" {
			class = abi.ClassPermanent
		}
		return &event.ToolFailed{Class: string(class), Reason: in.Output.Result}
	}
}

// closeBatch hands all results to the conversation, in call order whatever order they came in. settled is
// the event of this draft that settled the last step; nil when all were settled before.
func (d *draft) closeBatch(settled *event.Event) error {
	op := conv.Results{}
	for i := range d.s.steps {
		step := &d.s.steps[i]
		result := conv.Result{Message: d.s.made[step.Settled], Of: step.Settled}
		succeeded := step.State == task.Observing
		if settled != nil && settled.Step == step.ID {
			result.Of = settled.Seq
			result.Message, _ = observation(step, settled.Payload)
			succeeded = settled.Payload.Type() == event.TypeToolSucceeded
		}
		op.Results = append(op.Results, result)
		op.ResetRollbacks = op.ResetRollbacks || succeeded
		d.emitStep(step.ID, step.Attempt, &event.ObservationRecorded{}, result.Of)
	}
	return d.apply(d.s.conv, op, d.seq)
}
