package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/host/tokens"
)

// prepare gives what does one effect and gives the input that it brings; nil when ctx ended first. What an
// effect needs of the state it takes here, in the loop: meanwhile the state may change, by what another
// process appends. A consultation reads the state as it goes, and holds such changes up (see hears).
func (r *run) prepare(e core.Effect) func(ctx context.Context) core.Input {
	switch e := e.(type) {
	case core.ConsultRecipe:
		return r.consult
	case core.CallModel:
		req := r.request(e)
		return func(ctx context.Context) core.Input { return r.callModel(ctx, req) }
	case core.AcquireLeases:
		return func(ctx context.Context) core.Input {
			in, err := r.acquire(ctx, e)
			if err != nil && ctx.Err() == nil {
				r.failed.Store(&err)
			}
			return in
		}
	case core.CallTool:
		return func(ctx context.Context) core.Input { return r.callTool(ctx, e) }
	case core.Reconcile:
		return func(ctx context.Context) core.Input { return r.reconcile(ctx, e) }
	case core.Compensate:
		return func(ctx context.Context) core.Input { return r.compensate(ctx, e) }
	case core.CancelTool:
		return r.cancelTool(e)
	case core.SetTimer:
		return func(ctx context.Context) core.Input { return r.wait(ctx, e) }
	default:
		return func(context.Context) core.Input { return core.Advanced{} }
	}
}

// cancelTool stops a call, or the undoing of one, and says so once nothing of it runs any more.
func (r *run) cancelTool(e core.CancelTool) func(ctx context.Context) core.Input {
	call := r.begun[core.CallTool{Step: e.Step, Attempt: e.Attempt}.ID()]
	if call == nil {
		call = r.begun[core.Compensate{Step: e.Step, Attempt: e.Attempt}.ID()]
	}
	return func(context.Context) core.Input {
		if call != nil {
			call.abort()
			<-call.over
		}
		return core.ToolCancelled(e)
	}
}

// consult asks the recipe all that the next decision may read. The state does not change meanwhile: the
// loop waits for this answer.
func (r *run) consult(ctx context.Context) core.Input {
	var answers []event.Answer
	for {
		questions := core.NextQuestions(r.state, answers)
		if len(questions) == 0 {
			j := r.judgeCalls(ctx, r.state.Unjudged(), answers)
			return core.RecipeAnswered{Answers: answers, Misfits: j.misfits, Unmet: j.unmet}
		}
		for _, q := range questions {
			if q.Hook == core.HookGoal {
				answers = append(answers, r.plugins.goal.ask(ctx, string(q.Input)))
				continue
			}
			answer := event.Answer{Hook: string(q.Hook), Call: q.Call}
			got, err := r.plugins.recipe.Hook(ctx, q.Hook, q.Input)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				answer.Fault = err.Error()
			default:
				answer.Decided, answer.Output = got.Decided, string(got.Output)
			}
			answers = append(answers, answer)
		}
	}
}

func (r *run) wait(ctx context.Context, e core.SetTimer) core.Input {
	timer := time.NewTimer(time.UnixMicro(e.At).Sub(r.h.now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-timer.C:
		return core.TimerFired{}
	}
}

func (r *run) callModel(ctx context.Context, req model.Request) core.Input {
	if r.h.opts.Model == nil {
		return core.ModelFailed{Failure: event.ModelFailed{Class: "none", Reason: "no model endpoint is configured"}}
	}
	reply, err := r.h.opts.Model.Complete(ctx, req, r.h.opts.Events.Waiting)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return r.modelFailed(err)
	}
	m := event.Message{Role: event.RoleAssistant, Content: reply.Message.Content, Reasoning: reply.Message.Reasoning}
	for _, c := range reply.Message.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, event.ToolCall(c))
	}
	m.Tokens = r.count(&m)
	j := r.judgeCalls(ctx, m.ToolCalls, nil)
	return core.ModelReplied{
		Reply: event.ModelReplied{
			Message: m, FinishReason: reply.FinishReason, Model: reply.Model,
			Usage: event.Usage{
				Prompt: int64(reply.Usage.PromptTokens), Completion: int64(reply.Usage.CompletionTokens),
				Reported: reply.Usage.Reported,
			},
		},
		Misfits: j.misfits, Unmet: j.unmet,
	}
}

// count counts the tokens of a message; 0 where nothing asks for it: the vocabulary is large, and a task
// without a context window needs none.
func (r *run) count(m *event.Message) int64 {
	if r.state.Config().Conversation.ContextLimit.Window == nil {
		return 0
	}
	out := tokens.Message{Content: m.Content, Reasoning: m.Reasoning, Name: m.Name}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, tokens.Call{Name: c.Name, Arguments: c.Arguments})
	}
	return r.counter.Message(out)
}

// request renders the prompt, or, for a compaction, the part that is to be summed up and the question.
func (r *run) request(e core.CallModel) model.Request {
	prompt := r.state.Prompt(e.Compaction)
	req := model.Request{Ordinal: int(e.Ordinal), Messages: make([]model.Message, 0, len(prompt))}
	for _, m := range prompt {
		out := model.Message{
			Role: m.Role, Content: m.Content, Reasoning: m.Reasoning, Name: m.Name, ToolCallID: m.ToolCallID,
		}
		if len(m.ToolCalls) > 0 {
			out.ToolCalls = make([]model.ToolCall, 0, len(m.ToolCalls))
		}
		for _, c := range m.ToolCalls {
			c.Name, c.Arguments = sendableName(c.Name), sendable(c.Arguments)
			out.ToolCalls = append(out.ToolCalls, model.ToolCall(c))
		}
		req.Messages = append(req.Messages, out)
	}
	if e.Compaction != nil {
		return req // a summary is text: no tool is offered for it
	}
	for _, p := range r.state.Created().Tools {
		for _, t := range p.Tools {
			req.Tools = append(req.Tools, model.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
	}
	return req
}

// sendableName gives a tool name that can be sent back: endpoints refuse a history with a name that no tool
// could have, each time.
func sendableName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || (r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r))) {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), abi.MaxNameBytes)]
}

// sendable gives arguments that can be sent back: endpoints answer a history with something else than a JSON
// object in it with an error each time. The model still sees what it wrote. It is asked of every call with every
// request, and so decodes nothing.
func sendable(arguments string) string {
	begin := strings.TrimLeft(arguments, " \t\r\n")
	if arguments == "" || (strings.HasPrefix(begin, "{") && json.Valid([]byte(begin))) {
		return arguments
	}
	b, _ := json.Marshal(map[string]string{"malformed_arguments": arguments}) // strings alone
	return string(b)
}

// theEndpoint is how the errors of package model call the endpoint, its address behind it. Addresses are not
// stored: they may be of a private network, and a task is resumed with the address of the day.
const theEndpoint = "the model endpoint"

func (r *run) modelFailed(err error) core.Input {
	in := core.ModelFailed{Failure: event.ModelFailed{Class: "other", Reason: err.Error()}, Jitter: r.h.jitter()}
	var known *model.Error
	if errors.As(err, &known) {
		in.Failure.Class, in.Failure.Status = known.Class.String(), known.Status
		in.Failure.Reason = strings.Replace(err.Error(), theEndpoint+" "+known.Endpoint, theEndpoint, 1)
		r.endpoint = known.Endpoint
		in.Failure.Answered = known.Status >= 400
		in.Retryable, in.RetryAfter = known.Retryable(), known.RetryAfter.Microseconds()
	}
	return in
}
