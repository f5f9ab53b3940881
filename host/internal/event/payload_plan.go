package event

// PlanProposed says what is to be done for the goal: the recipe's plan, or the calls of one reply.
type PlanProposed struct {
	// Source is recipe or reply.
	Source string     `json:"source" cbor:"1,keyasint,omitempty"`
	Items  []PlanItem `json:"items" cbor:"2,keyasint"`
}

// PlanItem is one thing of a plan. It is done when a step of its has an observation that was verified.
type PlanItem struct {
	// ID is the item's name within its plan.
	ID   string `json:"id" cbor:"1,keyasint,omitempty"`
	Text string `json:"text" cbor:"2,keyasint,omitempty"`
	// CallID is the call of the reply that the item stands for; empty for an item of a recipe.
	CallID string `json:"call_id,omitempty" cbor:"3,keyasint,omitempty"`
	// Needs are the ids of the items that come first.
	Needs []string `json:"needs,omitempty" cbor:"4,keyasint,omitempty"`
}

// ReplanRequested takes the task back to planning: what was planned no longer fits.
type ReplanRequested struct {
	// Reason is conflict, approval_rejected, goal_rejected, schema_changed or plan_failed.
	Reason string `json:"reason" cbor:"1,keyasint,omitempty"`
	// Detail says it in words, for the model.
	Detail string `json:"detail,omitempty" cbor:"2,keyasint,omitempty"`
}

// PolicyDecided says what the operator's rules made of a step. The step is the envelope's.
type PolicyDecided struct {
	// Verdict is allow, ask or deny.
	Verdict string `json:"verdict" cbor:"1,keyasint,omitempty"`
	// Rule is which rule of the pinned policy held; empty where none did and the default holds.
	Rule   string `json:"rule,omitempty" cbor:"2,keyasint,omitempty"`
	Reason string `json:"reason,omitempty" cbor:"3,keyasint,omitempty"`
}

// PluginRejected says that a plugin of the task is not used, and why: what it may import, its signature, its
// configuration, the grants that it asks for.
type PluginRejected struct {
	Name   string `json:"name" cbor:"1,keyasint,omitempty"`
	Digest string `json:"digest" cbor:"2,keyasint,omitempty"` // SHA-256 of its file, in hexadecimal
	// Class is format, version, import, signature, grant or configuration.
	Class  string `json:"class" cbor:"3,keyasint,omitempty"`
	Reason string `json:"reason" cbor:"4,keyasint,omitempty"`
}

func (*PlanProposed) Type() Type    { return TypePlanProposed }
func (*ReplanRequested) Type() Type { return TypeReplanRequested }
func (*PolicyDecided) Type() Type   { return TypePolicyDecided }
func (*PluginRejected) Type() Type  { return TypePluginRejected }
