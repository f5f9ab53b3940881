package event

import "encoding/json"

// TaskCreated begins a task and pins what it needs: with the blobs that the digests name, resume and
// replay need nothing but the task's id. Keys and endpoints are never in it.
type TaskCreated struct {
	Goal string `json:"goal"`
	// Model is the name of the model as it was asked for.
	Model  string   `json:"model"`
	Recipe *Plugin  `json:"recipe,omitempty"`
	Tools  []Plugin `json:"tools,omitempty"`
	// Config is the merged configuration.
	Config json.RawMessage `json:"config"`
	Host   string          `json:"host"` // version of the host
	ABI    string          `json:"abi"`
}

// Plugin pins one plugin.
type Plugin struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"` // SHA-256 of its file, in hexadecimal, and the key of its blob
	// Hooks are those that may be asked; Tools those that the model is offered.
	Hooks []string   `json:"hooks,omitempty"`
	Tools []ToolSpec `json:"tools,omitempty"`
}

// ToolSpec pins a tool as it was offered.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	Effect      string          `json:"effect"`
}

// Claimed says that a worker works on the task from here on. What an earlier one had under way is lost.
type Claimed struct {
	Worker string `json:"worker"`
	Fence  uint64 `json:"fence"`
}

// GoalVerified says what shows that the answer is right. Verified "none" says that no predicate was there.
type GoalVerified struct {
	Verified string          `json:"verified"`
	Evidence json.RawMessage `json:"evidence,omitempty"`
}

// What verified an answer.
const (
	VerifiedNone   = "none"
	VerifiedRecipe = "recipe"
)

// GoalRejected says why an answer does not hold.
type GoalRejected struct {
	Reason   string          `json:"reason"`
	Evidence json.RawMessage `json:"evidence,omitempty"`
}

// TaskSucceeded ends a task with its answer.
type TaskSucceeded struct {
	Answer   string `json:"answer"`
	Verified string `json:"verified"`
	// Source is where the answer came from: direct_final, final_output or last_message.
	Source string `json:"source"`
}

// TaskPartial ends a task that has not reached its goal, with what there is.
type TaskPartial struct {
	Reason string `json:"reason"`
	Answer string `json:"answer,omitempty"`
	// Done and Undone count the steps with and without an observation.
	Done   int64 `json:"done"`
	Undone int64 `json:"undone"`
	// Resume is the sequence number of the last event that a follow-up can build on.
	Resume uint64 `json:"resume"`
}

// TaskFailed ends a task that cannot reach its goal.
type TaskFailed struct {
	Reason string `json:"reason"`
}

func (*TaskCreated) Type() Type   { return TypeTaskCreated }
func (*Claimed) Type() Type       { return TypeClaimed }
func (*GoalVerified) Type() Type  { return TypeGoalVerified }
func (*GoalRejected) Type() Type  { return TypeGoalRejected }
func (*TaskSucceeded) Type() Type { return TypeTaskSucceeded }
func (*TaskPartial) Type() Type   { return TypeTaskPartial }
func (*TaskFailed) Type() Type    { return TypeTaskFailed }
