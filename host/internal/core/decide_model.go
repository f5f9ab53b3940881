package core

import (
	"fmt"

	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

// requestModel writes the intent to call the model with the messages that are then visible.
func (d *draft) requestModel(cause uint64, visible int, attempt int64, compaction *event.Compaction) {
	d.emit(&event.ModelRequested{
		Ordinal: d.answered + 1, Messages: int64(visible), Compaction: compaction,
	}, cause).Attempt = attempt
}

func (d *draft) modelReplied(in ModelReplied) error {
	s := d.s
	if s.request == 0 {
		return nil
	}
	reply := in.Reply
	reply.Message = normalise(reply.Message, d.answered+1)
	e := d.emit(&reply, s.request)
	e.Actor, e.Actor.ID = modelActor, reply.Model
	d.answered++
	d.spent += reply.Usage.Prompt + reply.Usage.Completion
	if s.compaction != nil {
		return d.summarised(&reply, e.Seq)
	}
	if len(Questions(s, &reply, nil)) > 0 {
		return nil // judged when the recipe has answered
	}
	d.misfits, d.unmet = in.Misfits, in.Unmet
	return d.judge(&reply, e.Seq, nil, e.Seq)
}

// normalise gives a reply the form that later turns rely on: its role, and an id of its own for each
// call, since an endpoint that sends none, or one for all, still expects one back.
func normalise(m event.Message, ordinal int64) event.Message {
	m.Role = event.RoleAssistant
	calls := make([]event.ToolCall, len(m.ToolCalls))
	seen := map[string]bool{"": true}
	for i, c := range m.ToolCalls {
		if seen[c.ID] {
			c.ID = fmt.Sprintf("call_%d_%d", ordinal, i+1)
		}
		seen[c.ID] = true
		calls[i] = c
	}
	if m.ToolCalls = calls; len(calls) == 0 {
		m.ToolCalls = nil
	}
	return m
}

// modelFailed records a failure, and schedules another attempt where that can help. This is the only retry
// layer. A prompt that is too long for the endpoint is made shorter instead.
func (d *draft) modelFailed(in ModelFailed) error {
	s := d.s
	if s.request == 0 {
		return nil
	}
	if in.Failure.Class == ClassContextLimit {
		failure := in.Failure
		failed := d.emit(&failure, s.request)
		failed.Attempt = s.failures + 1
		return d.promptTooLong(&failure, failed.Seq)
	}
	l := &s.config.Limits
	wait, ok := l.backoff(s.failures, l.ModelRetries, in.RetryAfter, in.Jitter)
	ok = ok && in.Retryable
	failure := in.Failure
	if in.Retryable && !ok {
		failure.Reason += l.gaveUp(s.failures, in)
	}
	failed := d.emit(&failure, s.request)
	failed.Attempt = s.failures + 1
	if ok {
		d.emit(&event.RetryScheduled{At: d.now + wait}, failed.Seq)
	}
	return nil
}

// ClassContextLimit is the class of a failure that says that the prompt is too long for the endpoint.
const ClassContextLimit = "context_limit"

// promptTooLong hides the latest exchange and forces the final turn; in a forced turn it hides one exchange
// more. Where nothing can be hidden the task stops with what the endpoint said.
func (d *draft) promptTooLong(failure *event.ModelFailed, cause uint64) error {
	s := d.s
	var op conv.Operation = conv.ContextError{Info: encode(map[string]any{"message": failure.Reason, "status": failure.Status})}
	if s.conv.Stage() == conv.ForceFinal {
		op = conv.RollbackExchange{Reason: conv.ReasonContextLimit}
	}
	decision, err := conv.Decide(s.conv, op)
	if err != nil || decision == nil {
		return nil // stopped, by the failure
	}
	d.record(decision, cause)
	if decision.Stage.Action() == conv.Done {
		d.partial(decision.Stage.String(), "", d.seq)
		return nil
	}
	d.requestModel(d.seq, int(decision.Info.VisibleMessages), 1, nil)
	return nil
}

// backoff gives how long to wait before the next attempt, in microseconds, after failures earlier ones in a
// row: what the other side asks for, else exponential with up to half of it random. It is false after retries of
// them, or where the other side asks for more than RetryMax.
func (l *Limits) backoff(failures, retries, asked, jitter int64) (int64, bool) {
	most := l.RetryMax * 1000
	if failures >= retries || asked > most {
		return 0, false
	}
	if asked > 0 {
		return asked, true
	}
	wait := l.RetryBase * 1000
	for range failures {
		if wait *= 2; wait >= most {
			wait = most
			break
		}
	}
	return wait/2 + wait/2*jitter/65536, true
}

// gaveUp says why a failure that could pass is not waited for.
func (l *Limits) gaveUp(failures int64, in ModelFailed) string {
	if failures >= l.ModelRetries {
		return fmt.Sprintf(" (gave up after %d attempts: limits.model_retries)", failures+1)
	}
	return fmt.Sprintf(" (it asks to wait %d s, more than limits.retry_max_ms allows)", in.RetryAfter/1_000_000)
}

// timerFired does what is due: a model call, a call of a tool, a probe.
func (d *draft) timerFired() error {
	s := d.s
	if s.cancel == nil && s.retryAt != 0 && d.now >= s.retryAt {
		d.requestModel(s.seq, s.conv.Len(), s.failures+1, s.compaction)
		return nil
	}
	for i := range s.steps {
		step := &s.steps[i]
		if step.State == task.Reconciling && !step.Probing && step.Due <= d.now {
			d.startProbe(step, step.Tries+1, s.seq)
		}
	}
	if s.cancel != nil {
		return nil
	}
	_, err := d.startSteps(0)
	return err
}
