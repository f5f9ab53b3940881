package timeline

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/plugins"
)

// Kind says how a line is to look.
type Kind int

// The kinds of line.
const (
	Plain  Kind = iota
	Detail      // explains the line before it
	Notice      // something that did not go straight: hidden, denied, failed
	End         // how the task ended
	// Routine is the path of a decision that went straight through the stages. Half of all lines would be such
	// paths, and each says what the line before it said already: they are for those who ask for them.
	Routine
)

// Line is one line: a label of at most eight characters, and text.
type Line struct {
	Kind  Kind
	Label string
	Text  string
}

// maxText bounds the text of replies and results in a line, in bytes.
const maxText = 160

// Timeline tells one task, from its first event on.
type Timeline struct {
	begun      int64
	requested  int64
	reply      *event.ModelReplied
	latency    int64
	compaction *event.Compaction
	forced     []Line
	requests   map[int64]*event.ToolRequested
	started    map[int64]int64
	sent       map[int64][]string
	doubts     map[int64]*doubt
	cancelling bool
	replies    int
	usage      event.Usage
	outcome    *Outcome
	undo       *undo // of a task that undoes
}

// Outcome is what a task that has ended came to.
type Outcome struct {
	Answer   string // as the model wrote it; empty for none
	Verified string // by what: none or recipe; empty for a task that has not succeeded
	Reason   string // why it is partial, failed or cancelled
}

// Outcome gives what the task came to; nil until it has ended.
func (t *Timeline) Outcome() *Outcome { return t.outcome }

// New gives a timeline before its task's first event.
func New() *Timeline {
	return &Timeline{
		requests: map[int64]*event.ToolRequested{}, started: map[int64]int64{}, sent: map[int64][]string{}, doubts: map[int64]*doubt{},
	}
}

// Event gives the lines of the next event; most have none.
func (t *Timeline) Event(e *event.Event) []Line {
	switch p := e.Payload.(type) {
	case *event.TaskCreated:
		if t.begun = e.Time; p.Compensates != nil {
			t.undo = newUndo(p.Compensates)
		}
		return []Line{{Plain, "task", header(e.Task, p)}, {Plain, "goal", show(p.Goal)}}
	case *event.Claimed:
		switch {
		case p.Fence <= 1:
		case t.cancelling:
			return []Line{{Notice, "cancel", "taken over by " + show(p.Worker)}}
		default:
			return []Line{{Notice, "resumed", "by " + show(p.Worker)}}
		}
	case *event.RecipeConsulted:
		return consulted(p)
	case *event.ModelRequested:
		t.requested, t.compaction = e.Time, p.Compaction
	case *event.ModelReplied:
		t.reply, t.latency = p, e.Time-t.requested
		t.replies++
		t.usage.Prompt += p.Usage.Prompt
		t.usage.Completion += p.Usage.Completion
		t.usage.Reported = t.usage.Reported || p.Usage.Reported
	case *event.CancelRequested:
		t.cancelling = true
		return []Line{{Notice, "cancel", t.asked(e, p)}}
	case *event.TaskCancelled:
		t.outcome = &Outcome{Reason: p.Reason}
		return []Line{t.ended(e, "cancelled: "+show(p.Reason))}
	case *event.ModelFailed:
		if p.Class == event.ClassLost {
			return []Line{{Detail, "", "the reply was lost with the process that waited for it; the model is asked again"}}
		}
		return []Line{{Notice, "model", "failed: " + show(p.Reason)}}
	case *event.Decided:
		return t.decided(p)
	case *event.MarkerAppended:
		return t.marked(p)
	case *event.FinalizationForced:
		t.forced = notice("the next reply is the last one (%s)", show(p.Trigger)) // told after what led to it
		t.forced[0].Label = "final"
	case *event.RetryScheduled:
		if wait := p.At - e.Time; wait > 0 {
			return []Line{{Detail, "", "trying again in " + duration(wait)}}
		}
	case *event.PlanProposed:
		return []Line{{Plain, "plan", planned(p)}}
	case *event.ReplanRequested:
		if text := replans[p.Reason]; text != "" {
			return []Line{{Detail, "", text}}
		}
	case *event.PluginRejected:
		return []Line{{Notice, "refused", rejected(p)}}
	case *event.GoalRejected:
		return []Line{{Notice, "goal", "rejected: " + show(p.Reason)}}
	case *event.TaskSucceeded:
		t.outcome = &Outcome{Answer: p.Answer, Verified: p.Verified}
		if t.undo != nil {
			return []Line{t.ended(e, "succeeded")}
		}
		return []Line{t.ended(e, "succeeded, "+verified(p.Verified))}
	case *event.TaskPartial:
		t.outcome = &Outcome{Answer: p.Answer, Reason: p.Reason}
		return []Line{t.ended(e, "partial ("+show(PartialReason(p.Reason))+")")}
	case *event.TaskFailed:
		t.outcome = &Outcome{Reason: p.Reason}
		return []Line{t.ended(e, "failed: "+show(p.Reason))}
	default:
		return t.step(e)
	}
	return nil
}

