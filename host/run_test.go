package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRunDemo(t *testing.T) {
	sub := submission(t)
	m := &fakeModel{replies: demo()}
	var heard []*Event
	h := open(t, newLog(t), m, Events{Committed: func(e *Event) { heard = append(heard, e) }})
	r, err := h.Run(t.Context(), sub)
	require.NoError(t, err)
	assert.Equal(t, "succeeded", r.Phase)
	assert.Equal(t, "391", r.Answer)
	assert.Equal(t, "none", r.Verified)

	events := history(t, h, r.Task)
	assert.Equal(t, toJSON(t, events), toJSON(t, heard), "what was heard is not what was stored")
	assert.Equal(t, 1, count(events, event.TypeRollbackMarked))
	assert.Equal(t, 1, count(events, event.TypeToolStarted))
	assert.Equal(t, 4, count(events, event.TypeModelReplied))

	last := m.asked[len(m.asked)-1].Messages
	var roles []string
	for _, message := range last {
		roles = append(roles, message.Role)
		assert.NotContains(t, message.Content, "sorry", "a hidden reply reached the model")
	}
	assert.Equal(t, []string{"system", "user", "assistant", "user", "assistant", "tool"}, roles)
	assert.Equal(t, "391", last[5].Content)
	assert.Equal(t, "calc", m.asked[0].Tools[0].Name)
}

// TestIntentIsDurableFirst: the model and the tools are called only after the event that says so is stored.
func TestIntentIsDurableFirst(t *testing.T) {
	log := newLog(t)
	var h *Host
	probe := modelFunc(func(ctx context.Context, req model.Request) (*model.Reply, error) {
		tasks, err := h.List(ctx, Query{})
		require.NoError(t, err)
		events := history(t, h, tasks[0].ID)
		assert.Equal(t, event.TypeModelRequested, events[len(events)-1].Payload.Type())
		r := says("done")
		return &r, nil
	})
	h = open(t, log, probe, Events{})
	_, err := h.Run(t.Context(), bare())
	require.NoError(t, err)
}

type modelFunc func(context.Context, model.Request) (*model.Reply, error)

func (f modelFunc) Complete(ctx context.Context, req model.Request, _ func(model.Progress)) (*model.Reply, error) {
	return f(ctx, req)
}

// failingLog refuses the n-th commit: before it is stored, or after, so that its acknowledgement is lost.
type failingLog struct {
	store.Log
	left  int
	after bool
}

var errCrash = errors.New("crash")

func (l *failingLog) Commit(ctx context.Context, c store.Commit) error {
	if l.left--; l.left > 0 {
		return l.Log.Commit(ctx, c)
	}
	if l.left == 0 && l.after {
		if err := l.Log.Commit(ctx, c); err != nil {
			return err
		}
	}
	return errCrash
}

// TestCrashAtEveryCommit: wherever a worker dies, a resumed task comes to the same end, and no tool call
// whose result was stored runs again.
func TestCrashAtEveryCommit(t *testing.T) {
	sub := submission(t)
	commits := 0
	counted := &countingLog{Log: newLog(t), commits: &commits}
	_, err := open(t, counted, &fakeModel{replies: demo()}, Events{}).Run(t.Context(), sub)
	require.NoError(t, err)
	require.Greater(t, commits, 6)

	for n := 1; n <= commits; n++ {
		for _, after := range []bool{false, true} {
			log := newLog(t)
			_, err := open(t, &failingLog{Log: log, left: n, after: after}, &fakeModel{replies: demo()}, Events{}).Run(t.Context(), sub)
			require.ErrorIs(t, err, errCrash)
			h := open(t, log, &fakeModel{replies: demo()}, Events{})
			tasks, err := h.List(t.Context(), Query{})
			require.NoError(t, err)
			if len(tasks) == 0 {
				require.Equal(t, 1, n, "the task is lost")
				continue
			}
			r, err := h.Resume(t.Context(), tasks[0].ID)
			require.NoError(t, err, "commit %d, stored %v", n, after)
			assert.Equal(t, "391", r.Answer)
			events := history(t, h, r.Task)
			assert.Equal(t, 1, count(events, event.TypeToolSucceeded), "commit %d, stored %v", n, after)
			assert.Equal(t, 4, count(events, event.TypeModelReplied), "commit %d, stored %v", n, after)
			assert.Equal(t, 1, count(events, event.TypeTaskSucceeded))
			summary, err := h.Find(t.Context(), r.Task)
			require.NoError(t, err)
			assert.Equal(t, "succeeded", summary.Phase)
		}
	}
}

