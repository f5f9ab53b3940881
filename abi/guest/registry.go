package guest

import (
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
	tools map[string]func(Call) Result
}

// plugin is what this module registered. It has to be a package variable, because the exported functions of
// a module have no receiver; it is written only while the module's init functions run.
var plugin = newRegistry()

func newRegistry() *registry {
	return &registry{hooks: map[abi.Hook]handler{}, tools: map[string]func(Call) Result{}}
}

func (r *registry) add(hook abi.Hook, h handler) {
	if _, ok := r.hooks[hook]; ok {
		panic(fmt.Sprintf("guest: hook %s is registered twice", hook))
	}
	r.hooks[hook] = h
}

func (r *registry) addTool(name string, f func(Call) Result) {
	if _, ok := r.tools[name]; ok {
		panic(fmt.Sprintf("guest: tool %q is registered twice", name))
	}
	if len(r.tools) == 0 {
		r.add(abi.HookToolCall, r.callTool)
	}
	r.tools[name] = f
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
