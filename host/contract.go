package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contract is what the calls of a tool keep to: schemas that its manifest has, nil where it has none.
type contract struct {
	input        *jsonschema.Schema // of the arguments
	precondition *jsonschema.Schema // of the arguments, for a call to be made
	output       *jsonschema.Schema // of the result, which is JSON then
	success      *jsonschema.Schema // of {"arguments": …, "result": …}
}

// compileContracts adds the contracts of a plugin's tools, and gives what is wrong with schemas that are bad.
func compileContracts(m *abi.Manifest, into map[string]*contract) (reasons []string) {
	var c schemaCompiler
	for i := range m.Tools {
		t := &m.Tools[i]
		var k contract
		for _, part := range []struct {
			field string
			raw   json.RawMessage
			into  **jsonschema.Schema
		}{
			{"input_schema", t.InputSchema, &k.input}, {"precondition", t.Precondition, &k.precondition},
			{"output_schema", t.OutputSchema, &k.output}, {"success", t.Success, &k.success},
		} {
			if part.raw == nil {
				continue
			}
			schema, err := c.compile(part.raw)
			if err != nil {
				reasons = append(reasons, fmt.Sprintf("has a bad %s in tool %q: %s", part.field, t.Name, oneLine(err)))
				continue
			}
			*part.into = schema
		}
		into[t.Name] = &k
	}
	return reasons
}

// judgement is what the contracts of tools say of the calls of a reply, by their place: misfits are arguments that do
// not fit, unmet preconditions that do not hold.
type judgement struct{ misfits, unmet map[int]string }

// judgeCalls holds the arguments that calls would run with against their tools' contracts.
func (r *run) judgeCalls(ctx context.Context, calls []event.ToolCall, answers []event.Answer) judgement {
	j := judgement{map[int]string{}, map[int]string{}}
	for i, c := range calls {
		k := r.plugins.contract(c.Name)
		if k == nil {
			continue
		}
		arguments, _ := core.EffectiveArguments(r.state, c, i, answers)
		if err := validate(ctx, k.input, []byte(arguments)); err != nil {
			j.misfits[i] = err.Error()
			continue
		}
		if reason := r.unmet(ctx, k, c.Name, arguments); reason != "" {
			j.unmet[i] = reason
		}
	}
	return j
}

// unmet says why a call may not be made; empty where it may.
func (r *run) unmet(ctx context.Context, k *contract, tool, arguments string) string {
	if k.precondition != nil {
		if err := validate(ctx, k.precondition, []byte(arguments)); err != nil {
			return err.Error()
		}
	}
	return r.check(ctx, abi.CheckInput{Tool: tool, Stage: abi.CheckBefore, Arguments: json.RawMessage(arguments)})
}

// unexpected says how a result is not what the contract promises; empty where it is.
func (r *run) unexpected(ctx context.Context, tool, arguments, result string) string {
	k := r.plugins.contract(tool)
	if k == nil {
		return ""
	}
	if (k.output != nil || k.success != nil) && !json.Valid([]byte(result)) {
		return "it is not JSON"
	}
	if k.output != nil {
		if err := validate(ctx, k.output, []byte(result)); err != nil {
			return err.Error()
		}
	}
	if k.success != nil {
		both, err := json.Marshal(map[string]json.RawMessage{"arguments": json.RawMessage(arguments), "result": json.RawMessage(result)})
		if err == nil {
			err = validate(ctx, k.success, both)
		}
		if err != nil {
			return err.Error()
		}
	}
	return r.check(ctx, abi.CheckInput{Tool: tool, Stage: abi.CheckAfter, Arguments: json.RawMessage(arguments), Result: result})
}

// check asks the tool itself, where it has something to say; empty where it has not, or agrees. A tool that fails to
// say so does not agree.
func (r *run) check(ctx context.Context, in abi.CheckInput) string {
	p := r.plugins.byTool[in.Tool]
	if p == nil {
		return ""
	}
	if spec := p.Manifest().Tool(in.Tool); spec == nil || !spec.Check {
		return ""
	}
	out, err := p.Check(ctx, in)
	switch {
	case err != nil:
		return "it could not be checked: " + err.Error()
	case out.OK:
		return ""
	case out.Reason == "":
		return "the tool gives no reason"
	}
	return out.Reason
}
