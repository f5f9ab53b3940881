package core

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// The same failure again (the same tool, the same arguments, the same outcome) is not a repair, whatever the model writes
// around it. After a limit the final turn is forced, and what it says is not taken for success.

// failure names how a step failed; empty where it did not.
func failure(step *task.Step, observed string) string {
	if step.State != task.Failed && step.State != task.Denied {
		return ""
	}
	sum := sha256.Sum256([]byte(observed))
	return step.Request.Tool + " " + step.Args + " " + hex.EncodeToString(sum[:16])
}

// fail counts a failure that is observed.
func (s *State) fail(step *task.Step, observed string) {
	name := failure(step, observed)
	if name == "" {
		return
	}
	s.failed[name]++
	if limit := s.config.Limits.SameFailure; limit != nil && s.failed[name] >= *limit {
		s.stuck = true
	}
}

// stuckAfter tells whether a failure has been observed too often, those of this draft included.
func (d *draft) stuckAfter() bool {
	limit := d.s.config.Limits.SameFailure
	if d.s.stuck || limit == nil {
		return d.s.stuck
	}
	steps, made, err := d.outcomes()
	if err != nil {
		return false // told by whoever evolves them
	}
	counts := map[string]int64{}
	for i := range steps {
		// The events of the draft have closed the steps: what they were before is what their outcome says.
		step := steps[i]
		if step.State != task.Closed || step.Succeeded {
			continue
		}
		step.State = task.Failed
		name := failure(&step, made[step.Settled].Content)
		if counts[name]++; d.s.failed[name]+counts[name] >= *limit {
			return true
		}
	}
	return false
}

// mayAsk tells whether the model may be asked for another turn that is not its last.
func (d *draft) mayAsk(decision *conv.Decision) bool {
	if decision.Stage == conv.ForceFinal {
		return true
	}
	closes := false
	for _, e := range d.events {
		closes = closes || e.Payload.Type() == event.TypeObservationRecorded
	}
	if closes {
		return !d.stuckAfter()
	}
	return !d.s.stuck
}
