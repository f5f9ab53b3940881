package event

import "encoding/json"

// TaskCreated begins a task and pins what it needs: with the blobs that the digests name, resume and
// replay need nothing but the task's id. Keys and endpoints are never in it.
type TaskCreated struct {
	Goal string `json:"goal" cbor:"1,keyasint,omitempty"`
	// Model is the name of the model as it was asked for.
	Model  string   `json:"model" cbor:"2,keyasint,omitempty"`
	Recipe *Plugin  `json:"recipe,omitempty" cbor:"3,keyasint,omitempty"`
	Tools  []Plugin `json:"tools,omitempty" cbor:"4,keyasint,omitempty"`
	// Config is the merged configuration.
	Config json.RawMessage `json:"config" cbor:"5,keyasint"`
	Host   string          `json:"host" cbor:"6,keyasint,omitempty"` // version of the host
	ABI    string          `json:"abi" cbor:"7,keyasint,omitempty"`
	// Grants are what each plugin may use besides computing.
	Grants []Grant `json:"grants,omitempty" cbor:"8,keyasint,omitempty"`
	// Policy is the operator's rules for what is allowed, asked and denied; absent: the host's own.
	Policy json.RawMessage `json:"policy,omitempty" cbor:"9,keyasint,omitempty"`
	// Tokenizer names the vocabulary that counted the messages; empty where nothing was counted.
	Tokenizer string `json:"tokenizer,omitempty" cbor:"10,keyasint,omitempty"`
	// Context is the version of the context protocol: tokenizer, template, parser and redaction as one.
	Context int64 `json:"context" cbor:"11,keyasint,omitempty"`
	// Key is the digest of the key that the task was submitted with: SHA-256, in hexadecimal. Empty: without one. Since V2.
	Key string `json:"key,omitempty" cbor:"12,keyasint,omitempty"`
	// Compensates, since V2, makes it a task that undoes what another one did, and does nothing else: it has no recipe
	// and asks no model.
	Compensates *Compensation `json:"compensates,omitempty" cbor:"13,keyasint,omitempty"`
}

// ContextProtocol is the version of the context protocol that new tasks pin.
const ContextProtocol = 1

// Grant is one capability of a plugin, and its limits (hosts, paths, sizes): none: all of it.
type Grant struct {
	Plugin     string   `json:"plugin" cbor:"1,keyasint,omitempty"`
	Capability string   `json:"capability" cbor:"2,keyasint,omitempty"`
	Limits     []string `json:"limits,omitempty" cbor:"3,keyasint,omitempty"`
}

// Plugin pins one plugin.
type Plugin struct {
	Name    string `json:"name" cbor:"1,keyasint,omitempty"`
	Version string `json:"version" cbor:"2,keyasint,omitempty"`
	Digest  string `json:"digest" cbor:"3,keyasint,omitempty"` // SHA-256 of its file, in hexadecimal, and the key of its blob
	// Hooks are those that may be asked; Tools those that the model is offered.
	Hooks []string   `json:"hooks,omitempty" cbor:"4,keyasint,omitempty"`
	Tools []ToolSpec `json:"tools,omitempty" cbor:"5,keyasint,omitempty"`
}

// ToolSpec pins a tool as it was offered.
type ToolSpec struct {
	Name        string          `json:"name" cbor:"1,keyasint,omitempty"`
	Description string          `json:"description,omitempty" cbor:"2,keyasint,omitempty"`
	Schema      json.RawMessage `json:"schema" cbor:"3,keyasint"`
	Effect      string          `json:"effect" cbor:"4,keyasint,omitempty"`
	// The rest is since V2. Reconcile, Compensate, Preview and Check tell which questions the tool answers.
	Reconcile  bool `json:"reconcile,omitempty" cbor:"5,keyasint,omitempty"`
	Compensate bool `json:"compensate,omitempty" cbor:"6,keyasint,omitempty"`
	Preview    bool `json:"preview,omitempty" cbor:"7,keyasint,omitempty"`
	Check      bool `json:"check,omitempty" cbor:"8,keyasint,omitempty"`
	// Precondition is a JSON Schema of the arguments, Output of the result, Success of both.
	Precondition json.RawMessage `json:"precondition,omitempty" cbor:"9,keyasint,omitempty"`
	Output       json.RawMessage `json:"output_schema,omitempty" cbor:"10,keyasint,omitempty"`
	Success      json.RawMessage `json:"success,omitempty" cbor:"11,keyasint,omitempty"`
	// Resources are templates over the arguments: calls that name the same resource do not run together.
	Resources []string `json:"resources,omitempty" cbor:"12,keyasint,omitempty"`
	// Risk is what one call charges to the budget's risk.
	Risk int64 `json:"risk,omitempty" cbor:"13,keyasint,omitempty"`
}

