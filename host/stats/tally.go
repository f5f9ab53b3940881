package stats

// Counts are numbers by name: of a reason, a class, a trigger.
type Counts map[string]int64

// Names come from events, and events from guests, models and endpoints too. There are few of each kind; what comes
// after so many others is counted as Other.
const (
	maxNames = 64
	maxTools = 1000
)

// Other stands for the names that there was no room for.
const Other = "(other)"

// add counts n of a name.
func (c *Counts) add(name string, n int64) {
	if *c == nil {
		*c = Counts{}
	}
	if _, known := (*c)[name]; !known && len(*c) >= maxNames {
		name = Other
	}
	(*c)[name] += n
}

func (c *Counts) merge(o Counts) {
	for name, n := range o {
		c.add(name, n)
	}
}

// Sum gives how many there are of all names.
func (c Counts) Sum() (n int64) {
	for _, more := range c {
		n += more
	}
	return n
}

// counter is something that is counted.
type counter int

const (
	succeeded counter = iota
	verified
	failed
	cancelled
	running
	stopped
	waiting
	modelCalls
	modelReplies
	modelRetries
	promptTokens
	completionTokens
	unreported
	reprompts
	rejections
	compactions
	steps
	attempts
	toolRetries
	repaired
	writes
	writing
	unknown
	found
	absent
	byPerson
	open
	operationsDenied
	undoTasks
	undoOperations
	undoAttempts
	undoSucceeded
	undoFailed
	undoUnknown
	lost
	recovered
	counters
)

// name is something that is counted by name.
type name int

const (
	provedBy name = iota
	partialBy
	modelFailures
	rollbacks
	replans
	forced
	denied
	rejectedPlugins
	names
)

// measure is something whose spread is told.
type measure int

const (
	taskSteps measure = iota
	taskTurns
	modelLatency
	toolLatency
	reconcileLatency
	queueLatency
	verificationLatency
	taskTime
	measures
)

// tally is all numbers of one task, or of many.
type tally struct {
	counts   [counters]int64
	named    [names]Counts
	measured [measures]histogram
	tools    map[string]*toolTally
}

// toolTally is the numbers of one tool.
type toolTally struct {
	calls, attempts, succeeded, unknown int64
	failed, denied                      Counts
	latency                             histogram
}

func (t *tally) count(c counter)               { t.counts[c]++ }
func (t *tally) countNamed(n name, key string) { t.named[n].add(key, 1) }
func (t *tally) measure(m measure, v int64)    { t.measured[m].add(v) }

// tool gives the numbers of a tool.
func (t *tally) tool(name string) *toolTally {
	if t.tools == nil {
		t.tools = map[string]*toolTally{}
	}
	if t.tools[name] == nil && len(t.tools) >= maxTools {
		name = Other
	}
	if t.tools[name] == nil {
		t.tools[name] = &toolTally{}
	}
	return t.tools[name]
}

func (t *tally) merge(o *tally) {
	for i, n := range o.counts {
		t.counts[i] += n
	}
	for i, c := range o.named {
		t.named[i].merge(c)
	}
	for i := range o.measured {
		t.measured[i].merge(&o.measured[i])
	}
	for name, tool := range o.tools {
		t.tool(name).merge(tool)
	}
}

func (t *toolTally) merge(o *toolTally) {
	t.calls += o.calls
	t.attempts += o.attempts
	t.succeeded += o.succeeded
	t.unknown += o.unknown
	t.failed.merge(o.failed)
	t.denied.merge(o.denied)
	t.latency.merge(&o.latency)
}
