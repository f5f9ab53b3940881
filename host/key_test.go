package host

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestCheckKey(t *testing.T) {
	for _, key := range []string{"k", " ", "order 4711/ü 語 😀", strings.Repeat("x", MaxKeyBytes)} {
		require.NoError(t, CheckKey(key), "%q", key)
	}
	for key, want := range map[string]string{
		"":                                 "the key is empty",
		strings.Repeat("x", MaxKeyBytes+1): "the key has 257 bytes, and at most 256 are allowed",
		"a\xff":                            "the key is not UTF-8 text",
		"a\nb":                             "the key has a character that is not printable, U+000A at byte 2",
		"ü\u202eb":                         "the key has a character that is not printable, U+202E at byte 3",
	} {
		require.EqualError(t, CheckKey(key), want)
	}
	log := newLog(t)
	_, err := open(t, log, nil, Events{}).Run(t.Context(), keyed("a\nb"))
	require.ErrorContains(t, err, "not printable")
	require.Empty(t, theHistory(t, open(t, log, nil, Events{})))
}

// TestKeyRecord: what the log of a key holds never changes but for its form.
func TestKeyRecord(t *testing.T) {
	record, err := cbor.Marshal(keyRecord{Form: keyForm, Task: "01t", Submission: "0f"})
	require.NoError(t, err)
	require.Equal(t, "83016330317462"+hex.EncodeToString([]byte("0f")), hex.EncodeToString(record))
	back, err := decodeKey(&store.Head{Index: record})
	require.NoError(t, err)
	require.Equal(t, keyRecord{Form: 1, Task: "01t", Submission: "0f"}, back)
	_, err = decodeKey(&store.Head{Index: append(record, 0)})
	require.ErrorAs(t, err, new(*store.CorruptError))
	record[1] = 2
	_, err = decodeKey(&store.Head{Index: record})
	require.ErrorIs(t, err, store.ErrVersion)
}

// TestKeyIsNotStored: an id is in the clear in an encrypted store, and a key may be somebody's secret.
func TestKeyIsNotStored(t *testing.T) {
	log := newLog(t)
	h := open(t, log, &fakeModel{replies: []any{says("four")}}, Events{})
	r, err := h.Run(t.Context(), keyed("hush"))
	require.NoError(t, err)
	heads, err := log.List(t.Context(), store.Query{})
	require.NoError(t, err)
	require.Len(t, heads, 2)
	for _, head := range heads {
		records, err := log.Read(t.Context(), head.Task, 0, 0)
		require.NoError(t, err)
		for _, record := range records {
			require.NotContains(t, string(record.Data), "hush")
		}
		require.NotContains(t, head.Task+string(head.Index), "hush")
	}
	created := history(t, h, r.Task)[0].Payload.(*event.TaskCreated)
	require.Equal(t, keyLog+created.Key, heads[1].Task)
}

// TestSubmittedAgain: the same submission is the same task, be it at its end or not; whoever watches is told which.
func TestSubmittedAgain(t *testing.T) {
	log := newLog(t)
	var known []string
	heard := Events{Known: func(task, phase string) { known = append(known, task+" "+phase) }}
	_, err := open(t, log, &fakeModel{}, heard).Run(t.Context(), keyed("k")) // nobody answers
	var stopped *StoppedError
	require.ErrorAs(t, err, &stopped)
	m := &fakeModel{replies: []any{says("four")}}
	h := open(t, log, m, heard)
	r, err := h.Run(t.Context(), keyed("k"))
	require.NoError(t, err)
	require.Equal(t, Result{Task: stopped.Task, Phase: "succeeded", Answer: "four", Verified: "none"}, *r)
	again, err := h.Run(t.Context(), keyed("k"))
	require.NoError(t, err)
	require.Equal(t, r, again)
	require.Len(t, m.asked, 1)
	require.Equal(t, []string{r.Task + " planning", r.Task + " succeeded"}, known)
	require.Equal(t, 2, count(theHistory(t, h), event.TypeClaimed))

	other, err := h.Run(t.Context(), keyed("l"))
	require.NoError(t, err)
	require.NotEqual(t, r.Task, other.Task)
	for range 2 {
		unkeyed, err := h.Run(t.Context(), bare())
		require.NoError(t, err)
		require.NotContains(t, []string{r.Task, other.Task}, unkeyed.Task)
	}
}