func header(id string, p *event.TaskCreated) string {
	text := id
	if p.Compensates != nil {
		text += ", undoes " + show(p.Compensates.Task)
	}
	if p.Recipe != nil {
		text += ", recipe " + p.Recipe.Name + " " + p.Recipe.Version
	}
	var names []string
	for _, plugin := range p.Tools {
		for _, tool := range plugin.Tools {
			names = append(names, tool.Name)
		}
	}
	if len(names) > 0 {
		text += ", tools " + strings.Join(names, " ")
	}
	if p.Model != "" {
		text += ", model " + show(Model(p.Model))
	}
	return text
}

// Model gives a model's name as people read it: of a scripted one, the file and not its path.
func Model(name string) string {
	if file, scripted := strings.CutPrefix(name, "script:"); scripted {
		return "script:" + path.Base(strings.ReplaceAll(file, "\\", "/"))
	}
	return name
}

func consulted(p *event.RecipeConsulted) []Line {
	var lines []Line
	for _, a := range p.Answers {
		if a.Fault != "" {
			lines = append(lines, Line{Notice, "recipe", show(a.Fault)})
		}
	}
	return lines
}

// told says what the reply was.
func (t *Timeline) told() string {
	text := "reply in " + duration(t.latency) + ", " + tokens(t.reply.Usage) + ", " + show(t.reply.FinishReason)
	var calls []string
	for _, c := range t.reply.Message.ToolCalls {
		calls = append(calls, show(c.Name))
	}
	if len(calls) > 0 {
		text += ", calls " + strings.Join(calls, " ")
	}
	if content := t.reply.Message.Content; content != "" {
		text += ": " + show(content)
	}
	return text
}

// step tells the events of a step.
func (t *Timeline) step(e *event.Event) []Line {
	if t.undo != nil {
		return t.undo.event(e)
	}
	switch p := e.Payload.(type) {
	case *event.ToolRequested:
		t.requests[e.Step] = p
	case *event.ToolStarted:
		if t.begin(e); e.Attempt > 1 {
			return []Line{{Detail, "", fmt.Sprintf("%s is called again, attempt %d", t.tool(e.Step), e.Attempt)}}
		}
	case *event.StepDenied:
		return []Line{{Notice, "tool", t.call(e.Step) + " denied (" + show(p.Reason) + "): " + show(p.Text)}}
	case *event.ToolSucceeded:
		return []Line{{Plain, "tool", t.call(e.Step) + " in " + duration(e.Time-t.started[e.Step]) + ": " + show(p.Result)}}
	case *event.StepCancelled:
		return []Line{{Detail, "", t.call(e.Step) + " is not run any more: " + show(p.Reason)}}
	case *event.CancelAcknowledged:
		text := t.call(e.Step) + " cut off after " + duration(e.Time-t.started[e.Step])
		if !p.NothingHappened && p.Result == nil {
			t.doubt(e.Step, e.Attempt, "it was cut off")
			text += "; it may have happened"
		}
		return []Line{{Notice, "tool", text}}
	case *event.ToolFailed:
		return []Line{{Notice, "tool", t.call(e.Step) + " failed in " + duration(e.Time-t.started[e.Step]) + " (" + show(p.Class) + "): " + show(p.Reason)}}
	case *event.ObservationRecorded:
		t.close(e.Step)
	default:
		return t.effect(e)
	}
	return nil
}

