package event

import "encoding/json"

// The envelope of these events names the step, the principal whose rights and credentials the step would use,
// and the digest of the arguments that the event is about. Credentials themselves are never stored.

// PermissionMissing says that a step needs what the task was not granted. It waits.
type PermissionMissing struct {
	// Capability is what is missing, Limit how far the step would need it (a host, a path); empty for all of it.
	Capability string `json:"capability" cbor:"1,keyasint,omitempty"`
	Limit      string `json:"limit,omitempty" cbor:"2,keyasint,omitempty"`
	// Plugin asks for it.
	Plugin string `json:"plugin" cbor:"3,keyasint,omitempty"`
}

// PermissionGranted gives a step what it lacked. It widens the grants of the task by this, for its plugin.
type PermissionGranted struct {
	Plugin     string `json:"plugin" cbor:"1,keyasint,omitempty"`
	Capability string `json:"capability" cbor:"2,keyasint,omitempty"`
	Limit      string `json:"limit,omitempty" cbor:"3,keyasint,omitempty"`
	// Expires is when it ends, in microseconds since the Unix epoch; 0 with the task.
	Expires int64 `json:"expires,omitempty" cbor:"4,keyasint,omitempty"`
}

// ApprovalRequested shows a step to whoever may approve it.
type ApprovalRequested struct {
	Tool string `json:"tool" cbor:"1,keyasint,omitempty"`
	// Arguments are those that the step would run with, normalised by the tool's preview where it has one.
	Arguments string `json:"arguments" cbor:"2,keyasint,omitempty"`
	// Effect is the tool's declared effect; Impact says in words what the call does.
	Effect string `json:"effect" cbor:"3,keyasint,omitempty"`
	Impact string `json:"impact,omitempty" cbor:"4,keyasint,omitempty"`
	// Reversible is yes, no or unknown.
	Reversible string `json:"reversible" cbor:"5,keyasint,omitempty"`
	// Resources are those that the step names, like file:report.txt.
	Resources []string `json:"resources,omitempty" cbor:"6,keyasint,omitempty"`
	// Risk is what the call charges to the budget's risk.
	Risk int64 `json:"risk,omitempty" cbor:"7,keyasint,omitempty"`
	// Rule is which rule of the policy asks; empty for the default.
	Rule string `json:"rule,omitempty" cbor:"8,keyasint,omitempty"`
	// Expires is when the request ends without an answer, in microseconds since the Unix epoch; 0 never.
	Expires int64 `json:"expires,omitempty" cbor:"9,keyasint,omitempty"`
}

// ApprovalGranted lets a step run, and what else Scope covers. Each use is consumed by the ToolStarted that
// names it.
type ApprovalGranted struct {
	Scope ApprovalScope `json:"scope" cbor:"1,keyasint,omitempty"`
	// Expires is when it ends, in microseconds since the Unix epoch; 0 with the task.
	Expires int64 `json:"expires,omitempty" cbor:"2,keyasint,omitempty"`
	// Uses is how many starts it covers, at least 1.
	Uses int64 `json:"uses" cbor:"3,keyasint,omitempty"`
	// Reason is what the approver wrote.
	Reason string `json:"reason,omitempty" cbor:"4,keyasint,omitempty"`
}

// ApprovalScope says what an approval covers, within the task and for the principal of its envelope.
type ApprovalScope struct {
	// Kind is step (this step, with the arguments of the envelope's digest), resource (calls of Tool that name
	// Resource and nothing else), or task (calls of Tool whose arguments Pattern accepts).
	Kind     string `json:"kind" cbor:"1,keyasint,omitempty"`
	Tool     string `json:"tool" cbor:"2,keyasint,omitempty"`
	Resource string `json:"resource,omitempty" cbor:"3,keyasint,omitempty"`
	// Pattern is a JSON Schema of the arguments; absent: any.
	Pattern json.RawMessage `json:"pattern,omitempty" cbor:"4,keyasint,omitempty"`
}

// What an approval can cover.
const (
	ScopeStep     = "step"
	ScopeResource = "resource"
	ScopeTask     = "task"
)

// ApprovalEdited gives the step other arguments. They are checked before they run: by the schema, and by the
// rules that deny. The approval covers these alone.
type ApprovalEdited struct {
	Arguments string `json:"arguments" cbor:"1,keyasint,omitempty"`
	Reason    string `json:"reason,omitempty" cbor:"2,keyasint,omitempty"`
}

// ArgumentsValid says that edited arguments may run; the envelope's digest says which.
type ArgumentsValid struct{}

// ArgumentsInvalid says why edited arguments may not: the step waits for another answer.
type ArgumentsInvalid struct {
	// Reason is schema or policy; Detail says it in words.
	Reason string `json:"reason" cbor:"1,keyasint,omitempty"`
	Detail string `json:"detail" cbor:"2,keyasint,omitempty"`
}

// ApprovalRejected says no. The model reads why, and plans anew.
type ApprovalRejected struct {
	Reason string `json:"reason" cbor:"1,keyasint,omitempty"`
	// Cancel asks that the task end.
	Cancel bool `json:"cancel,omitempty" cbor:"2,keyasint,omitempty"`
}

// ApprovalExpired says that nobody answered in time: the task is blocked.
type ApprovalExpired struct {
	// Expired is when it did, in microseconds since the Unix epoch.
	Expired int64 `json:"expired" cbor:"1,keyasint,omitempty"`
}

func (*PermissionMissing) Type() Type { return TypePermissionMissing }
func (*PermissionGranted) Type() Type { return TypePermissionGranted }
func (*ApprovalRequested) Type() Type { return TypeApprovalRequested }
func (*ApprovalGranted) Type() Type   { return TypeApprovalGranted }
func (*ApprovalEdited) Type() Type    { return TypeApprovalEdited }
func (*ArgumentsValid) Type() Type    { return TypeArgumentsValid }
func (*ArgumentsInvalid) Type() Type  { return TypeArgumentsInvalid }
func (*ApprovalRejected) Type() Type  { return TypeApprovalRejected }
func (*ApprovalExpired) Type() Type   { return TypeApprovalExpired }
