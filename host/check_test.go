package host

import (
	"context"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/require"
)

// appendRaw appends records to a task as whoever writes past the host does. label is kept where it is empty.
func appendRaw(t *testing.T, log store.Log, id, label string, index []byte, records ...[]byte) {
	head, err := log.Head(t.Context(), id)
	require.NoError(t, err)
	if label == "" {
		label = head.Label
	}
	if index == nil {
		index = head.Index
	}
	a := store.Append{Task: id, Expected: head.Last, Fence: head.Fence, Records: records, Index: index, Label: label}
	require.NoError(t, log.Commit(t.Context(), store.Commit{Appends: []store.Append{a}}))
}

// rawEvent is a valid record of an event that follows the last one of a task.
func rawEvent(t *testing.T, log store.Log, id string, payload event.Payload) []byte {
	head, err := log.Head(t.Context(), id)
	require.NoError(t, err)
	data, err := event.Encode(&Event{
		Version: event.Newest, Task: id, Seq: head.Last + 1, Actor: event.Actor{Kind: event.ActorHost}, Payload: payload,
	})
	require.NoError(t, err)
	return data
}

// damages are what can have happened to a halted task with one plugin. Each is found in the place that it says.
func damages() map[string]struct {
	do   func(t *testing.T, log *lyingLog, id, module string)
	seq  uint64 // after the last event that is whole; 0: not of one event
	what string
} {
	type damage = struct {
		do   func(t *testing.T, log *lyingLog, id, module string)
		seq  uint64
		what string
	}
	return map[string]damage{
		"garbage": {func(t *testing.T, log *lyingLog, id, _ string) {
			appendRaw(t, log, id, "", nil, []byte("garbage"))
		}, 1, "event"},
		"cut off": {func(t *testing.T, log *lyingLog, id, _ string) {
			whole := rawEvent(t, log, id, &event.Claimed{Worker: "w", Fence: 2})
			appendRaw(t, log, id, "", nil, whole[:len(whole)-1])
		}, 1, "event"},
		"newer version": {func(t *testing.T, log *lyingLog, id, _ string) {
			whole := rawEvent(t, log, id, &event.Claimed{Worker: "w", Fence: 2})
			whole[1] = byte(event.Newest) + 1
			appendRaw(t, log, id, "", nil, whole)
		}, 1, "newer version"},
		"unknown type": {func(t *testing.T, log *lyingLog, id, _ string) {
			whole := rawEvent(t, log, id, &event.TaskCreated{})
			require.LessOrEqual(t, whole[2], byte(0x17), "the type is one byte")
			whole[2] = 0x18 // the number is the next byte, which was the time: 0
			appendRaw(t, log, id, "", nil, append(whole[:3:3], append([]byte{0xff}, whole[3:]...)...))
		}, 1, "type"},
		"does not fold": {func(t *testing.T, log *lyingLog, id, _ string) {
			appendRaw(t, log, id, "", nil, rawEvent(t, log, id, &event.TaskCreated{Goal: "x"}))
		}, 1, "TaskCreated"},
		"label": {func(t *testing.T, log *lyingLog, id, _ string) {
			appendRaw(t, log, id, "succeeded", nil, rawEvent(t, log, id, &event.Claimed{Worker: "w", Fence: 2}))
		}, 0, "its phase in lists is succeeded, by its events it is planning"},
		"index": {func(t *testing.T, log *lyingLog, id, _ string) {
			appendRaw(t, log, id, "", []byte("garbage"), rawEvent(t, log, id, &event.Claimed{Worker: "w", Fence: 2}))
		}, 0, "list entry"},
		"end missing": {func(t *testing.T, log *lyingLog, id, _ string) {
			log.ahead = id
		}, 0, "in lists"},
		"module altered": {func(t *testing.T, log *lyingLog, id, module string) {
			require.NoError(t, log.Commit(t.Context(), store.Commit{Blobs: []store.Blob{{Task: id, Key: module, Value: []byte("x")}}}))
		}, 0, `the module of plugin "witness" is not what its digest says`},
		"module missing": {func(t *testing.T, log *lyingLog, id, _ string) {
			log.without = id
		}, 0, `the module of plugin "witness" is missing`},
	}
}

// lyingLog is a log that has lost something of a task, or is about to lose it.
type lyingLog struct {
	store.Log
	without string // its modules
	ahead   string // its head is ahead of its records
	failing string // its records cannot be read, and nothing more then
	delete  string // deleted when its module is asked for
}

func (l *lyingLog) Blob(ctx context.Context, task, key string) ([]byte, error) {
	if task == l.delete {
		head, err := l.Log.Head(ctx, task)
		if err != nil {
			return nil, err
		}
		if err := l.Delete(ctx, task, head.Last); err != nil {
			return nil, err
		}
	}
	if task == l.without {
		return nil, store.ErrNotFound
	}
	return l.Log.Blob(ctx, task, key)
}

