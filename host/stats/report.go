package stats

import (
	"maps"
	"slices"
)

// Report is what the tasks of a Sum come to. The order of its fields is the order of its JSON. Times are in
// microseconds.
type Report struct {
	Tasks   Tasks   `json:"tasks"`
	PerTask PerTask `json:"per_task"`
	Latency Latency `json:"latency_us"`
	Model   Model   `json:"model"`
	Turns   Turns   `json:"turns"`
	Calls   Calls   `json:"calls"`
	Effects Effects `json:"effects"`
	Undone  Undone  `json:"undone"`
	// Recovery is of tasks that were taken over from a worker that had not come to a halt.
	Recovery Recovery `json:"recovery"`
	Tools    []Tool   `json:"tools"`
	// RejectedPlugins are by class.
	RejectedPlugins Counts `json:"rejected_plugins"`
}

// Tasks are the tasks, by how they ended or where they are.
type Tasks struct {
	All         int64 `json:"all"`
	Succeeded   int64 `json:"succeeded"`
	Verified    int64 `json:"verified"`     // of the succeeded ones
	NotVerified int64 `json:"not_verified"` // the rest of them
	// ProvedBy: an answer that several predicates proved counts for each.
	ProvedBy  Counts `json:"proved_by"`
	Partial   int64  `json:"partial"`
	PartialBy Counts `json:"partial_by"`
	Failed    int64  `json:"failed"`
	Cancelled int64  `json:"cancelled"`
	Stopped   int64  `json:"stopped"`
	Waiting   int64  `json:"waiting"` // for a person
	Running   int64  `json:"running"`
	// The rates are of the tasks that have ended; nil where none has.
	SuccessRate  *float64 `json:"success_rate"`
	VerifiedRate *float64 `json:"verified_rate"`
}

// Ended is how many tasks have.
func (t *Tasks) Ended() int64 { return t.Succeeded + t.Partial + t.Failed + t.Cancelled }

// Spread is how values spread; zeros where N is 0.
type Spread struct {
	N   int64 `json:"n"`
	P50 int64 `json:"p50"`
	P95 int64 `json:"p95"`
}

// PerTask is of the tasks that were begun and have ended, but for those that undo.
type PerTask struct {
	Steps Spread `json:"steps"`
	Turns Spread `json:"turns"`
}

// Latency is how long things took.
type Latency struct {
	Model        Spread `json:"model"`        // calls that were answered
	Tool         Spread `json:"tool"`         // attempts
	Queue        Spread `json:"queue"`        // from a call's authorization to its first attempt
	Reconcile    Spread `json:"reconcile"`    // from not knowing what a call did to knowing
	Verification Spread `json:"verification"` // from a reply to the verdict
	Task         Spread `json:"task"`         // as PerTask; without what lies between a stop and a resume
}

// Model is what was asked of the model.
type Model struct {
	Calls            int64  `json:"calls"`
	Replies          int64  `json:"replies"`
	Retries          int64  `json:"retries"`
	Failed           Counts `json:"failed"` // by class; lost and cancelled ones too
	PromptTokens     int64  `json:"prompt_tokens"`
	CompletionTokens int64  `json:"completion_tokens"`
	Unreported       int64  `json:"unreported"` // replies of which the endpoint did not say what they used
}

// Turns are what conversations were led to.
type Turns struct {
	Rollbacks   Counts `json:"rollbacks"`
	Reprompts   int64  `json:"reprompts"`
	Rejections  int64  `json:"rejections"` // answers that did not hold
	Replans     Counts `json:"replans"`    // what was planned no longer fitted, by reason
	Compactions int64  `json:"compactions"`
	Forced      Counts `json:"forced"` // final turns, by trigger
}

// Calls are the steps of all tools, and of what is no tool.
type Calls struct {
	All      int64  `json:"all"`
	Attempts int64  `json:"attempts"`
	Retries  int64  `json:"retries"`
	Repaired int64  `json:"repaired"`
	Denied   Counts `json:"denied"`
}

// Effects are what was changed outside, and what is known of it.
type Effects struct {
	Writes   int64 `json:"writes"`   // operations that were begun and may change something
	Attempts int64 `json:"attempts"` // of calls, that began any
	Unknown  int64 `json:"unknown"`  // of these: nobody knew whether it happened
	// UnknownRate is nil where nothing was written.
	UnknownRate *float64 `json:"unknown_rate"`
	Found       int64    `json:"found"`
	Absent      int64    `json:"absent"`
	ByPerson    int64    `json:"by_person"` // of found and absent
	Open        int64    `json:"open"`
	Denied      int64    `json:"denied"` // operations of guests
}