// TestKeyOfAnotherSubmission: a key stands for one submission, and the error says what is another one, and which task has
// the key. Nothing is compiled for it.
func TestKeyOfAnotherSubmission(t *testing.T) {
	tool := func(sub *Submission) { sub.Tools = []*plugins.Inspection{trivialTool(t)} }
	for want, change := range map[string]func(*Submission){
		"another goal":          func(s *Submission) { s.Goal += " " },
		"another model":         func(s *Submission) { s.ModelName = "other" },
		"another recipe":        func(s *Submission) { s.Recipe = guest(t, "boxed") },
		"other tools":           func(s *Submission) { s.Tools = nil },
		"other grants":          func(s *Submission) { s.Grants = []Grant{{Capability: GrantHTTP, Limit: "example.com"}} },
		"another configuration": func(s *Submission) { s.Config.Limits.ParallelTools = 2 },
	} {
		t.Run(want, func(t *testing.T) {
			log := newLog(t)
			sub := keyed("k")
			tool(&sub)
			r, err := open(t, log, &fakeModel{replies: []any{says("four")}}, Events{}).Run(t.Context(), sub)
			require.NoError(t, err)
			change(&sub)
			compiles := Events{Compiling: func(plugin string) { t.Errorf("%s is compiled", plugin) }}
			h, err := Open(Options{Log: log, Model: &fakeModel{}, CacheDir: t.TempDir(), Events: compiles})
			require.NoError(t, err)
			_, err = h.Run(t.Context(), sub)
			require.EqualError(t, err, "the key belongs to task "+r.Task+", which was submitted with "+want+": use another key")
			require.ErrorAs(t, err, new(*KeyError))
			theHistory(t, h)
		})
	}
}

// TestSubmissionDigest: what a version of the host adds to a submission is not what was submitted.
func TestSubmissionDigest(t *testing.T) {
	created := &event.TaskCreated{Goal: "g", Model: "m", Config: []byte(`{"limits":{"parallel_tools":2,"same_failure":null}}`)}
	sum, err := submissionDigest(created)
	require.NoError(t, err)
	later := *created
	later.Host, later.ABI, later.Context, later.Tokenizer, later.Key = "v9", "9.0", 9, "t", "k"
	same, err := submissionDigest(&later)
	require.NoError(t, err)
	require.Equal(t, sum, same)

	usual := map[string]any{"a": "1", "b": map[string]any{"c": "2", "d": "3"}, "e": []any{"4"}}
	for name, tt := range map[string]struct{ own, want any }{
		"the defaults":           {usual, map[string]any{}},
		"a value":                {map[string]any{"a": "9", "b": usual["b"], "e": usual["e"]}, map[string]any{"a": "9"}},
		"a value below":          {map[string]any{"a": "1", "b": map[string]any{"c": "2", "d": "9"}, "e": usual["e"]}, map[string]any{"b": map[string]any{"d": "9"}}},
		"a list":                 {map[string]any{"a": "1", "b": usual["b"], "e": []any{}}, map[string]any{"e": []any{}}},
		"one more":               {map[string]any{"a": "1", "b": usual["b"], "e": usual["e"], "f": "5"}, map[string]any{"f": "5"}},
		"one less":               {map[string]any{"a": "1", "b": usual["b"]}, map[string]any{"e": nil}},
		"null":                   {map[string]any{"a": nil, "b": usual["b"], "e": usual["e"]}, map[string]any{"a": nil}},
		"a value for a map":      {map[string]any{"a": "1", "b": "2", "e": usual["e"]}, map[string]any{"b": "2"}},
		"a map that is new":      {map[string]any{"a": "1", "b": usual["b"], "e": usual["e"], "f": map[string]any{"g": "6"}}, map[string]any{"f": map[string]any{"g": "6"}}},
		"what is no map at all":  {"x", "x"},
		"another kind of number": {map[string]any{"a": 1, "b": usual["b"], "e": usual["e"]}, map[string]any{"a": 1}},
	} {
		assert.Equal(t, tt.want, besides(tt.own, usual), name)
	}
	config := bare().Config
	config.Limits = core.DefaultConfig().Limits
	raw, err := event.EncodeJSON(config)
	require.NoError(t, err)
	left, err := configured(raw)
	require.NoError(t, err)
	require.Equal(t, map[string]any{}, left)
}