func (l *lyingLog) List(ctx context.Context, q store.Query) ([]store.Head, error) {
	heads, err := l.Log.List(ctx, q)
	for i := range heads {
		if heads[i].Task == l.ahead {
			heads[i].Last++
		}
	}
	return heads, err
}

func (l *lyingLog) Read(ctx context.Context, task string, after uint64, limit int) ([]store.Record, error) {
	if task == l.failing {
		return nil, store.ErrFailed
	}
	return l.Log.Read(ctx, task, after, limit)
}

// haltedWith leaves a halted task with a plugin, and gives its last event and its module.
func haltedWith(t *testing.T, log store.Log) (id string, last uint64, module string) {
	sub := withWitness(t)
	m := &fakeModel{replies: []any{&model.Error{Class: model.ClassAuth, Status: 401}}}
	r, err := open(t, log, m, Events{}).Run(t.Context(), sub)
	require.ErrorAs(t, err, new(*StoppedError))
	head, err := log.Head(t.Context(), r.Task)
	require.NoError(t, err)
	return r.Task, head.Last, sub.Tools[0].Digest
}

// TestCheckFindsDamage: each damage alone, and all of them in one store, beside whole tasks.
func TestCheckFindsDamage(t *testing.T) {
	all := &lyingLog{Log: newLog(t)}
	want := map[string]Damage{}
	for name, d := range damages() {
		t.Run(name, func(t *testing.T) {
			log := &lyingLog{Log: newLog(t)}
			id, last, module := haltedWith(t, log)
			h := open(t, log, nil, Events{})
			report, err := h.Check(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, report.Damage, "it is whole")
			require.Equal(t, 1, report.Modules)
			require.Equal(t, last, report.Events)
			d.do(t, log, id, module)
			report, err = h.Check(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, report.Damage, 1)
			require.Equal(t, id, report.Damage[0].Task)
			require.Contains(t, report.Damage[0].What, d.what)
			require.NotContains(t, report.Damage[0].What, "\n")
			require.Equal(t, d.seq > 0, report.Damage[0].Seq == last+d.seq, "event %d", report.Damage[0].Seq)
			if d.seq == 0 {
				require.Zero(t, report.Damage[0].Seq)
			}
		})
		if name != "end missing" && name != "module missing" { // of which a lyingLog has one each
			haltedWith(t, all)
			id, _, module := haltedWith(t, all)
			d.do(t, all, id, module)
			want[id] = Damage{Task: id}
		}
	}
	report, err := open(t, all, nil, Events{}).Check(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 2*len(want), report.Tasks)
	require.Len(t, report.Damage, len(want))
	for _, d := range report.Damage {
		require.Contains(t, want, d.Task)
		delete(want, d.Task)
	}
}

// TestCheckFindsAllOfATask: two plugins and a list entry that are not what they were.
func TestCheckFindsAllOfATask(t *testing.T) {
	log := &lyingLog{Log: newLog(t)}
	sub := withWitness(t)
	sub.Tools = append(sub.Tools, guest(t, "calc"))
	m := &fakeModel{replies: []any{&model.Error{Class: model.ClassAuth, Status: 401}}}
	r, err := open(t, log, m, Events{}).Run(t.Context(), sub)
	require.ErrorAs(t, err, new(*StoppedError))
	log.without = r.Task
	appendRaw(t, log, r.Task, "succeeded", nil, rawEvent(t, log, r.Task, &event.Claimed{Worker: "w", Fence: 2}))
	var first *CheckReport
	for range 4 {
		report, err := open(t, log, nil, Events{}).Check(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, report.Damage, 3)
		if first == nil {
			first = report
		}
		require.Equal(t, first, report, "the order is the same each time")
	}
}

// TestCheckOfAFailedLog ends with what the log says.
func TestCheckOfAFailedLog(t *testing.T) {
	log := &lyingLog{Log: newLog(t)}
	first, _, _ := haltedWith(t, log)
	log.failing, _, _ = haltedWith(t, log)
	appendRaw(t, log, first, "", nil, []byte("garbage"))
	var done []int
	report, err := open(t, log, nil, Events{}).Check(t.Context(), func(n, of int) {
		require.Equal(t, 2, of)
		done = append(done, n)
	})
	require.ErrorIs(t, err, store.ErrFailed)
	require.Equal(t, []int{0, 1}, done)
	require.Len(t, report.Damage, 1, "what was found before")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = open(t, log, nil, Events{}).Check(ctx, nil)
	require.ErrorIs(t, err, ErrInterrupted)
}

// TestCheckOfADeletedTask: a task that goes while it is checked is no damage.
func TestCheckOfADeletedTask(t *testing.T) {
	log := &lyingLog{Log: newLog(t)}
	log.delete, _, _ = haltedWith(t, log)
	haltedWith(t, log)
	report, err := open(t, log, nil, Events{}).Check(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, report.Damage)
	require.Equal(t, 1, report.Modules)
}
