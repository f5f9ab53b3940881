package host

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
	"github.com/fxamacker/cbor/v2"
)

// maxListed bounds what lists have of a task's text, in bytes: it is written again with every commit.
const maxListed = 256

// listed is what the log's index has of a task. CBOR, like the records: lists have many.
type listed struct {
	_       struct{} `cbor:",toarray"`
	Created int64    // microseconds since the Unix epoch
	Recipe  string
	Model   string
	Task    string
}

// listing is the task's entry in lists, as it will be after events: what the log keeps of it, and the label.
func (r *run) listing(events []*event.Event) (index []byte, label string, err error) {
	label = string(core.PhaseAfter(r.state, events))
	if r.index != nil {
		return r.index, label, nil
	}
	created, at := r.state.Created(), r.state.CreatedAt()
	if i := slices.IndexFunc(events, func(e *event.Event) bool { return e.Payload.Type() == event.TypeTaskCreated }); i >= 0 {
		created, at = events[i].Payload.(*event.TaskCreated), events[i].Time
	}
	l := listed{Created: at, Model: created.Model, Task: cut(created.Goal)}
	if created.Recipe != nil {
		l.Recipe = created.Recipe.Name
	}
	r.index, err = cbor.Marshal(l)
	return r.index, label, err
}

// cut keeps the first maxListed bytes of a text, and marks that there was more.
func cut(text string) string {
	if len(text) <= maxListed {
		return text
	}
	end := maxListed - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.ToValidUTF8(text[:end], "") + "…"
}

// decodeSummary reads an entry of a list.
func decodeSummary(h *store.Head, s *Summary) error {
	var l listed
	if err := cbor.Unmarshal(h.Index, &l); err != nil {
		return fmt.Errorf("list entry of task %s: %w", h.Task, err)
	}
	*s = Summary{ID: h.Task, Phase: h.Label, Created: Timestamp(l.Created), Recipe: l.Recipe, Model: l.Model, Task: l.Task}
	return nil
}