// TestKeyOfARefusedSubmission: a submission that was refused has begun nothing, and its key is free for the one that is
// right.
func TestKeyOfARefusedSubmission(t *testing.T) {
	log := newLog(t)
	h := open(t, log, &fakeModel{replies: []any{says("four")}}, Events{})
	sub := keyed("k")
	sub.Tools = []*plugins.Inspection{guest(t, "calc")}
	sub.Config.Limits.PluginMemory = 1 << 16
	refused, err := h.Run(t.Context(), sub)
	require.Error(t, err)
	require.Equal(t, "failed", refused.Phase)
	r, err := h.Run(t.Context(), keyed("k"))
	require.NoError(t, err)
	require.NotEqual(t, refused.Task, r.Task)
}

// TestKeyOfADeletedTask: it is free, also where the log of the key could not be told so when the task was deleted.
func TestKeyOfADeletedTask(t *testing.T) {
	for name, told := range map[string]bool{"both": true, "the task alone": false} {
		t.Run(name, func(t *testing.T) {
			log := &untoldLog{Log: newLog(t)}
			m := &fakeModel{replies: []any{says("four")}}
			h := open(t, log, m, Events{})
			first, err := h.Run(t.Context(), keyed("k"))
			require.NoError(t, err)
			log.untold = !told
			require.NoError(t, h.Delete(t.Context(), first.Task, false))
			log.untold = false
			report, err := h.Check(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, report.Damage)
			require.Equal(t, 1, report.SideLogs)
			holder, _, err := h.keyHolder(t.Context(), keyDigest("k"))
			require.NoError(t, err)
			require.Empty(t, holder.Task)

			other := keyed("k")
			other.Goal = "something else"
			second, err := h.Run(t.Context(), other)
			require.NoError(t, err)
			require.NotEqual(t, first.Task, second.Task)
			again, err := h.Run(t.Context(), other)
			require.NoError(t, err)
			require.Equal(t, second, again)
			h.freeKey(t.Context(), keyDigest("k"), first.Task) // who deleted the first one comes late
			again, err = h.Run(t.Context(), other)
			require.NoError(t, err)
			require.Equal(t, second, again)
			require.Len(t, m.asked, 2)
			report, err = h.Check(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, report.Damage)
		})
	}
}

// untoldLog takes no commits while it is untold.
type untoldLog struct {
	store.Log
	untold bool
}

func (l *untoldLog) Commit(ctx context.Context, c store.Commit) error {
	if l.untold {
		return errCrash
	}
	return l.Log.Commit(ctx, c)
}

// TestKeyIsFreedMeanwhile: who knows the log of a key as it was before the key was freed and taken does not take it from the
// task that has it since.
func TestKeyIsFreedMeanwhile(t *testing.T) {
	inner := newLog(t)
	m := &fakeModel{replies: []any{says("four")}}
	h := open(t, inner, m, Events{})
	first, err := h.Run(t.Context(), keyed("k"))
	require.NoError(t, err)
	require.NoError(t, inner.Delete(t.Context(), first.Task, mustHead(t, inner, first.Task).Last)) // and the process died
	var second *Result
	log := &betweenLog{Log: inner, then: func() {
		h.freeKey(t.Context(), keyDigest("k"), first.Task)
		second, err = h.Run(t.Context(), keyed("k"))
		require.NoError(t, err)
	}}
	third, err := open(t, log, m, Events{}).Run(t.Context(), keyed("k"))
	require.NoError(t, err)
	require.NotNil(t, second)
	require.Equal(t, second, third)
	require.Len(t, m.asked, 2)
}

func mustHead(t testing.TB, log store.Log, id string) store.Head {
	head, err := log.Head(t.Context(), id)
	require.NoError(t, err)
	return head
}