type countingLog struct {
	store.Log
	commits *int
}

func (l *countingLog) Commit(ctx context.Context, c store.Commit) error {
	*l.commits++
	return l.Log.Commit(ctx, c)
}

func TestResumeOfAnEndedTask(t *testing.T) {
	h := open(t, newLog(t), &fakeModel{replies: []any{says("four")}}, Events{})
	r, err := h.Run(t.Context(), bare())
	require.NoError(t, err)
	before := len(history(t, h, r.Task))
	again, err := h.Resume(t.Context(), r.Task)
	require.NoError(t, err)
	assert.Equal(t, r, again)
	assert.Len(t, history(t, h, r.Task), before, "resuming an ended task wrote something")
}

func TestInterruptAndResume(t *testing.T) {
	log := newLog(t)
	held := &fakeModel{replies: []any{says("four")}, block: make(chan struct{}), blocked: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	h := open(t, log, held, Events{})
	go func() {
		_, err := h.Run(ctx, bare())
		done <- err
	}()
	<-held.blocked
	cancel()
	require.ErrorIs(t, <-done, ErrInterrupted)

	tasks, err := h.List(t.Context(), Query{})
	require.NoError(t, err)
	assert.Equal(t, "planning", tasks[0].Phase)
	r, err := open(t, log, &fakeModel{replies: []any{says("four")}}, Events{}).Resume(t.Context(), tasks[0].ID)
	require.NoError(t, err)
	assert.Equal(t, "four", r.Answer)
}

func TestModelFailureStopsResumably(t *testing.T) {
	log := newLog(t)
	m := &fakeModel{replies: []any{&model.Error{Class: model.ClassAuth, Status: 401}, says("four")}}
	r, err := open(t, log, m, Events{}).Run(t.Context(), bare())
	var stopped *StoppedError
	require.ErrorAs(t, err, &stopped)
	assert.False(t, stopped.Plugin)
	assert.Equal(t, r.Task, stopped.Task)
	again, err := open(t, log, m, Events{}).Resume(t.Context(), r.Task)
	require.NoError(t, err)
	assert.Equal(t, "four", again.Answer)
}

func TestModelRetries(t *testing.T) {
	busy := &model.Error{Class: model.ClassRateLimited, Status: 429, RetryAfter: time.Millisecond}
	m := &fakeModel{replies: []any{busy, busy, says("four")}}
	h := open(t, newLog(t), m, Events{})
	r, err := h.Run(t.Context(), bare())
	require.NoError(t, err)
	assert.Equal(t, "four", r.Answer)
	assert.Equal(t, 2, count(history(t, h, r.Task), event.TypeRetryScheduled))
}

func TestWithoutModel(t *testing.T) {
	_, err := open(t, newLog(t), nil, Events{}).Run(t.Context(), bare())
	var stopped *StoppedError
	require.ErrorAs(t, err, &stopped)
	assert.Contains(t, stopped.Reason, "no model endpoint")
}

func TestToolFaultStopsAndResumes(t *testing.T) {
	sub := submission(t)
	sub.Config.Limits.ToolTimeout = 1 // ms: a Go guest does not even start in it
	h := open(t, newLog(t), &fakeModel{replies: demo()}, Events{})
	_, err := h.Run(t.Context(), sub)
	var stopped *StoppedError
	require.ErrorAs(t, err, &stopped)
	assert.True(t, stopped.Plugin)
	assert.Contains(t, stopped.Reason, `plugin "calc"`)
}

func TestArgumentsAreHeldAgainstTheSchema(t *testing.T) {
	sub := bare()
	sub.Tools = []*plugins.Inspection{guest(t, "calc")}
	m := &fakeModel{replies: []any{
		callsTool("calc", `{"expresion":"17 * 23"}`), callsTool("calc", `{"expression":5}`), says("I give up"),
	}}
	h := open(t, newLog(t), m, Events{})
	r, err := h.Run(t.Context(), sub)
	require.NoError(t, err)
	assert.Equal(t, 2, count(history(t, h, r.Task), event.TypeStepDenied))
	assert.Zero(t, count(history(t, h, r.Task), event.TypeToolStarted))
	first := m.asked[1].Messages
	assert.Contains(t, first[len(first)-1].Content, "expression")
	second := m.asked[2].Messages
	assert.Contains(t, second[len(second)-1].Content, "expression: got number, want string")
}

// TestArgumentsAreRepaired: what the tool gets is what the recipe made of the model's text, and then what the
// configuration allows to be made of that; the log has both.
func TestArgumentsAreRepaired(t *testing.T) {
	sub := bare()
	sub.Recipe, sub.Tools = guest(t, "careful"), []*plugins.Inspection{guest(t, "calc")}
	sub.Config.Repair.Enabled = true
	m := &fakeModel{replies: []any{callsTool("calc", "```json\n{\"Expression \": \"17 * 23\"}\n```"), says("391")}}
	h := open(t, newLog(t), m, Events{})
	r, err := h.Run(t.Context(), sub)
	require.NoError(t, err)
	var requested *event.ToolRequested
	for _, e := range history(t, h, r.Task) {
		if p, ok := e.Payload.(*event.ToolRequested); ok {
			requested = p
		}
	}
	require.NotNil(t, requested)
	assert.JSONEq(t, `{"expression": "17 * 23"}`, requested.Repaired)
	assert.Equal(t, []string{"recipe", "normalize", "fuzzy"}, requested.Repairs)
	assert.Contains(t, requested.Arguments, "```json")
	assert.Equal(t, "391", m.asked[1].Messages[3].Content)
}

// TestTokensAreCounted: with a context window replies and results carry what the tokenizer counted; without
// one nothing is counted.
func TestTokensAreCounted(t *testing.T) {
	for _, window := range []*int64{nil, new(int64(100_000))} {
		sub := bare()
		sub.Config.Conversation.ContextLimit.Window = window
		h := open(t, newLog(t), &fakeModel{replies: []any{says("four is the answer")}}, Events{})
		r, err := h.Run(t.Context(), sub)
		require.NoError(t, err)
		for _, e := range history(t, h, r.Task) {
			if p, ok := e.Payload.(*event.ModelReplied); ok {
				assert.Equal(t, window != nil, p.Message.Tokens > 0)
			}
		}
	}
}

// TestCompaction: the request for a summary holds what is to be summed up and the question, and no tools;
// the next one holds the summary in its place.
func TestCompaction(t *testing.T) {
	sub := bare()
	sub.Tools = []*plugins.Inspection{guest(t, "calc")}
	sub.Config.Conversation.ContextLimit.Window = new(int64(100_000))
	sub.Config.Compaction.Threshold, sub.Config.Compaction.KeepRecent = new(int64(500)), 2
	m := &fakeModel{replies: []any{
		callsTool("calc", `{"expression":"7 ^ 900"}`), callsTool("calc", `{"expression":"7 ^ 901"}`),
		says("7 ^ 900 was computed"), says("both are large"),
	}}
	_, err := open(t, newLog(t), m, Events{}).Run(t.Context(), sub)
	require.NoError(t, err)
	summary, next := m.asked[2], m.asked[3]
	assert.Empty(t, summary.Tools)
	assert.Contains(t, summary.Messages[len(summary.Messages)-1].Content, "Sum up")
	assert.Len(t, summary.Messages, 4, "the user's opening, call, result, question")
	assert.NotEmpty(t, next.Tools)
	assert.Equal(t, "7 ^ 900 was computed", next.Messages[2].Content)
}

// TestBrokenArgumentsAreNotSentBack: endpoints refuse a history that holds broken JSON, each time.
func TestBrokenArgumentsAreNotSentBack(t *testing.T) {
	m := &fakeModel{replies: []any{callsTool("calc", `{"expression":`), says("I give up")}}
	_, err := open(t, newLog(t), m, Events{}).Run(t.Context(), bare())
	require.NoError(t, err)
	sent := m.asked[1].Messages[2].ToolCalls[0].Arguments
	assert.JSONEq(t, `{"malformed_arguments":"{\"expression\":"}`, sent)
}

func TestPluginsThatDoNotGoTogether(t *testing.T) {
	boxed, calc, lookup := guest(t, "boxed"), guest(t, "calc"), guest(t, "lookup")
	twin := *calc
	manifest := *calc.Manifest
	manifest.Name = "calc2"
	twin.Manifest = &manifest
	for name, c := range map[string]struct {
		recipe *plugins.Inspection
		tools  []*plugins.Inspection
		want   string
	}{
		"tools as recipe":  {calc, nil, `plugin "calc" is no recipe (its kind is tools); give it with --tool`},
		"recipe as tools":  {nil, []*plugins.Inspection{boxed}, `plugin "boxed" has no tools (its kind is recipe); give it with --recipe`},
		"given twice":      {boxed, []*plugins.Inspection{calc, calc}, `plugin "calc" is given twice; leave one out`},
		"one tool in two":  {boxed, []*plugins.Inspection{calc, &twin}, `tool "calc" is in plugin "calc" and in plugin "calc2"; leave one of them out`},
		"no configuration": {boxed, []*plugins.Inspection{lookup}, `configuration of plugin "lookup" does not fit its schema (set it under tools.lookup): missing property 'table'`},
	} {
		t.Run(name, func(t *testing.T) {
			sub := bare()
			sub.Recipe, sub.Tools = c.recipe, c.tools
			_, err := open(t, newLog(t), &fakeModel{}, Events{}).Run(t.Context(), sub)
			var set *PluginSetError
			require.ErrorAs(t, err, &set)
			assert.Contains(t, err.Error(), c.want)
		})
	}
}

func TestWhatIsConfiguredIsGiven(t *testing.T) {
	boxed, calc := guest(t, "boxed"), guest(t, "calc")
	set := map[string]any{"x": 1}
	for name, c := range map[string]struct {
		recipe *plugins.Inspection
		config Config
		want   string
	}{
		"no tool":    {boxed, Config{Tools: map[string]map[string]any{"lookup": set}}, "the configuration has tools.lookup, and no plugin of that name is given with --tool"},
		"the recipe": {boxed, Config{Tools: map[string]map[string]any{"boxed": set}}, `the configuration has tools.boxed, and plugin "boxed" is the recipe; set it under recipe`},
		"no recipe":  {nil, Config{Recipe: set}, "the configuration has recipe, and no plugin is given with --recipe"},
		"nothing":    {nil, Config{Recipe: map[string]any{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := configuredOnly(&c.config, c.recipe, []*plugins.Inspection{calc})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			var set *PluginSetError
			require.ErrorAs(t, err, &set)
			assert.EqualError(t, err, c.want)
		})
	}
}

func TestLookupReadsItsConfiguration(t *testing.T) {
	sub := bare()
	sub.Tools = []*plugins.Inspection{guest(t, "lookup")}
	sub.Config.Tools = map[string]map[string]any{"lookup": {"table": map[string]any{"capital of France": "Paris"}}}
	m := &fakeModel{replies: []any{callsTool("lookup", `{"key":"capital of France"}`), says("Paris")}}
	_, err := open(t, newLog(t), m, Events{}).Run(t.Context(), sub)
	require.NoError(t, err)
	messages := m.asked[1].Messages
	assert.Equal(t, "Paris", messages[len(messages)-1].Content)
}

func TestGoalsThatAreNone(t *testing.T) {
	h := open(t, newLog(t), &fakeModel{}, Events{})
	for _, goal := range []string{"", " \n\t "} {
		_, err := h.Run(t.Context(), Submission{Goal: goal, Config: bare().Config})
		require.ErrorIs(t, err, ErrGoal)
	}
	_, err := h.Run(t.Context(), Submission{Goal: "a\xffb", Config: bare().Config})
	require.ErrorContains(t, err, "not UTF-8")
	tasks, err := h.List(t.Context(), Query{})
	require.NoError(t, err)
	assert.Empty(t, tasks, "a refused task left something behind")
}

func TestFind(t *testing.T) {
	h := open(t, newLog(t), &fakeModel{replies: []any{says("four")}}, Events{})
	_, err := h.Find(t.Context(), "last")
	require.ErrorIs(t, err, ErrNoTask)
	var ids []string
	for range 2 {
		r, err := h.Run(t.Context(), bare())
		require.NoError(t, err)
		ids = append(ids, r.Task)
	}
	last, err := h.Find(t.Context(), "last")
	require.NoError(t, err)
	assert.Contains(t, ids, last.ID)
	for _, id := range ids {
		found, err := h.Find(t.Context(), strings.ToUpper(id))
		require.NoError(t, err)
		assert.Equal(t, id, found.ID)
	}
	_, err = h.Find(t.Context(), "0")
	require.ErrorIs(t, err, ErrAmbiguous)
	for _, name := range []string{"", "zzz"} {
		_, err = h.Find(t.Context(), name)
		require.ErrorIs(t, err, ErrNoTask)
	}
}

func TestEventJSON(t *testing.T) {
	line, err := EventJSON(&Event{
		Version: event.V1, Task: "01t", Seq: 3, Time: 1_700_000_000_123_456,
		Actor: event.Actor{Kind: event.ActorHost}, Payload: &event.TaskFailed{Reason: "<b>"},
	})
	require.NoError(t, err)
	assert.Equal(t, `{"v":1,"task":"01t","seq":3,"type":"TaskFailed","time":"2023-11-14T22:13:20.123456Z","actor":{"kind":"host"},"cause":0,"step":0,"attempt":0,"payload":{"reason":"<b>"}}`, string(line))
}
