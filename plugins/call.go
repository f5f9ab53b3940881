package plugins

import (
	"context"
	"errors"
	"fmt"
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
	info, _ := abi.LookupHook(hook)
	switch {
	case info.Tool:
		return Answer{}, p.callError(hook, FaultUndeclared, "is for tools: the recipe's hooks have none of that name")
	case !p.manifest.HasHook(hook):
		return Answer{}, p.callError(hook, FaultUndeclared, "was not called: the manifest does not declare it")
	}
	if err := p.checkInput(hook, input); err != nil {
		return Answer{}, err
	}
	return p.ask(ctx, hook, input)
}

// ask puts input to a hook in an instance that is then put back to its image.
func (p *Plugin) ask(ctx context.Context, hook abi.Hook, input []byte) (Answer, error) {
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

func (p *Plugin) checkInput(hook abi.Hook, input []byte) error {
	if len(input) <= abi.MaxInputBytes {
		return nil
	}
	e := p.callError(hook, FaultFailed, fmt.Sprintf("input of %d bytes is over the limit of %d", len(input), abi.MaxInputBytes))
	e.Code = abi.CodeTooLarge
	return e
}

// newCall makes a call that may use config/1 alone.
func (p *Plugin) newCall(input []byte) *hostfn.Call {
	call := &hostfn.Call{Input: input, OutputLimit: p.outputLimit, Granted: p.granted, NotNow: p.named, Log: p.logger()}
	if p.opts.Events.Progress != nil {
		call.Emit = func(_ abi.EmitKind, text string) { p.opts.Events.Progress(p.manifest.Name, text) }
	}
	return call
}

// invoke calls a hook's export and makes an answer of what came of it.
func (p *Plugin) invoke(ctx context.Context, i *instance, hook abi.Hook, call *hostfn.Call) (Answer, error) {
	ctx, leave, err := p.closing.enter(ctx)
	if err != nil {
		return Answer{}, p.closedError()
	}
	defer leave()
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