// Claimed says that a worker works on the task from here on. What an earlier one had under way is lost.
type Claimed struct {
	Worker string `json:"worker" cbor:"1,keyasint,omitempty"`
	Fence  uint64 `json:"fence" cbor:"2,keyasint,omitempty"`
}

// GoalVerified says what shows that the answer is right. Verified "none" says that no predicate was there.
type GoalVerified struct {
	Verified string          `json:"verified" cbor:"1,keyasint,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty" cbor:"2,keyasint,omitempty"`
}

// What verified an answer: none, or what was asked, joined by "+": schema, match, equals, recipe.
const (
	VerifiedNone   = "none"
	VerifiedRecipe = "recipe"
)

// GoalRejected says why an answer does not hold.
type GoalRejected struct {
	Reason   string          `json:"reason" cbor:"1,keyasint,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty" cbor:"2,keyasint,omitempty"`
}

// TaskSucceeded ends a task with its answer.
type TaskSucceeded struct {
	Answer   string `json:"answer" cbor:"1,keyasint,omitempty"`
	Verified string `json:"verified" cbor:"2,keyasint,omitempty"`
	// Source is where the answer came from: direct_final, final_output or last_message; or compensation, of a task that
	// undoes.
	Source string `json:"source" cbor:"3,keyasint,omitempty"`
}

// TaskPartial ends a task that has not reached its goal, with what there is.
type TaskPartial struct {
	Reason string `json:"reason" cbor:"1,keyasint,omitempty"`
	Answer string `json:"answer,omitempty" cbor:"2,keyasint,omitempty"`
	// Done and Undone count the steps with and without an observation.
	Done   int64 `json:"done" cbor:"3,keyasint,omitempty"`
	Undone int64 `json:"undone" cbor:"4,keyasint,omitempty"`
	// Resume is the sequence number of the last event that a follow-up can build on.
	Resume uint64 `json:"resume" cbor:"5,keyasint,omitempty"`
}

// TaskFailed ends a task that cannot reach its goal.
type TaskFailed struct {
	Reason string `json:"reason" cbor:"1,keyasint,omitempty"`
}

// since implements versioned.
func (p *TaskCreated) since() Version {
	if p.Key != "" || p.Compensates != nil {
		return V2
	}
	for i := range p.Tools {
		for j := range p.Tools[i].Tools {
			if p.Tools[i].Tools[j].hasV2() {
				return V2
			}
		}
	}
	return V1
}

// hasV2 tells whether any of the fields that V2 added is set.
func (t *ToolSpec) hasV2() bool {
	return t.Reconcile || t.Compensate || t.Preview || t.Check ||
		len(t.Precondition)+len(t.Output)+len(t.Success)+len(t.Resources) > 0 || t.Risk != 0
}

func (*TaskCreated) Type() Type   { return TypeTaskCreated }
func (*Claimed) Type() Type       { return TypeClaimed }
func (*GoalVerified) Type() Type  { return TypeGoalVerified }
func (*GoalRejected) Type() Type  { return TypeGoalRejected }
func (*TaskSucceeded) Type() Type { return TypeTaskSucceeded }
func (*TaskPartial) Type() Type   { return TypeTaskPartial }
func (*TaskFailed) Type() Type    { return TypeTaskFailed }
