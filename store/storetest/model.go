package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/axishost/axishost/store"
)

// modelTask is what the contract says of one task, in the simplest form that can hold it.
type modelTask struct {
	records []string
	fence   uint64
	index   string
	label   string
	blobs   map[string]string
}

// machine runs random operations on a log and on the model, and compares.
type machine struct {
	log   store.Log
	tasks map[string]*modelTask
}

// testModel runs random sequences of operations. rapid prints the seed of one that fails, and
// -rapid.seed repeats it.
func testModel(t *testing.T, f Factory) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		m := &machine{log: f.Open(t, dir), tasks: make(map[string]*modelTask)}
		defer func() { require.NoError(rt, m.log.Close()) }()
		actions := map[string]func(*rapid.T){
			"":       m.checkHeads,
			"commit": func(rt *rapid.T) { m.commit(t, rt) },
			"read":   func(rt *rapid.T) { m.read(t, rt) },
			"blob":   func(rt *rapid.T) { m.blob(t, rt) },
			"list":   func(rt *rapid.T) { m.list(t, rt) },
			"delete": func(rt *rapid.T) { m.delete(t, rt) },
			"compact": func(rt *rapid.T) {
				if rapid.IntRange(0, 9).Draw(rt, "compact") == 0 {
					require.NoError(rt, m.log.Compact(t.Context()))
				}
			},
		}
		if f.Durable {
			actions["reopen"] = func(rt *rapid.T) {
				require.NoError(rt, m.log.Close())
				m.log = f.Open(t, dir)
			}
		}
		rt.Repeat(actions)
	})
}

func taskIDs() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "a/1", "a/1/x", "a/2", "b", "never"})
}

func blobKeys() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"k", "k1", "l"})
}

func labels() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "run", "done"})
}

func data(least int) *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.Byte(), least, 40), func(b []byte) string { return string(b) })
}

// commit commits something that is right more often than not.
func (m *machine) commit(t *testing.T, rt *rapid.T) {
	var c store.Commit
	ids := rapid.SliceOfNDistinct(taskIDs(), 0, 3, rapid.ID[string]).Draw(rt, "tasks")
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "never" })
	for _, id := range ids {
		a := store.Append{
			Task:     id,
			Expected: uint64(max(0, m.last(id)+rapid.SampledFrom([]int{0, 0, 0, 0, 0, -1, 1}).Draw(rt, "off"))),
			Fence:    uint64(max(0, int(m.fence(id))+rapid.SampledFrom([]int{0, 0, 0, 0, 1, -1}).Draw(rt, "claim"))),
			Records:  records(rapid.SliceOfN(data(1), 1, 4).Draw(rt, "records")...),
		}
		if rapid.Bool().Draw(rt, "index") {
			a.Index = []byte(data(0).Draw(rt, "index entry"))
			a.Label = labels().Draw(rt, "label")
		}
		c.Appends = append(c.Appends, a)
	}
	for range rapid.IntRange(0, 2).Draw(rt, "blobs") {
		b := blob(taskIDs().Draw(rt, "task"), blobKeys().Draw(rt, "key"), data(0).Draw(rt, "value"))
		c.Blobs = append(c.Blobs, b.Blobs...)
	}
	require.ErrorIs(rt, m.log.Commit(t.Context(), c), m.apply(c))
}

// apply gives the error that c has to end with, and changes the model when that is nil.
func (m *machine) apply(c store.Commit) error {
	if len(c.Appends)+len(c.Blobs) == 0 {
		return store.ErrInvalid
	}
	for _, a := range c.Appends {
		if a.Fence < m.fence(a.Task) {
			return store.ErrFenced
		}
		if int(a.Expected) != m.last(a.Task) {
			return store.ErrConflict
		}
	}
	for _, a := range c.Appends {
		task := m.task(a.Task)
		for _, r := range a.Records {
			task.records = append(task.records, string(r))
		}
		task.fence = a.Fence
		if a.Index != nil {
			task.index, task.label = string(a.Index), a.Label
		}
	}
	for _, b := range c.Blobs {
		m.task(b.Task).blobs[b.Key] = string(b.Value)
	}
	return nil
}

