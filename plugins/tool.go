package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/hostfn"
)

// Operation is how the caller performs an operation for a call of a guest.
type Operation struct {
	// Takes tells whether request is what the operation takes, and does nothing.
	Takes func(request []byte) bool
	// Perform performs it, within ctx, which ends with the call. The request is its own; the response is kept
	// until the call ends. The code is 0 or an error.
	Perform func(ctx context.Context, request []byte) (response []byte, code abi.Code)
}

// Operations are what one call may use besides config/1. What the manifest does not name under requires or
// optional is not granted, whatever stands here; what it names and is not here is denied.
type Operations map[abi.Operation]Operation

// CallTool calls a tool, in an instance of its own. The error is a *CallError, or ctx's own; a tool that
// says that it failed is no error. After an error the call may have happened.
func (p *Plugin) CallTool(ctx context.Context, in abi.ToolInput, ops Operations) (abi.ToolOutput, error) {
	return askTool[abi.ToolOutput](ctx, p, toolQuestion{abi.HookToolCall, in.Tool, in}, p.alone(ops))
}

// Reconcile asks a tool what became of a call, in an instance of its own and within the tool's time.
func (p *Plugin) Reconcile(ctx context.Context, in abi.ReconcileInput, ops Operations) (abi.ReconcileOutput, error) {
	return askTool[abi.ReconcileOutput](ctx, p, toolQuestion{abi.HookToolReconcile, in.Tool, in}, p.alone(ops))
}

// Compensate lets a tool undo a call, in an instance of its own and within the tool's time. After an error the
// call may have been undone.
func (p *Plugin) Compensate(ctx context.Context, in abi.CompensateInput, ops Operations) (abi.ToolOutput, error) {
	return askTool[abi.ToolOutput](ctx, p, toolQuestion{abi.HookToolCompensate, in.Tool, in}, p.alone(ops))
}

// Preview asks a tool to describe a call. It is a hook like those of recipes: without operations, within the time of
// a hook, and from the same image each time.
func (p *Plugin) Preview(ctx context.Context, in abi.PreviewInput) (abi.PreviewOutput, error) {
	return askTool[abi.PreviewOutput](ctx, p, toolQuestion{abi.HookToolPreview, in.Tool, in}, p.pooled)
}

// Check lets a tool check a call. It is a hook as Preview is.
func (p *Plugin) Check(ctx context.Context, in abi.CheckInput) (abi.CheckResult, error) {
	return askTool[abi.CheckResult](ctx, p, toolQuestion{abi.HookToolCheck, in.Tool, in}, p.pooled)
}

// toolQuestion is what a tool is asked.
type toolQuestion struct {
	hook abi.Hook
	tool string
	in   any // encodes as JSON
}

// asker puts input to a hook of a tool.
type asker func(ctx context.Context, hook abi.Hook, spec *abi.ToolSpec, input []byte) (Answer, error)

// askTool puts a question to a tool, which must decide.
func askTool[Out any](ctx context.Context, p *Plugin, q toolQuestion, ask asker) (Out, error) {
	var out Out
	answer, err := p.put(ctx, q, ask)
	var fault *CallError
	if errors.As(err, &fault) {
		fault.Tool = hostfn.Printable([]byte(q.tool), abi.MaxNameBytes)
	}
	if err != nil {
		return out, err
	}
	err = json.Unmarshal(answer.Output, &out) // checked by invoke
	return out, err
}

func (p *Plugin) put(ctx context.Context, q toolQuestion, ask asker) (Answer, error) {
	spec := p.manifest.Tool(q.tool)
	switch {
	case spec == nil:
		return Answer{}, p.callError(q.hook, FaultUndeclared, fmt.Sprintf("was not called: the manifest declares no tool %q", q.tool))
	case !spec.Answers(q.hook):
		return Answer{}, p.callError(q.hook, FaultUndeclared, fmt.Sprintf("was not called: the manifest does not declare it for tool %q", q.tool))
	}
	input, err := json.Marshal(q.in)
	if err != nil {
		return Answer{}, fmt.Errorf("plugin %q: tool %q: arguments: %w", p.manifest.Name, q.tool, err)
	}
	if err := p.checkInput(q.hook, input); err != nil {
		return Answer{}, err
	}
	answer, err := ask(ctx, q.hook, spec, input)
	if err == nil && !answer.Decided {
		err = p.callError(q.hook, FaultBadOutput, "a tool call must decide")
	}
	return answer, err
}

// pooled asks an instance that is put back to its image.
func (p *Plugin) pooled(ctx context.Context, hook abi.Hook, _ *abi.ToolSpec, input []byte) (Answer, error) {
	return p.ask(ctx, hook, input)
}

// alone gives what asks an instance of its own, which may use ops.
func (p *Plugin) alone(ops Operations) asker {
	return func(ctx context.Context, hook abi.Hook, spec *abi.ToolSpec, input []byte) (Answer, error) {
		ctx, cancel := p.toolTimeout(*spec).bound(ctx)
		defer cancel()
		i, err := p.instantiate(ctx)
		if err != nil {
			return Answer{}, err
		}
		defer i.close()
		call := p.newCall(input)
		p.grant(call, ops)
		return p.invoke(ctx, i, hook, call)
	}
}

// grant lets a call use those of ops that the manifest names.
func (p *Plugin) grant(call *hostfn.Call, ops Operations) {
	call.Granted, call.NotNow = maps.Clone(p.granted), nil
	for _, name := range p.named {
		if op, given := ops[name]; given {
			call.Granted[name] = hostfn.Operation(op)
		}
	}
}

// toolTimeout is the time of one call: the tool's own, within the operator's.
func (p *Plugin) toolTimeout(t abi.ToolSpec) timeout {
	own, most := time.Duration(t.Millis())*time.Millisecond, p.opts.ToolTimeout
	if most > 0 && (t.TimeoutMillis <= 0 || most < own) {
		return timeout{most, "limits.tool_timeout_ms"}
	}
	return timeout{own, ownTimeout}
}

// ownTimeout is where a tool says how long it may take.
const ownTimeout = "the tool's timeout_ms in the manifest"
