package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/plugins"
)

func (r *run) callTool(ctx context.Context, e core.CallTool) core.Input {
	done := core.ToolFinished{Step: e.Step, Attempt: e.Attempt, Jitter: r.h.jitter()}
	p := r.plugins.byTool[e.Tool]
	if p == nil {
		done.Fault, done.Class = notLoaded(e.Tool), faultCrash
		return done
	}
	out, err := p.CallTool(ctx, abi.ToolInput{
		Tool: e.Tool, Arguments: json.RawMessage(e.Arguments), OperationID: e.OperationID, Attempt: e.Attempt, Leases: told(e.Leases),
	}, r.operations(p, e.Tool, e.Step, e.Attempt))
	if ctx.Err() != nil {
		return nil
	}
	if done.Output = out; err != nil {
		done.Fault, done.Class = err.Error(), faultClass(err)
	}
	if err == nil && out.Status == abi.ToolOK {
		done.Unexpected = r.unexpected(ctx, e.Tool, e.Arguments, out.Result)
	}
	done.Tokens = r.count(&event.Message{Content: out.Result, Name: e.Tool})
	return done
}

// told gives leases as a guest is told of them.
func told(leases []core.Lease) []abi.Lease {
	var out []abi.Lease
	for _, l := range leases {
		out = append(out, abi.Lease(l))
	}
	return out
}

// reconcile asks a tool whether a call happened.
func (r *run) reconcile(ctx context.Context, e core.Reconcile) core.Input {
	found := core.Reconciled{Step: e.Step, Try: e.Try, Jitter: r.h.jitter()}
	p := r.plugins.byTool[e.Tool]
	if p == nil {
		found.Fault = notLoaded(e.Tool)
		return found
	}
	out, err := p.Reconcile(ctx, abi.ReconcileInput{
		Tool: e.Tool, Arguments: json.RawMessage(e.Arguments), OperationID: e.OperationID, Attempt: e.Attempt, Try: e.Try,
	}, r.operations(p, e.Tool, e.Step, e.Attempt))
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		found.Fault = err.Error()
		return found
	}
	found.Status, found.Result, found.Evidence, found.Reason = string(out.Status), out.Result, out.Evidence, out.Reason
	found.RetryAfter = out.RetryAfterMillis * 1000
	if out.Status == abi.ReconcileFound {
		found.Unexpected = r.unexpected(ctx, e.Tool, e.Arguments, out.Result)
	}
	found.Tokens = r.count(&event.Message{Content: out.Result, Name: e.Tool})
	return found
}

// compensate lets a tool undo an operation.
func (r *run) compensate(ctx context.Context, e core.Compensate) core.Input {
	done := core.Compensated{Step: e.Step, Attempt: e.Attempt, Jitter: r.h.jitter()}
	p := r.plugins.byTool[e.Tool]
	if p == nil {
		done.Fault, done.Class = notLoaded(e.Tool), faultCrash
		return done
	}
	out, err := p.Compensate(ctx, abi.CompensateInput{
		Tool: e.Tool, Arguments: json.RawMessage(e.Arguments), OperationID: e.OperationID,
		CompensationID: e.CompensationID, Result: e.Result, Evidence: e.Evidence, Leases: told(e.Leases),
	}, r.operations(p, e.Tool, e.Step, e.Attempt))
	if ctx.Err() != nil {
		return nil
	}
	if done.Output = out; err != nil {
		done.Fault, done.Class = err.Error(), faultClass(err)
	}
	return done
}

func notLoaded(tool string) string { return fmt.Sprintf("tool %q: its plugin is not loaded", tool) }

// Classes of faults, as ToolUnknown has them.
const (
	faultCrash   = "crash"
	faultTimeout = "timeout"
	faultTrap    = "trap"
)

func faultClass(err error) string {
	var fault *plugins.CallError
	if !errors.As(err, &fault) {
		return faultCrash
	}
	switch fault.Kind {
	case plugins.FaultTimeout:
		return faultTimeout
	case plugins.FaultTrap, plugins.FaultPanic:
		return faultTrap
	}
	return faultCrash
}
