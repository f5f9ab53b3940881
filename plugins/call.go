package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/hostfn"
	"github.com/axishost/axishost/plugins/internal/wasi"
)

// Answer is what a hook said.
type Answer struct {
	// Decided is false when the host's default holds.
	Decided bool
	// Output is what the hook gives when it decides, checked by abi.CheckOutput. The caller's own.
	Output []byte
}

// ErrUndeclared is what a *CallError of kind FaultUndeclared wraps.
var ErrUndeclared = errors.New("not declared in the manifest")

var errDeadline = errors.New("deadline")

// timeout is how long a call may take, and the setting that says so.
type timeout struct {
	limit   time.Duration
	setting string
}

// bound bounds ctx so that the cause tells this deadline from one of the caller's.
func (t timeout) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, t.limit, fmt.Errorf("%w: did not finish in %s and was stopped (%s)", errDeadline, t.limit, t.setting))
}

// hookTimeout is the time of a hook call, and of the initialiser.
func (p *Plugin) hookTimeout() timeout {
	return timeout{p.opts.HookTimeout, "limits.hook_timeout_ms"}
}

// Hook asks a hook of the recipe. Each call starts from the image that the instance had after _initialize.
// The error is a *CallError, or ctx's own.
func (p *Plugin) Hook(ctx context.Context, hook abi.Hook, input []byte) (Answer, error) {
	switch {
	case hook == abi.HookToolCall:
		return Answer{}, p.callError(hook, FaultUndeclared, "is for tools: the recipe's hooks have none of that name")
	case !p.manifest.HasHook(hook):
		return Answer{}, p.callError(hook, FaultUndeclared, "was not called: the manifest does not declare it")
	}
	if err := p.checkInput(hook, input); err != nil {
		return Answer{}, err
	}
	ctx, cancel := p.hookTimeout().bound(ctx)
	defer cancel()
	i, err := p.hooks.get(ctx)
	switch cause := context.Cause(ctx); {
	case errors.Is(err, errWait) && errors.Is(cause, errDeadline):
		return Answer{}, p.callError(hook, FaultTimeout, fmt.Sprintf("found no free instance in %s (limits.hook_timeout_ms)", p.opts.HookTimeout))
	case errors.Is(err, errWait):
		return Answer{}, p.fault(ctx, hook, cause, nil)
	case err != nil:
		return Answer{}, err
	}
	answer, err := p.invoke(ctx, i, hook, p.newCall(input))
	// An end of ctx that came as the call returned may close the instance behind its answer.
	if err != nil || ctx.Err() != nil {
		p.hooks.discard(i)
	} else {
		p.hooks.put(i)
	}
	return answer, err
}

// CallTool calls a tool, in an instance of its own. The error is a *CallError, or ctx's own; a tool that
// says that it failed is no error.
func (p *Plugin) CallTool(ctx context.Context, in abi.ToolInput) (abi.ToolOutput, error) {
	index := slices.IndexFunc(p.manifest.Tools, func(t abi.ToolSpec) bool { return t.Name == in.Tool })
	if index < 0 {
		text := fmt.Sprintf("was not called: the manifest declares no tool %q", in.Tool)
		return abi.ToolOutput{}, p.callError(abi.HookToolCall, FaultUndeclared, text)
	}
	input, err := json.Marshal(in)
	if err != nil {
		return abi.ToolOutput{}, fmt.Errorf("plugin %q: tool %q: arguments: %w", p.manifest.Name, in.Tool, err)
	}
	if err := p.checkInput(abi.HookToolCall, input); err != nil {
		return abi.ToolOutput{}, err
	}
	ctx, cancel := p.toolTimeout(p.manifest.Tools[index]).bound(ctx)
	defer cancel()
	i, err := p.instantiate(ctx)
	if err != nil {
		return abi.ToolOutput{}, err
	}
	defer i.close()
	answer, err := p.invoke(ctx, i, abi.HookToolCall, p.newCall(input))
	if err != nil {
		return abi.ToolOutput{}, err
	}
	if !answer.Decided {
		return abi.ToolOutput{}, p.callError(abi.HookToolCall, FaultBadOutput, "a tool call must decide")
	}
	var out abi.ToolOutput
	err = json.Unmarshal(answer.Output, &out) // checked by invoke
	return out, err
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

func (p *Plugin) checkInput(hook abi.Hook, input []byte) error {
	if len(input) <= abi.MaxInputBytes {
		return nil
	}
	e := p.callError(hook, FaultFailed, fmt.Sprintf("input of %d bytes is over the limit of %d", len(input), abi.MaxInputBytes))
	e.Code = abi.CodeTooLarge
	return e
}

func (p *Plugin) newCall(input []byte) *hostfn.Call {
	call := &hostfn.Call{Input: input, OutputLimit: p.outputLimit, Granted: p.granted, Log: p.logger()}
	if p.opts.Events.Progress != nil {
		call.Emit = func(_ abi.EmitKind, text string) { p.opts.Events.Progress(p.manifest.Name, text) }
	}
	return call
}

// invoke calls a hook's export and makes an answer of what came of it.
func (p *Plugin) invoke(ctx context.Context, i *instance, hook abi.Hook, call *hostfn.Call) (Answer, error) {
	rc, err := i.guest.Call(wasi.With(hostfn.With(ctx, call), i.world), hook.Export(), uint32(len(call.Input)))
	p.tellDropped(call)
	if err != nil {
		return Answer{}, withErrorText(p.fault(ctx, hook, err, i.world), call.ErrorText)
	}
	answer, fault := p.answer(hook, abi.Code(rc), call)
	switch {
	case fault == nil:
		return answer, nil
	case call.Refused: // what is wrong with it may be what is missing
		fault.Text += fmt.Sprintf(" (output past the limit of %s was refused: %s)", size(int64(p.outputLimit)), p.outputOwner())
	}
	return Answer{}, fault
}

// answer makes an answer of what a hook returned and gave.
func (p *Plugin) answer(hook abi.Hook, code abi.Code, call *hostfn.Call) (Answer, *CallError) {
	switch {
	case code == abi.CodeNoDecision:
		return Answer{}, nil
	case code != abi.CodeDecided && code > 0:
		return Answer{}, p.callError(hook, FaultBadOutput, fmt.Sprintf("return code %d is not known", code))
	case code < 0:
		e := p.callError(hook, FaultFailed, call.ErrorText)
		if e.Code = code; e.Text == "" {
			e.Text = "it gave no reason (error_set was not called)"
		}
		return Answer{}, e
	}
	if !call.Wrote {
		return Answer{}, p.callError(hook, FaultBadOutput, "a decision without output")
	}
	if err := abi.CheckOutput(hook, call.Output); err != nil {
		return Answer{}, p.callError(hook, FaultBadOutput, err.Error())
	}
	return Answer{Decided: true, Output: call.Output}, nil
}
