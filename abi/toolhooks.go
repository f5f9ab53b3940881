package abi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// ReconcileInput is the input of tool_reconcile: a call of which it is not known whether it happened.
type ReconcileInput struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	// OperationID is that of the call, over all its attempts.
	OperationID string `json:"operation_id"`
	// Attempt is the last attempt of the call that was made. ReconcileAbsent is said of it and of those before it:
	// after that the host may make the next one.
	Attempt int64 `json:"attempt"`
	// Try counts the questions about this attempt, from 1.
	Try int64 `json:"try"`
}

// ReconcileStatus says what became of a call.
type ReconcileStatus string

// The answers of tool_reconcile.
const (
	// ReconcileFound says that it happened.
	ReconcileFound ReconcileStatus = "found"
	// ReconcileAbsent says that it has not happened and will not happen any more. While a request may still be
	// under way, or waits somewhere, the answer is inconclusive.
	ReconcileAbsent ReconcileStatus = "absent"
	// ReconcileInconclusive says that neither is known.
	ReconcileInconclusive ReconcileStatus = "inconclusive"
)

// ReconcileOutput is the output of tool_reconcile.
type ReconcileOutput struct {
	Status ReconcileStatus `json:"status"`
	// Result is, of a call that was found, what tool_call would have given.
	Result   string          `json:"result,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty"`
	// Reason tells people what the answer rests on, or why there is none.
	Reason string `json:"reason,omitempty"`
	// RetryAfterMillis says, of an inconclusive answer, when asking again may help.
	RetryAfterMillis int64 `json:"retry_after_ms,omitempty"`
}

// CompensateInput is the input of tool_compensate: a call that happened and is to be undone. Its output is a
// ToolOutput.
type CompensateInput struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	// OperationID is that of the call.
	OperationID string `json:"operation_id"`
	// CompensationID is the idempotency key of the undoing, the same over all attempts, and whenever the call is to be
	// undone again.
	CompensationID string `json:"compensation_id"`
	// Result and Evidence are what the call gave, or what tool_reconcile found.
	Result   string          `json:"result"`
	Evidence json.RawMessage `json:"evidence,omitempty"`
	// Leases are the resources that the undoing has to itself, as those of a call.
	Leases []Lease `json:"leases,omitempty"`
}

// PreviewInput is the input of tool_preview: a call that somebody is to approve.
type PreviewInput struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// Reversible says whether a call could be undone.
type Reversible string

// The answers to whether a call could be undone.
const (
	ReversibleYes     Reversible = "yes"
	ReversibleNo      Reversible = "no"
	ReversibleUnknown Reversible = "unknown"
)

// PreviewOutput is the output of tool_preview.
type PreviewOutput struct {
	// Arguments are the same arguments in the one form that the tool reads them in; absent, they are in it.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Impact says in words what the call would change.
	Impact     string     `json:"impact"`
	Reversible Reversible `json:"reversible"`
	// Resources are the names of what the call would touch, beside those of the manifest's templates.
	Resources []string `json:"resources,omitempty"`
}

// CheckStage says when tool_check is asked.
type CheckStage string

// The stages of tool_check.
const (
	CheckBefore CheckStage = "before" // may the call be made
	CheckAfter  CheckStage = "after"  // did it reach what it should
)

// CheckInput is the input of tool_check.
type CheckInput struct {
	Tool      string          `json:"tool"`
	Stage     CheckStage      `json:"stage"`
	Arguments json.RawMessage `json:"arguments"`
	// Result is what the call gave, at the stage after.
	Result string `json:"result,omitempty"`
}

// CheckResult is the output of tool_check.
type CheckResult struct {
	OK bool `json:"ok"`
	// Reason tells the model what is wrong.
	Reason string `json:"reason,omitempty"`
}

func checkReconcile(output []byte) error {
	var r ReconcileOutput
	if err := decodes(output, &r); err != nil {
		return err
	}
	if !slices.Contains([]ReconcileStatus{ReconcileFound, ReconcileAbsent, ReconcileInconclusive}, r.Status) {
		return fmt.Errorf("status %q must be found, absent or inconclusive", clip(string(r.Status)))
	}
	if r.RetryAfterMillis < 0 {
		return fmt.Errorf("retry_after_ms %d must be 0 or more", r.RetryAfterMillis)
	}
	return nil
}

func checkPreview(output []byte) error {
	var p PreviewOutput
	if err := decodes(output, &p); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]Reversible{ReversibleYes, ReversibleNo, ReversibleUnknown}, p.Reversible):
		return fmt.Errorf("reversible %q must be yes, no or unknown", clip(string(p.Reversible)))
	case p.Arguments != nil && !isObject(p.Arguments):
		return errors.New("arguments must be an object")
	case len(p.Resources) > MaxResources:
		return fmt.Errorf("%d resources are over the limit of %d", len(p.Resources), MaxResources)
	}
	for _, name := range p.Resources {
		if name == "" || len(name) > MaxResourceBytes {
			return fmt.Errorf("resource %q must be 1 to %d bytes", clip(name), MaxResourceBytes)
		}
	}
	return nil
}

// checkCheck wants ok to be there: a guest that forgot it would else say no without knowing.
func checkCheck(output []byte) error {
	var c struct {
		OK     *bool  `json:"ok"`
		Reason string `json:"reason"`
	}
	if err := decodes(output, &c); err != nil {
		return err
	}
	if c.OK == nil {
		return errors.New("ok is missing")
	}
	return nil
}
