package host

import (
	"context"
	"fmt"

	"github.com/axishost/axishost/host/stats"
)

// Stats is what Stats found. The order of its fields is the order of its JSON.
type Stats struct {
	*stats.Report
	// Damage is why tasks are not in the report: nothing of a task that cannot be read whole is counted.
	Damage []Damage `json:"damage"`
}

// Stats gives the numbers of the tasks that q selects, by their events alone. choose, where it is set, gives those of
// the tasks that are counted, for what a query cannot say; of the task's text it is told nothing. progress, where it
// is set, is told how many tasks of how many are done. An error says that it could not go on.
func (h *Host) Stats(ctx context.Context, q Query, choose func([]Summary) []Summary, progress func(done, total int)) (*Stats, error) {
	var sum stats.Sum
	var found CheckReport // for its way to tell the damage of a task from a log that failed
	tasks, err := h.counted(ctx, q, choose, &found)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	for i := range tasks {
		if progress != nil {
			progress(i, len(tasks))
		}
		task, err := h.count(ctx, &tasks[i])
		if err == nil {
			sum.Add(task, tasks[i].Process != 0)
		}
		if err := found.add(ctx, tasks[i].ID, err); err != nil {
			return nil, interrupted(ctx, err)
		}
	}
	return &Stats{sum.Report(), append([]Damage{}, found.Damage...)}, nil
}

// countedTask is a task that is to be counted, and how many events it has at least.
type countedTask struct {
	Summary
	last uint64
}

// counted gives the tasks to count. One whose list entry is damaged is noted, and left out.
func (h *Host) counted(ctx context.Context, q Query, choose func([]Summary) []Summary, found *CheckReport) ([]countedTask, error) {
	heads, err := h.opts.Log.List(ctx, q.inLog())
	if err != nil {
		return nil, found.add(ctx, "", err)
	}
	running, err := h.running(ctx)
	if err != nil {
		return nil, err
	}
	last := make(map[string]uint64, len(heads))
	tasks := make([]Summary, 0, len(heads))
	for i := range heads {
		var s Summary
		if err := found.add(ctx, heads[i].Task, decodeSummary(&heads[i], &s)); err != nil {
			return nil, err
		}
		if s.ID == "" {
			continue
		}
		s.Process, s.Task = running[s.ID], "" // its text would be most of the memory that all take
		s.Waits = h.waits(ctx, &s)
		last[s.ID] = heads[i].Last
		tasks = append(tasks, s)
	}
	if choose != nil {
		tasks = choose(tasks)
	}
	out := make([]countedTask, len(tasks))
	for i := range tasks {
		out[i] = countedTask{tasks[i], last[tasks[i].ID]}
	}
	return out, nil
}

// count folds one task. What follows an event that is damaged is not read, so that such a task would seem to have
// stopped: it is an error.
func (h *Host) count(ctx context.Context, task *countedTask) (*stats.Task, error) {
	t, seq := stats.NewTask(), uint64(0)
	err := h.Read(ctx, task.ID, 0, func(e *Event) error {
		seq = e.Seq
		t.Event(e)
		return nil
	})
	if err == nil && seq < task.last {
		err = &damageError{Damage{task.ID, 0, fmt.Sprintf("it has %d events in lists, and %d are there", task.last, seq)}}
	}
	return t, err
}
