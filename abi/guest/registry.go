package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/axishost/axishost/abi"
)

// handler answers one hook: output and CodeDecided, CodeNoDecision, or an error with its negative code.
type handler func(input []byte) (output []byte, code abi.Code, err error)

// registry holds what a plugin registered.
type registry struct {
	hooks map[abi.Hook]handler
	tools map[string]*ToolFunctions
}

// plugin is what this module registered. It has to be a package variable, because the exported functions of
// a module have no receiver; it is written only while the module's init functions run.
var plugin = newRegistry()

func newRegistry() *registry {
	return &registry{hooks: map[abi.Hook]handler{}, tools: map[string]*ToolFunctions{}}
}

func (r *registry) add(hook abi.Hook, h handler) {
	if _, ok := r.hooks[hook]; ok {
		panic(fmt.Sprintf("guest: hook %s is registered twice", hook))
	}
	r.hooks[hook] = h
}

func (r *registry) addTool(name string, run func(Call) Result) *ToolFunctions {
	if _, ok := r.tools[name]; ok {
		panic(fmt.Sprintf("guest: tool %q is registered twice", name))
	}
	t := &ToolFunctions{name: name, owner: r, hooks: map[abi.Hook]handler{}}
	r.tools[name] = t
	return t.add(abi.HookToolCall, toolHook(func(in abi.ToolInput) (Result, error) {
		out := run(Call{Arguments: in.Arguments, OperationID: in.OperationID, Attempt: in.Attempt, Leases: in.Leases})
		return out, needs(out.Status != "", "a result without a status")
	}))
}

// serveTool answers a hook of tools by the function of the tool that it is about.
func (r *registry) serveTool(hook abi.Hook, input []byte) ([]byte, abi.Code, error) {
	var in struct {
		Tool string `json:"tool"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, abi.CodeBadInput, fmt.Errorf("input: %w", err)
	}
	t, ok := r.tools[in.Tool]
	if !ok {
		return nil, abi.CodeUnsupported, fmt.Errorf("tool %q is not registered (registered: %s)", in.Tool, r.toolNames())
	}
	handle, ok := t.hooks[hook]
	if !ok {
		return nil, abi.CodeUnsupported, fmt.Errorf("tool %q registered nothing for hook %s", in.Tool, hook)
	}
	output, code, err := handle(input)
	var bad badOutput
	if errors.As(err, &bad) {
		err = fmt.Errorf("tool %q %w", in.Tool, err)
	}
	return output, code, err
}

// toolNames lists the registered tools in the order of their names.
func (r *registry) toolNames() string {
	return strings.Join(slices.Sorted(maps.Keys(r.tools)), ", ")
}

// serve answers one call of the host: it pulls the input, runs the hook and pushes the output.
//
// It yields first. The collector of stock Go marks in goroutines of its own, and on WebAssembly, which has
// one thread, they only run when the current goroutine gives way. An export that returns straight to the
// host never does, so a collection begun in one call would not finish in any later one and the heap would
// grow to the memory limit. Yielding at the start lets a collection that an earlier call began finish
// before this call allocates. When none is under way the cost is lost in that of crossing the boundary.
func (r *registry) serve(hook abi.Hook, size uint32) abi.Code {
	runtime.Gosched()
	handle, ok := r.hooks[hook]
	if !ok {
		return fail(abi.CodeUnsupported, fmt.Sprintf("this plugin registered nothing for hook %s", hook))
	}
	input := make([]byte, size)
	if n := inputRead(0, input); n != int32(size) {
		return fail(abi.CodeBadInput, fmt.Sprintf("input of %d bytes: input_read answered %d", size, n))
	}
	output, code, err := handle(input)
	if err != nil {
		return fail(code, err.Error())
	}
	if code != abi.CodeDecided {
		return code
	}
	if written := abi.Code(outputWrite(output)); written < 0 {
		return fail(written, fmt.Sprintf("output of %d bytes was not taken: %s", len(output), written))
	}
	return abi.CodeDecided
}

// fail leaves the text for the host and gives the code back, so that a hook ends with it.
func fail(code abi.Code, text string) abi.Code {
	errorSet(int32(code), text)
	return code
}
