package core

import (
	"errors"
	"strings"

	"github.com/axishost/axishost/host/internal/event"
)

// pluginsRejected keeps which plugins are not run, and why. A task that was to begin with them ends by it.
func (d *draft) pluginsRejected(in PluginsRejected) error {
	if len(in.Rejected) == 0 {
		return errors.New("no plugin was rejected")
	}
	var cause uint64
	if in.Created != nil {
		if d.s.created != nil {
			return errors.New("the task exists already")
		}
		d.task = in.Task
		created := d.emit(in.Created, 0)
		created.Actor = userActor
		cause = created.Seq
	}
	var reasons []string
	for i := range in.Rejected {
		p := &in.Rejected[i]
		d.emit(p, cause)
		name := p.Name
		if name == "" {
			name = "file"
		}
		reasons = append(reasons, "plugin "+name+" "+p.Reason)
	}
	if in.Created != nil {
		d.emit(&event.TaskFailed{Reason: strings.Join(reasons, "; ")}, d.seq)
	}
	return nil
}
