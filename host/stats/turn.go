package stats

import "github.com/axishost/axishost/host/internal/event"

// reprompt is the strategy of a decision that asks for a valid call again, as events have it.
const reprompt = "reprompt"

// modelEvent takes what is about the model and the conversation.
func (t *Task) modelEvent(e *event.Event) {
	switch p := e.Payload.(type) {
	case *event.ModelRequested:
		t.count(modelCalls)
		if e.Attempt > 1 {
			t.count(modelRetries)
		}
		t.asked, t.summary, t.halted = e.Time, p.Compaction != nil, false
		t.setAsking(true)
	case *event.ModelReplied:
		t.reply(e, p)
	case *event.ModelFailed:
		t.countNamed(modelFailures, p.Class)
		t.setAsking(false)
		t.halted = p.Class != event.ClassLost && p.Class != event.ClassCancelled // until it is asked again
	case *event.RetryScheduled:
		t.halted = false
		t.setAsking(true)
	case *event.Decided:
		t.turns = p.Head.Turns
		if p.Info != nil && p.Info.FormatStrategy == reprompt {
			t.count(reprompts)
		}
	case *event.RollbackMarked:
		t.countNamed(rollbacks, p.Reason)
	case *event.ReplanRequested:
		t.countNamed(replans, p.Reason)
	case *event.MarkerAppended:
		t.count(compactions)
	case *event.FinalizationForced:
		t.countNamed(forced, p.Trigger)
	case *event.GoalRejected:
		t.count(rejections)
		t.verdict(e)
	case *event.GoalVerified:
		if p.Verified != event.VerifiedNone {
			t.verdict(e)
		}
	}
}

func (t *Task) reply(e *event.Event, p *event.ModelReplied) {
	t.count(modelReplies)
	t.counts[promptTokens] += p.Usage.Prompt
	t.counts[completionTokens] += p.Usage.Completion
	if !p.Usage.Reported {
		t.count(unreported)
	}
	if t.asking {
		t.measure(modelLatency, e.Time-t.asked)
	}
	t.setAsking(false)
	t.replied, t.judging = e.Time, !t.summary
}

// verdict measures what the verification of the latest reply took.
func (t *Task) verdict(e *event.Event) {
	if t.judging {
		t.measure(verificationLatency, e.Time-t.replied)
	}
	t.judging = false
}

func (t *Task) setAsking(asking bool) {
	if asking != t.asking {
		t.asking = asking
		t.live += change(asking)
	}
}

// change is what a state that began or ended adds to a count of it.
func change(began bool) int {
	if began {
		return 1
	}
	return -1
}
