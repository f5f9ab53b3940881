package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/axishost/axishost/host/internal/core"
)

// ErrNotAwaited says that no step of a task waits for a person to find out whether it happened, or not the one that
// was named.
var ErrNotAwaited = errors.New("nobody is waited for to find out what a step did")

// SeveralError says that several steps of a task wait for a person, so that one has to be named.
type SeveralError struct {
	Task  string
	Steps []int64
}

func (e *SeveralError) Error() string {
	var names []string
	for _, step := range e.Steps {
		names = append(names, strconv.FormatInt(step, 10))
	}
	return fmt.Sprintf("task %s: steps %s wait: say which with --step", e.Task, strings.Join(names, " and "))
}

// Outcome is what a person found out about a step that may have happened.
type Outcome struct {
	// Step may be 0 where one step alone waits.
	Step int64
	// Attempt is the attempt that was looked for, so that what is said of it is not taken for one that was made since; 0
	// is the one that waits when DecideOutcome is called.
	Attempt int64
	// Found tells that it happened, and Result what the model is told it gave; otherwise it has not happened, and
	// will not, so that it is made again.
	Found  bool
	Result string
	// Evidence is kept with it; JSON, or nil.
	Evidence json.RawMessage
}

// DecideOutcome takes what a person found out. It runs nothing: the task goes on when it is resumed, unless it was
// cancelled and waited for this alone.
func (h *Host) DecideOutcome(ctx context.Context, id string, o Outcome) (*Result, error) {
	state, err := h.fold(ctx, id)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	if o.Step == 0 {
		if o.Step, err = onlyAwaited(id, state); err != nil {
			return nil, err
		}
	}
	if o.Attempt == 0 {
		o.Attempt = state.Attempt(o.Step)
	}
	r := newRun(h, id, state.Created().Model, state, nil)
	r.onlooker = true
	err = r.feed(ctx, core.OutcomeDecided{Step: o.Step, Attempt: o.Attempt, Found: o.Found, Result: o.Result, Evidence: o.Evidence})
	var not *core.NotAwaitedError
	if errors.As(err, &not) || errors.Is(err, core.ErrEnded) {
		return nil, fmt.Errorf("task %s: %w: %w", id, ErrNotAwaited, err)
	}
	return result(id, state), interrupted(ctx, err)
}

// onlyAwaited gives the step that waits, where it is one.
func onlyAwaited(id string, state *core.State) (int64, error) {
	switch steps := state.Awaited(); len(steps) {
	case 0:
		return 0, fmt.Errorf("task %s: %w", id, ErrNotAwaited)
	case 1:
		return steps[0], nil
	default:
		return 0, &SeveralError{id, steps}
	}
}