// Undone is what came of the tasks that undo what others did. Each operation of which the undoing was begun is undone, is
// not, may be, or is under way.
type Undone struct {
	Tasks      int64 `json:"tasks"`
	Operations int64 `json:"operations"`
	Attempts   int64 `json:"attempts"`
	Succeeded  int64 `json:"succeeded"`
	Failed     int64 `json:"failed"`
	Unknown    int64 `json:"unknown"`
}

// Recovery counts tasks.
type Recovery struct {
	Lost      int64    `json:"lost"`
	Recovered int64    `json:"recovered"` // of these: succeeded or partial in the end
	Rate      *float64 `json:"rate"`      // nil where none was lost
}

// Tool is one tool. Calls are made of attempts; each attempt succeeds, fails, is unknown or is cut off.
type Tool struct {
	Name      string `json:"name"`
	Calls     int64  `json:"calls"`
	Attempts  int64  `json:"attempts"`
	Succeeded int64  `json:"succeeded"`
	Failed    Counts `json:"failed"` // by class; fault: its plugin did
	Unknown   int64  `json:"unknown"`
	Denied    Counts `json:"denied"`
	Latency   Spread `json:"latency_us"`
}

// Sum is the numbers of many tasks. The zero value is of none.
type Sum struct {
	tally
	tasks int64
}

// Add adds a task that was read whole; isRunning tells whether somebody runs it now. The task is used up.
func (s *Sum) Add(t *Task, isRunning bool) {
	s.tasks++
	s.merge(t.close(isRunning))
}

// Report gives what the tasks so far come to.
func (s *Sum) Report() *Report {
	c, spread := &s.counts, func(m measure) Spread { return s.measured[m].spread() }
	r := &Report{
		Tasks:   s.ends(),
		PerTask: PerTask{spread(taskSteps), spread(taskTurns)},
		Latency: Latency{
			Model: spread(modelLatency), Tool: spread(toolLatency), Queue: spread(queueLatency),
			Reconcile: spread(reconcileLatency), Verification: spread(verificationLatency), Task: spread(taskTime),
		},
		Model: Model{
			Calls: c[modelCalls], Replies: c[modelReplies], Retries: c[modelRetries], Failed: s.by(modelFailures),
			PromptTokens: c[promptTokens], CompletionTokens: c[completionTokens], Unreported: c[unreported],
		},
		Turns: Turns{
			Rollbacks: s.by(rollbacks), Replans: s.by(replans), Reprompts: c[reprompts], Rejections: c[rejections],
			Compactions: c[compactions], Forced: s.by(forced),
		},
		Calls: Calls{All: c[steps], Attempts: c[attempts], Retries: c[toolRetries], Repaired: c[repaired], Denied: s.by(denied)},
		Effects: Effects{
			Writes: c[writes], Attempts: c[writing], Unknown: c[unknown], UnknownRate: rate(c[unknown], c[writing]),
			Found: c[found], Absent: c[absent], ByPerson: c[byPerson], Open: c[open], Denied: c[operationsDenied],
		},
		Undone: Undone{
			Tasks: c[undoTasks], Operations: c[undoOperations], Attempts: c[undoAttempts],
			Succeeded: c[undoSucceeded], Failed: c[undoFailed], Unknown: c[undoUnknown],
		},
		Recovery:        Recovery{c[lost], c[recovered], rate(c[recovered], c[lost])},
		Tools:           []Tool{},
		RejectedPlugins: s.by(rejectedPlugins),
	}
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		r.Tools = append(r.Tools, s.tools[name].report(name))
	}
	return r
}

func (s *Sum) ends() Tasks {
	c := &s.counts
	t := Tasks{
		All: s.tasks, Succeeded: c[succeeded], Verified: c[verified], NotVerified: c[succeeded] - c[verified],
		ProvedBy: s.by(provedBy), PartialBy: s.by(partialBy), Failed: c[failed], Cancelled: c[cancelled],
		Stopped: c[stopped], Waiting: c[waiting], Running: c[running],
	}
	t.Partial = t.PartialBy.Sum()
	t.SuccessRate, t.VerifiedRate = rate(t.Succeeded, t.Ended()), rate(t.Verified, t.Ended())
	return t
}

// by gives a copy: a report is not changed by what is added later.
func (s *Sum) by(n name) Counts { return s.named[n].copied() }

func (c Counts) copied() Counts {
	if c == nil {
		return Counts{}
	}
	return maps.Clone(c)
}

func (t *toolTally) report(name string) Tool {
	return Tool{
		Name: name, Calls: t.calls, Attempts: t.attempts, Succeeded: t.succeeded, Failed: t.failed.copied(),
		Unknown: t.unknown, Denied: t.denied.copied(), Latency: t.latency.spread(),
	}
}

// rate gives part of whole; nil where there is no whole.
func rate(part, whole int64) *float64 {
	if whole == 0 {
		return nil
	}
	return new(float64(part) / float64(whole))
}
