package host

import (
	"context"
	"encoding/json"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
)

// Compensation is what of a task is undone. The order of its fields is the order of its JSON.
type Compensation struct {
	Task string `json:"task"`
	// Calls are undone in this order.
	Calls []UndoneCall `json:"calls"`
	// Kept changed something, and cannot be undone.
	Kept []KeptCall `json:"kept"`
}

// UndoneCall is a call that is undone.
type UndoneCall struct {
	Step           int64  `json:"step"`
	Tool           string `json:"tool"`
	Arguments      string `json:"arguments"`
	OperationID    string `json:"operation_id"`
	CompensationID string `json:"compensation_id"`
	Result         string `json:"result"`
	// Impact is what the call did, in the words of its tool's preview; empty where it has none.
	Impact string `json:"impact"`
}

// KeptCall is a call that is not undone, and why.
type KeptCall struct {
	Step   int64  `json:"step"`
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

// tell says what will be undone.
func (u *undoing) tell(ctx context.Context) *Compensation {
	c := &Compensation{Task: u.created.Compensates.Task, Calls: []UndoneCall{}, Kept: []KeptCall{}}
	for _, op := range u.created.Compensates.Operations {
		c.Calls = append(c.Calls, UndoneCall{
			Step: op.Step, Tool: op.Tool, Arguments: op.Arguments, OperationID: op.OperationID,
			CompensationID: core.CompensationID(c.Task, op.OperationID), Result: op.Result, Impact: u.impact(ctx, &op),
		})
	}
	for _, k := range u.kept {
		c.Kept = append(c.Kept, KeptCall(k))
	}
	return c
}

// impact is what a call did, as its tool describes it; empty where it does not.
func (u *undoing) impact(ctx context.Context, op *event.CompensatedOperation) string {
	p := u.plugins.byTool[op.Tool]
	if p == nil {
		return ""
	}
	if spec := p.Manifest().Tool(op.Tool); spec == nil || !spec.Preview {
		return ""
	}
	out, err := p.Preview(ctx, abi.PreviewInput{Tool: op.Tool, Arguments: json.RawMessage(op.Arguments)})
	if err != nil {
		return ""
	}
	return out.Impact
}
