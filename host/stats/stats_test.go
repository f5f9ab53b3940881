package stats

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStats runs testdata: "task" adds a task of events, a line each, as TYPE AT [step=N] [attempt=N] [by=KIND] PAYLOAD,
// with AT in milliseconds; "history" adds the recorded ones of those names ("*": all); "report" prints what is not zero
// of the report, a line for each field, and begins anew.
func TestStats(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		sum := &Sum{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "task":
				task := NewTask()
				seq := uint64(0)
				for line := range strings.Lines(d.Input) {
					seq++
					task.Event(parse(t, seq, line))
				}
				sum.Add(task, d.HasArg("running"))
				return ""
			case "history":
				for _, arg := range d.CmdArgs {
					for _, task := range recorded(t, arg.Key) {
						sum.Add(task, false)
					}
				}
				return ""
			case "report":
				report := sum.Report()
				holds(t, report)
				sum = &Sum{}
				return told(t, report)
			}
			d.Fatalf(t, "there is no command %s", d.Cmd)
			return ""
		})
	})
}

// holds checks what is so of every report.
func holds(t *testing.T, r *Report) {
	t.Helper()
	assert.Equal(t, r.Tasks.All, r.Tasks.Ended()+r.Tasks.Stopped+r.Tasks.Waiting+r.Tasks.Running)
	assert.Equal(t, r.Tasks.Succeeded, r.Tasks.Verified+r.Tasks.NotVerified)
	assert.Equal(t, r.Effects.Unknown, r.Effects.Found+r.Effects.Absent+r.Effects.Open)
	assert.LessOrEqual(t, r.Effects.Unknown, r.Effects.Attempts)
	assert.LessOrEqual(t, r.Effects.ByPerson, r.Effects.Found+r.Effects.Absent)
	assert.LessOrEqual(t, r.Undone.Succeeded+r.Undone.Failed+r.Undone.Unknown, r.Undone.Operations)
	assert.LessOrEqual(t, r.Undone.Operations, r.Undone.Attempts)
	assert.LessOrEqual(t, r.Recovery.Recovered, r.Recovery.Lost)
	for _, tool := range r.Tools {
		assert.LessOrEqual(t, tool.Succeeded+tool.Failed.Sum()+tool.Unknown, tool.Attempts, tool.Name)
	}
}

// told gives the fields of a report that are not zero.
func told(t *testing.T, r *Report) string {
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &fields))
	var b strings.Builder
	for _, key := range []string{"tasks", "per_task", "latency_us", "model", "turns", "calls", "effects", "undone", "recovery", "tools", "rejected_plugins"} {
		var v any
		require.Contains(t, fields, key)
		require.NoError(t, json.Unmarshal(fields[key], &v))
		if v = pruned(v); v != nil {
			short, err := json.Marshal(v)
			require.NoError(t, err)
			fmt.Fprintf(&b, "%s %s\n", key, short)
		}
	}
	return b.String()
}

// pruned leaves out what is zero, of objects.
func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, field := range v {
			if v[key] = pruned(field); v[key] == nil {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	case float64:
		if v == 0 {
			return nil
		}
	}
	return v
}

// recorded folds recorded histories.
func recorded(t *testing.T, name string) []*Task {
	files, err := filepath.Glob("../testdata/histories/v1/" + name + ".log")
	require.NoError(t, err)
	require.NotEmpty(t, files, name)
	var tasks []*Task
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		task := NewTask()
		for line := range strings.Lines(string(text)) {
			var seq uint64
			var record string
			if n, _ := fmt.Sscanf(line, "%d %s", &seq, &record); n != 2 {
				continue // a comment, or the task's name
			}
			data, err := hex.DecodeString(record)
			require.NoError(t, err)
			e, err := event.Decode("01task", seq, data)
			require.NoError(t, err)
			task.Event(e)
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// parse reads an event of testdata through the codec of the log.
func parse(t *testing.T, seq uint64, line string) *event.Event {
	t.Helper()
	words := strings.Fields(line)
	require.GreaterOrEqual(t, len(words), 2, line)
	e := &event.Event{Version: event.Newest, Actor: event.Actor{Kind: event.ActorHost}, Payload: event.New(event.Type(words[0]))}
	require.NotNil(t, e.Payload, line)
	_, err := fmt.Sscan(words[1], &e.Time)
	require.NoError(t, err, line)
	e.Time *= 1000
	payload := "{}"
	for i, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "step":
			_, err = fmt.Sscan(value, &e.Step)
		case "attempt":
			_, err = fmt.Sscan(value, &e.Attempt)
		case "by":
			e.Actor.Kind = event.ActorKind(value)
		default:
			payload = strings.Join(words[2+i:], " ")
		}
		require.NoError(t, err, line)
		if payload != "{}" {
			break
		}
	}
	dec := json.NewDecoder(strings.NewReader(payload))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(e.Payload), line)
	record, err := event.Encode(e)
	require.NoError(t, err, line)
	out, err := event.Decode("01task", seq, record)
	require.NoError(t, err, line)
	return out
}

// TestNothingFits: events of every type, alone and in an order that no task has, are taken without a fault.
func TestNothingFits(t *testing.T) {
	var sum Sum
	for _, step := range []int64{0, 1} {
		all := NewTask()
		for i, kind := range append(event.Types(), event.Types()...) {
			e := &event.Event{Seq: uint64(i + 5), Time: int64(-i), Step: step, Payload: event.New(kind)}
			alone := NewTask()
			alone.Event(e)
			sum.Add(alone, false)
			all.Event(e)
		}
		sum.Add(all, true)
	}
	assert.NotPanics(t, func() { sum.Report() })
}

// TestNamesAreBounded: whatever guests and models name things, there are so many names at most.
func TestNamesAreBounded(t *testing.T) {
	var sum Sum
	for i := range 3000 {
		task := NewTask()
		tool := fmt.Sprintf("tool%d", i)
		task.Event(&event.Event{Seq: 1, Payload: &event.TaskCreated{Tools: []event.Plugin{{Tools: []event.ToolSpec{{Name: tool}}}}}})
		task.Event(&event.Event{Seq: 2, Step: 1, Payload: &event.ToolRequested{Tool: tool}})
		task.Event(&event.Event{Seq: 3, Step: 2, Payload: &event.ToolRequested{Tool: tool + "!"}})
		task.Event(&event.Event{Seq: 4, Step: 1, Payload: &event.ToolFailed{Class: tool}})
		sum.Add(task, false)
	}
	r := sum.Report()
	require.Len(t, r.Tools, maxTools+1)
	assert.Equal(t, Other, r.Tools[0].Name)
	assert.EqualValues(t, 3000-maxTools, r.Tools[0].Calls)
	assert.Len(t, r.Tools[0].Failed, maxNames+1)
	assert.EqualValues(t, 3000-maxTools, r.Tools[0].Failed.Sum())
	assert.EqualValues(t, 6000, r.Calls.All)
}