func (m *machine) read(t *testing.T, rt *rapid.T) {
	id := taskIDs().Draw(rt, "task")
	after := rapid.IntRange(0, 12).Draw(rt, "after")
	limit := rapid.IntRange(0, 5).Draw(rt, "limit")
	got, err := m.log.Read(t.Context(), id, uint64(after), limit)
	if m.last(id) == 0 {
		require.ErrorIs(rt, err, store.ErrNotFound)
		return
	}
	require.NoError(rt, err)
	want := m.tasks[id].records[min(after, m.last(id)):]
	if limit > 0 {
		want = want[:min(limit, len(want))]
	}
	require.Len(rt, got, len(want))
	for i, r := range got {
		require.Equal(rt, fmt.Sprintf("%d %q", after+i+1, want[i]), fmt.Sprintf("%d %q", r.Seq, r.Data))
	}
}

func (m *machine) blob(t *testing.T, rt *rapid.T) {
	id, key := taskIDs().Draw(rt, "task"), blobKeys().Draw(rt, "key")
	got, err := m.log.Blob(t.Context(), id, key)
	task := m.tasks[id]
	if task == nil {
		require.ErrorIs(rt, err, store.ErrNotFound)
		return
	}
	want, ok := task.blobs[key]
	if !ok {
		require.ErrorIs(rt, err, store.ErrNotFound)
		return
	}
	require.NoError(rt, err)
	require.Equal(rt, want, string(got))
}

func (m *machine) list(t *testing.T, rt *rapid.T) {
	bound := rapid.SampledFrom([]string{"", "", "a", "a/", "a/1", "a/15", "a/2", "b", "c"})
	q := store.Query{
		Prefix: rapid.SampledFrom([]string{"", "a", "a/", "a/1", "b", "c"}).Draw(rt, "prefix"),
		From:   bound.Draw(rt, "from"),
		Before: bound.Draw(rt, "before"),
		Labels: rapid.SliceOfN(labels(), 0, 2).Draw(rt, "labels"),
		Last:   rapid.IntRange(0, 3).Draw(rt, "last"),
	}
	got, err := m.log.List(t.Context(), q)
	require.NoError(rt, err)
	var want []string
	for _, id := range slices.Sorted(maps.Keys(m.tasks)) {
		if m.last(id) > 0 && strings.HasPrefix(id, q.Prefix) && id >= q.From && (q.Before == "" || id < q.Before) &&
			(len(q.Labels) == 0 || slices.Contains(q.Labels, m.tasks[id].label)) {
			want = append(want, id)
		}
	}
	if q.Last > 0 {
		want = want[max(0, len(want)-q.Last):]
	}
	require.Len(rt, got, len(want))
	for i, h := range got {
		requireSameHead(rt, m.head(want[i]), h)
	}
}

// delete deletes a task, with the right number more often than not.
func (m *machine) delete(t *testing.T, rt *rapid.T) {
	id := taskIDs().Draw(rt, "task")
	expected := max(0, m.last(id)+rapid.SampledFrom([]int{0, 0, 0, -1, 1}).Draw(rt, "off"))
	var want error
	switch {
	case m.last(id) == 0:
		want = store.ErrNotFound
	case m.last(id) != expected:
		want = store.ErrConflict
	default:
		delete(m.tasks, id)
	}
	require.ErrorIs(rt, m.log.Delete(t.Context(), id, uint64(expected)), want)
}

// checkHeads runs between any two operations.
func (m *machine) checkHeads(rt *rapid.T) {
	for id := range m.tasks {
		h, err := m.log.Head(rt.Context(), id)
		if m.last(id) == 0 {
			require.ErrorIs(rt, err, store.ErrNotFound)
			continue
		}
		require.NoError(rt, err)
		requireSameHead(rt, m.head(id), h)
		last, err := m.log.Watch(rt.Context(), id, h.Last-1)
		require.NoError(rt, err)
		require.Equal(rt, h.Last, last)
	}
}

func (m *machine) task(id string) *modelTask {
	if m.tasks[id] == nil {
		m.tasks[id] = &modelTask{blobs: make(map[string]string)}
	}
	return m.tasks[id]
}

func (m *machine) last(id string) int {
	if task := m.tasks[id]; task != nil {
		return len(task.records)
	}
	return 0
}

func (m *machine) fence(id string) uint64 {
	if task := m.tasks[id]; task != nil {
		return task.fence
	}
	return 0
}

func (m *machine) head(id string) store.Head {
	task := m.tasks[id]
	return store.Head{Task: id, Last: uint64(len(task.records)), Fence: task.fence, Index: []byte(task.index), Label: task.label}
}
