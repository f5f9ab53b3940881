package stats

import "github.com/axishost/axishost/host/internal/event"

// undoEvent takes what is about an operation that is undone. What came of it is what is known last: a failure may be
// tried again.
func (t *Task) undoEvent(e *event.Event) {
	switch p := e.Payload.(type) {
	case *event.CompensationStarted:
		t.count(undoAttempts)
		t.undone[e.Step] = p
	case *event.CompensationSucceeded, *event.CompensationFailed:
		t.undone[e.Step] = p
	case *event.HostOperation:
		if p.State == event.OperationFailed && p.Result == "" && p.Blob == "" {
			t.count(operationsDenied)
		}
	}
}

// closeUndone counts what came of each operation.
func (t *Task) closeUndone() {
	for _, last := range t.undone {
		t.count(undoOperations)
		switch p := last.(type) {
		case *event.CompensationSucceeded:
			t.count(undoSucceeded)
		case *event.CompensationFailed:
			if p.Unknown {
				t.count(undoUnknown)
			} else {
				t.count(undoFailed)
			}
		}
	}
}