// betweenLog has something happen between the look at a key and the commit that takes it.
type betweenLog struct {
	store.Log
	then func()
	done bool
}

func (l *betweenLog) Commit(ctx context.Context, c store.Commit) error {
	if !l.done {
		l.done = true
		l.then()
	}
	return l.Log.Commit(ctx, c)
}

// TestSubmissionsCross: the same is submitted, and something else is, when the key was seen to be free and is not taken
// yet.
func TestSubmissionsCross(t *testing.T) {
	for _, same := range []bool{true, false} {
		inner := newLog(t)
		m := &fakeModel{replies: []any{says("four")}}
		var first *Result
		log := &betweenLog{Log: inner, then: func() {
			var err error
			first, err = open(t, inner, m, Events{}).Run(t.Context(), keyed("k"))
			require.NoError(t, err)
		}}
		sub := keyed("k")
		if !same {
			sub.Goal = "something else"
		}
		r, err := open(t, log, m, Events{}).Run(t.Context(), sub)
		if same {
			require.NoError(t, err)
			require.Equal(t, first, r)
		} else {
			require.ErrorAs(t, err, new(*KeyError))
		}
		theHistory(t, open(t, inner, nil, Events{}))
		require.Len(t, m.asked, 1)
	}
}

// TestKeyedTaskIsDeletedMeanwhile: the task that has the key goes when it is to be gone on with. The submission is a new
// one then.
func TestKeyedTaskIsDeletedMeanwhile(t *testing.T) {
	inner := newLog(t)
	m := &fakeModel{replies: []any{says("four")}}
	h := open(t, inner, m, Events{})
	first, err := h.Run(t.Context(), keyed("k"))
	require.NoError(t, err)
	runners := &hookedRunners{newRunners(), func() { require.NoError(t, h.Delete(t.Context(), first.Task, false)) }}
	second, err := shared(t, inner, runners, m).Run(t.Context(), keyed("k"))
	require.NoError(t, err)
	require.NotEqual(t, first.Task, second.Task)
	require.Equal(t, second.Task, theHistory(t, h)[0].Task)
}

// hookedRunners calls first before the first task begins.
type hookedRunners struct {
	Runners
	first func()
}

func (r *hookedRunners) Begin(ctx context.Context, task string) (func(), error) {
	if do := r.first; do != nil {
		r.first = nil
		do()
	}
	return r.Runners.Begin(ctx, task)
}

// TestKeyedTaskIsBusy: what another process runs is not taken from it.
func TestKeyedTaskIsBusy(t *testing.T) {
	log, runners := newLog(t), newRunners()
	held := &fakeModel{replies: []any{says("four")}, block: make(chan struct{}), blocked: make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		_, err := shared(t, log, runners, held).Run(t.Context(), keyed("k"))
		done <- err
	}()
	<-held.blocked
	_, err := shared(t, log, runners, &fakeModel{}).Run(t.Context(), keyed("k"))
	require.ErrorIs(t, err, errBusy)
	other := keyed("k")
	other.Goal = "something else"
	_, err = shared(t, log, runners, &fakeModel{}).Run(t.Context(), other)
	require.ErrorAs(t, err, new(*KeyError))
	close(held.block)
	require.NoError(t, <-done)
}

// requireKeyed: the task and its key are both in a log, or neither is.
func requireKeyed(t testing.TB, log store.Log, key string) (there bool) {
	t.Helper()
	h := open(t, log, nil, Events{})
	events := theHistory(t, h)
	holder, head, err := h.keyHolder(t.Context(), keyDigest(key))
	require.NoError(t, err)
	if len(events) == 0 {
		require.Zero(t, head.Last, "a key of a task that is not there")
		return false
	}
	require.Equal(t, events[0].Task, holder.Task, "a task without its key")
	return true
}

