package control

import (
	"context"
	"maps"
	"sync"
)

// runners are the tasks that are being run, each by a process.
type runners struct {
	mu    sync.Mutex
	tasks map[string]int
}

// hold registers a task, says so, and keeps it until ctx ends.
func (r *runners) hold(ctx context.Context, task string, pid int, registered func()) error {
	r.mu.Lock()
	if other, busy := r.tasks[task]; busy {
		r.mu.Unlock()
		return &BusyError{Task: task, PID: other}
	}
	r.tasks[task] = pid
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.tasks, task)
	}()
	registered()
	<-ctx.Done()
	return ctx.Err()
}

func (r *runners) running(context.Context) (map[string]int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.tasks), nil
}
