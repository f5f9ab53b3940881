package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/timeline"
	"github.com/axishost/axishost/plugins"
)

// phaseCancelling is the phase of a task that was cancelled and has not ended: nothing of it begins any more.
const phaseCancelling = "cancelling"

// How much is shown of what came from outside, in bytes: where a question is one of several lines, and where it is what was
// asked for.
const (
	shortText = 120
	longText  = 2000
)

// questions reads what a task waits for a person to find out.
func questions(ctx context.Context, h *host.Host, id string) ([]timeline.Question, error) {
	told := timeline.New()
	err := h.Read(ctx, id, 0, func(e *host.Event) error {
		told.Event(e)
		return interruptedBy(ctx)
	})
	return told.Questions(), err
}

// awaited is a question in JSON.
type awaited struct {
	Step        int64          `json:"step"`
	Attempt     int64          `json:"attempt"`
	Tool        string         `json:"tool"`
	Arguments   string         `json:"arguments"`
	OperationID string         `json:"operation_id"`
	Called      host.Timestamp `json:"called"`
	Sent        []string       `json:"sent"`
	Reason      string         `json:"reason"`
	Asked       int64          `json:"asked"`
	Told        string         `json:"told"`
}

// awaitedFields tells of the array of these.
const awaitedFields = `an array of what a person has to find out, an object a step with the fields
step, attempt, tool, arguments, operation_id, called (when), sent (an array of requests), reason (why nobody knows), asked (how
often the tool was asked) and told (why it could not tell)`

func awaitedOf(questions []timeline.Question) []awaited {
	out := make([]awaited, len(questions))
	for i, q := range questions {
		out[i] = awaited{
			q.Step, q.Attempt, q.Tool, q.Arguments, q.OperationID, host.Timestamp(q.Called), append([]string{}, q.Sent...), q.Reason, q.Asked, q.Told,
		}
	}
	return out
}

// callOf writes the call that a question is about on one line, with JSON that takes no more room than it needs.
func callOf(q *timeline.Question, limit int) string {
	arguments := q.Arguments
	var short bytes.Buffer
	if json.Compact(&short, []byte(arguments)) == nil {
		arguments = short.String()
	}
	return strings.TrimSpace(plugins.Printable(q.Tool+" "+arguments, limit))
}

// ask says in a line for each question what a person has to find out, each before the two commands that say what it was. end
// tells that the task was cancelled.
func (a *app) ask(id string, questions []timeline.Question, end bool) string {
	then := "find out, then say which"
	if end {
		then = "the task is cancelled, and ends when that is known: " + then
	}
	var lines []string
	for i := range questions {
		q := &questions[i]
		lines = append(lines, fmt.Sprintf("nobody knows whether step %d, %s, happened (operation %s): %s; %s:",
			q.Step, callOf(q, shortText), plugins.Printable(q.OperationID, shortText), plugins.Printable(oneLine(q.Reason), shortText), then),
			"  "+a.decideLine(id, q, "found"), "  "+a.decideLine(id, q, "absent"))
	}
	return strings.Join(lines, "\n")
}

// explain shows all that is known of a question, and what each answer leads to. end tells that the task was cancelled.
func (a *app) explain(id string, q *timeline.Question, end bool) []timeline.Line {
	found, absent := "it happened: the model is told what --result says, and the task goes on", "it has not happened, and will not: it is made again, under the same operation id"
	again := a.resumeLine(&modelFlags{}, id)
	if end {
		found, absent = "it happened: the task ends as cancelled", "it has not happened, and will not: it is not made any more, and the task ends as cancelled"
		again = a.tasksLine(id, "cancel")
	}
	called := "at " + time.UnixMicro(q.Called).UTC().Format(time.RFC3339)
	if len(q.Sent) > 0 {
		called += ": " + plugins.Printable(strings.Join(q.Sent, ", "), longText)
	}
	lines := []timeline.Line{
		{Kind: timeline.Notice, Label: "step " + strconv.FormatInt(q.Step, 10), Text: callOf(q, longText)},
		{Label: "called", Text: called},
		{Label: "id", Text: "operation " + plugins.Printable(q.OperationID, longText) + ", which the tool passes on as idempotency key"},
		{Label: "unknown", Text: plugins.Printable(q.Reason, longText)},
	}
	if q.Asked > 0 {
		lines = append(lines, timeline.Line{Label: "asked", Text: plugins.Printable(q.Tool+" could not tell: "+q.Told, longText)})
	} else {
		lines = append(lines, timeline.Line{Label: "asked", Text: plugins.Printable(q.Told, longText)})
	}
	lines = append(lines,
		timeline.Line{Label: "found", Text: found}, timeline.Line{Text: a.decideLine(id, q, "found")},
		timeline.Line{Label: "absent", Text: absent}, timeline.Line{Text: a.decideLine(id, q, "absent")})
	if q.Asked > 0 {
		lines = append(lines, timeline.Line{Label: "or else", Text: "ask the tool once more"}, timeline.Line{Text: again})
	}
	return lines
}

// approveLine is the command line that shows what a task waits for.
func (a *app) approveLine(id string) string {
	return shellLine(append(append([]string{a.anywhereProgram(), "approve"}, a.anywhereWords()...), id))
}

// decideLine is the command line that decides what a step did.
func (a *app) decideLine(id string, q *timeline.Question, outcome string) string {
	return fmt.Sprintf("%s --step %d --attempt %d --outcome %s", a.approveLine(id), q.Step, q.Attempt, outcome)
}