// TestKeyAtEveryCommit: wherever a worker dies, the task and its key are both there or neither is, and the same submission
// brings it to its end.
func TestKeyAtEveryCommit(t *testing.T) {
	m := &fakeModel{replies: []any{says("four")}}
	for n := 1; ; n++ {
		for _, after := range []bool{false, true} {
			log := newLog(t)
			_, err := open(t, &failingLog{Log: log, left: n, after: after}, m, Events{}).Run(t.Context(), keyed("k"))
			if err == nil {
				require.Greater(t, n, 2)
				return
			}
			require.ErrorIs(t, err, errCrash)
			require.Equal(t, n > 1 || after, requireKeyed(t, log, "k"))
			h := open(t, log, m, Events{})
			r, err := h.Run(t.Context(), keyed("k"))
			require.NoError(t, err)
			require.Equal(t, "succeeded", r.Phase)
			require.True(t, requireKeyed(t, log, "k"))
		}
	}
}

// TestKeyAtEveryWrite is the same for a machine that crashes before each operation that writes, whatever of the unsynced
// data survives.
func TestKeyAtEveryWrite(t *testing.T) {
	mem, points := vfs.NewCrashableMem(), 0
	var mu sync.Mutex // the engine writes beside us
	var images []*vfs.MemFS
	log, err := pebblestore.Open("dir", pebblestore.Options{FS: watch(mem, func(errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		points++
		for _, percent := range unsynced {
			images = append(images, crash(mem, percent, points))
		}
		return nil
	})})
	require.NoError(t, err)
	m := &fakeModel{replies: []any{says("four")}}
	h := open(t, log, m, Events{})
	r, err := h.Run(t.Context(), keyed("k"))
	require.NoError(t, err)
	require.NoError(t, h.Delete(t.Context(), r.Task, false))
	_, err = h.Run(t.Context(), keyed("k"))
	require.NoError(t, err)
	require.NoError(t, log.Close())
	there := 0
	for n, fs := range images {
		if raced && n%7 != 0 {
			continue
		}
		log, err := pebblestore.Open("dir", pebblestore.Options{FS: fs})
		require.NoError(t, err)
		h := open(t, log, m, Events{})
		report, err := h.Check(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, report.Damage, "a task without its key")
		there += report.Tasks
		require.LessOrEqual(t, report.SideLogs, 1)
		_, err = h.Run(t.Context(), keyed("k"))
		require.NoError(t, err)
		require.True(t, requireKeyed(t, log, "k"))
		require.NoError(t, log.Close())
	}
	require.Greater(t, there, 3)
	t.Logf("%d write points, a task in %d clones", points, there)
}

// TestHolderGoesWithAKey: the process that has the store dies with the commit that begins a keyed task of another process,
// done or not. The one that asks again finds its own.
func TestHolderGoesWithAKey(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	s := &scenes()[1]
	sub := s.sub(t)
	sub.Key = "k"
	for _, done := range []bool{false, true} {
		require.True(t, holderGoes(t, s, sub, 1, done))
	}
	goleak.VerifyNone(t, leaks)
}

// TestKeyInterrupted: who ends before the commit leaves the key free.
func TestKeyInterrupted(t *testing.T) {
	inner := newLog(t)
	ctx, cancel := context.WithCancel(t.Context())
	log := &betweenLog{Log: inner, then: cancel}
	r, err := open(t, log, &fakeModel{}, Events{}).Run(ctx, keyed("k"))
	require.ErrorIs(t, err, ErrInterrupted)
	require.Nil(t, r)
	require.False(t, requireKeyed(t, inner, "k"))
	_, err = open(t, inner, &fakeModel{}, Events{}).Run(ctx, keyed("k"))
	require.ErrorIs(t, err, ErrInterrupted)
}

// TestKeyOnFailedLog: a log that fails is not taken for a key that is free.
func TestKeyOnFailedLog(t *testing.T) {
	var asked atomic.Int64
	log := &headlessLog{newLog(t), &asked}
	_, err := open(t, log, &fakeModel{}, Events{}).Run(t.Context(), keyed("k"))
	require.ErrorIs(t, err, store.ErrFailed)
	require.EqualValues(t, 1, asked.Load())
}

// headlessLog knows no head.
type headlessLog struct {
	store.Log
	asked *atomic.Int64
}

func (l *headlessLog) Head(context.Context, string) (store.Head, error) {
	l.asked.Add(1)
	return store.Head{}, errors.Join(store.ErrFailed)
}
