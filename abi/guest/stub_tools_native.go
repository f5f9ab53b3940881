//go:build !wasip1

package guest

import (
	"encoding/json"
	"fmt"

	"github.com/axishost/axishost/abi"
)

// CallTool calls a tool with its arguments, a JSON object. The error tells of a hook that failed; a tool
// that failed says so in its result.
func (s Stub) CallTool(name, arguments string) (Result, error) {
	return s.callTool(plugin, name, arguments)
}

// Reconcile asks a tool what became of a call.
func (s Stub) Reconcile(in abi.ReconcileInput) (Reconciliation, error) {
	return stubTool[Reconciliation](s, plugin, abi.HookToolReconcile, in.Tool, in)
}

// Compensate lets a tool undo a call.
func (s Stub) Compensate(in abi.CompensateInput) (Result, error) {
	return stubTool[Result](s, plugin, abi.HookToolCompensate, in.Tool, in)
}

// Preview asks a tool to describe a call.
func (s Stub) Preview(in abi.PreviewInput) (abi.PreviewOutput, error) {
	return stubTool[abi.PreviewOutput](s, plugin, abi.HookToolPreview, in.Tool, in)
}

// Check lets a tool check a call.
func (s Stub) Check(in abi.CheckInput) (abi.CheckResult, error) {
	return stubTool[abi.CheckResult](s, plugin, abi.HookToolCheck, in.Tool, in)
}

func (s Stub) callTool(r *registry, name, arguments string) (Result, error) {
	return stubTool[Result](s, r, abi.HookToolCall, name, abi.ToolInput{
		Tool: name, Arguments: json.RawMessage(arguments), OperationID: "operation-1", Attempt: 1,
	})
}

func stubTool[Out any](s Stub, r *registry, hook abi.Hook, name string, in any) (Out, error) {
	var result Out
	input, err := json.Marshal(in)
	if err != nil {
		return result, fmt.Errorf("arguments of %s: %w", name, err)
	}
	out := s.invoke(r, hook, string(input))
	if out.Code != abi.CodeDecided {
		return result, fmt.Errorf("%s: %w: %s", hook, out.Code, out.Error)
	}
	if err := json.Unmarshal([]byte(out.Output), &result); err != nil {
		return result, fmt.Errorf("output of %s: %w", name, err)
	}
	return result, nil
}
