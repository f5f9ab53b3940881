package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/hostfn"
	"github.com/axishost/axishost/plugins/internal/wasi"
	"github.com/axishost/axishost/plugins/internal/wasmrt"
)

// Options of Load. The zero value gives the ABI's defaults and no configuration.
type Options struct {
	// CacheDir keeps compiled code between processes. Empty, not writable, another user's, or one that others can write
	// to: in memory only.
	CacheDir string
	// MemoryBytes is the operator's cap on linear memory. 0 leaves it to the manifest.
	MemoryBytes int64
	// OutputBytes is the operator's cap on what a call gives back. 0 leaves it to the manifest.
	OutputBytes int64
	// HookTimeout bounds a hook call and the initialiser. 0 is the ABI's default.
	HookTimeout time.Duration
	// ToolTimeout bounds a tool call, whatever the tool's manifest entry asks for. 0 leaves it to the
	// manifest, and is the ABI's default where that gives no time.
	ToolTimeout time.Duration
	// Config is what config/1 answers: a JSON object. Nil is {}.
	Config json.RawMessage
	// Events hear what happens. Functions may be nil; they may be called by several goroutines.
	Events Events
}

// Events hear what a plugin does besides answering. Text is printable.
type Events struct {
	// Compiling is called before a compilation that the cache did not spare.
	Compiling func(plugin string)
	Log       func(plugin string, level abi.LogLevel, text string)
	Progress  func(plugin string, text string)
}

// Plugin is a loaded plugin. Its methods may be called by several goroutines at once.
type Plugin struct {
	manifest    *abi.Manifest
	digest      string
	opts        Options
	memoryLimit int64 // of one instance, in bytes
	outputLimit int   // of one call, in bytes
	module      *wasmrt.Module
	globals     []string
	granted     map[abi.Operation]hostfn.Operation // of every call
	named       []abi.Operation                    // by the manifest, and granted call by call
	hooks       *pool
	closing     closing
}

// Load compiles a plugin that Inspect accepted. The caller closes the result. A *RefusedError says why a
// plugin is not run.
func Load(ctx context.Context, inspection *Inspection, opts Options) (*Plugin, error) {
	if inspection.refusal != nil {
		return nil, inspection.refusal
	}
	p := newPlugin(inspection, opts)
	if start, limit := inspection.startBytes(), p.memoryLimit; start > limit {
		reason := fmt.Sprintf("starts with %s of memory, over the %s that it is given here", size(start), size(limit))
		return nil, inspection.Refuse(RefusedGrant, reason)
	}
	rewritten, globals := inspection.module.ExportGlobals()
	rewritten = inspection.module.Strip(inspection.module.CapTables(rewritten))
	compile := wasmrt.Options{
		CacheDir:    opts.CacheDir,
		MemoryPages: uint32(p.memoryLimit / abi.PageBytes),
		Functions:   append(hostfn.Functions(), wasi.Functions()...),
	}
	if opts.Events.Compiling != nil {
		compile.Compiling = func() { opts.Events.Compiling(p.manifest.Name) }
	}
	p.globals = globals
	var err error
	p.module, err = wasmrt.Compile(ctx, rewritten, compile)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("plugin %q: %w", p.manifest.Name, context.Cause(ctx))
	case err != nil:
		reason := hostfn.Printable([]byte(oneLine(err).Error()), maxFaultText)
		return nil, inspection.Refuse(RefusedFormat, "is not valid WebAssembly: "+reason)
	}
	p.hooks = newPool(p.instantiate, runtime.GOMAXPROCS(0), inspection.module.Restorable())
	return p, nil
}

func newPlugin(i *Inspection, opts Options) *Plugin {
	p := &Plugin{
		manifest: i.Manifest, digest: i.Digest, opts: opts,
		memoryLimit: max(lowered(i.memoryLimit(), opts.MemoryBytes), abi.PageBytes),
		outputLimit: int(lowered(i.outputLimit(), opts.OutputBytes)),
	}
	if p.opts.HookTimeout <= 0 {
		p.opts.HookTimeout = abi.DefaultHookMillis * time.Millisecond
	}
	p.granted = map[abi.Operation]hostfn.Operation{}
	for _, op := range slices.Concat(i.Manifest.Requires, i.Manifest.Optional) {
		if op == abi.OpConfig {
			p.granted[op] = hostfn.Config(opts.Config)
		} else {
			p.named = append(p.named, op)
		}
	}
	return p
}

// lowered is a limit within the operator's, where there is one.
func lowered(limit, operator int64) int64 {
	if operator > 0 {
		return min(limit, operator)
	}
	return limit
}

// Manifest is the plugin's manifest. It must not be changed.
func (p *Plugin) Manifest() *abi.Manifest { return p.manifest }

// Digest is the SHA-256 of the plugin's file, in hexadecimal.
func (p *Plugin) Digest() string { return p.digest }

// Close releases the plugin. Calls that are under way end with ErrClosed, and it waits for them; so does each that is
// made later.
func (p *Plugin) Close() error {
	if !p.closing.end() {
		return nil
	}
	p.hooks.close()
	return p.module.Close(context.Background())
}