// asked tells who asked that the task end, and what is waited for.
func (t *Timeline) asked(e *event.Event, p *event.CancelRequested) string {
	text := "asked for by " + show(strings.TrimSpace(string(e.Actor.Kind)+" "+e.Actor.ID)) + ": " + show(p.Reason)
	cut, unsure := 0, 0
	for _, call := range p.InFlight {
		if t.doubts[call.Step] != nil {
			unsure++
		} else {
			cut++
		}
	}
	return text + some(cut, "1 call is cut off", "%d calls are cut off") +
		some(unsure, "the task ends when it is known what 1 call did", "the task ends when it is known what %d calls did")
}

// some gives an addition about n things; none where there are none.
func some(n int, one, more string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; " + one
	}
	return "; " + fmt.Sprintf(more, n)
}

func (t *Timeline) call(step int64) string {
	r := t.requests[step]
	if r == nil {
		return fmt.Sprintf("step %d", step)
	}
	return strings.TrimSpace(show(r.Tool) + " " + show(r.Arguments))
}

func (t *Timeline) ended(e *event.Event, how string) Line {
	if t.undo != nil {
		return Line{End, "done", fmt.Sprintf("%s, in %s, %s", how, duration(e.Time-t.begun), t.undo.counts())}
	}
	replies := fmt.Sprintf("%d replies", t.replies)
	if t.replies == 1 {
		replies = "1 reply"
	}
	return Line{End, "done", fmt.Sprintf("%s, in %s, %s, %s", how, duration(e.Time-t.begun), replies, tokens(t.usage))}
}

// PartialReason says in words why a task ended as partial. A reason that it does not know is as it was.
func PartialReason(name string) string {
	switch name {
	case "assistant_tool_calls_rejected_force_final":
		return "the model called tools in its last turn"
	case "assistant_terminated_token_exceed":
		return "the model's token limit or context window leaves no room for a reply"
	case "not_undone":
		return "not everything is known to be undone"
	case "repeated_failure":
		return "a tool call failed again and again in the same way"
	case "no_answer":
		return "the last reply held no answer"
	case "answer_cut_off":
		return "the answer was cut off by the token limit or by the endpoint's filter"
	case "goal_rejected":
		return "the answer of the last turn was rejected by the recipe"
	}
	return name
}

func verified(by string) string {
	if by == event.VerifiedNone {
		return "not verified"
	}
	return "verified by " + by
}

func tokens(u event.Usage) string {
	if !u.Reported {
		return "tokens not reported"
	}
	return fmt.Sprintf("%d+%d tokens", u.Prompt, u.Completion)
}

// duration writes microseconds as people read them.
func duration(micros int64) string {
	d := time.Duration(micros) * time.Microsecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + show(w) + `"`
	}
	return strings.Join(quoted, ", ")
}

// show makes text from outside fit for one line.
func show(text string) string {
	return plugins.Printable(strings.Join(strings.Fields(text), " "), maxText)
}

func rejected(p *event.PluginRejected) string {
	name := "a file"
	if p.Name != "" {
		name = "plugin " + show(p.Name)
	}
	if p.Digest != "" {
		name += " (sha256:" + show(p.Digest) + ")"
	}
	return name + " " + show(p.Reason)
}
