package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/fetch"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/plugins"
)

// PluginSetError says that plugins do not go together, though each alone may be well.
type PluginSetError struct{ Reason string }

func (e *PluginSetError) Error() string { return e.Reason }

// loaded are the plugins of one task.
type loaded struct {
	recipe *sharedPlugin
	byTool map[string]*sharedPlugin
	all    []*sharedPlugin
	goal   *goal
	// clients send the requests of plugins, to the hosts that each was granted.
	clients map[*sharedPlugin]*fetch.Client
	sharing *sharing
}

func (l *loaded) close() {
	for _, p := range l.all {
		l.sharing.leave(p)
	}
}

// contract is what the calls of a tool keep to; nil where no plugin has it.
func (l *loaded) contract(tool string) *contract {
	if p := l.byTool[tool]; p != nil {
		return p.contracts[tool]
	}
	return nil
}

// wanted is a plugin that a task is to be loaded with.
type wanted struct {
	name, digest string
	recipe       bool
	// inspect gives its module, where it is not loaded already.
	inspect func(ctx context.Context) (*plugins.Inspection, error)
}

// given are the plugins that a caller has.
func given(recipe *plugins.Inspection, tools []*plugins.Inspection) []wanted {
	var all []wanted
	add := func(i *plugins.Inspection) {
		inspect := func(context.Context) (*plugins.Inspection, error) { return i, nil }
		all = append(all, wanted{name: i.Manifest.Name, digest: i.Digest, recipe: i == recipe, inspect: inspect})
	}
	if recipe != nil {
		add(recipe)
	}
	for _, i := range tools {
		add(i)
	}
	return all
}

// pin checks that the plugins go together, and gives what the task pins of them: the recipe, and all that
// offer tools.
func pin(recipe *plugins.Inspection, tools []*plugins.Inspection) (*event.Plugin, []event.Plugin, error) {
	var pinned *event.Plugin
	offering := tools
	if recipe != nil {
		if recipe.Manifest.Kind == abi.KindTools {
			return nil, nil, &PluginSetError{fmt.Sprintf("plugin %q is no recipe (its kind is tools); give it with --tool", recipe.Manifest.Name)}
		}
		p := describe(recipe)
		pinned = &p
		if recipe.Manifest.Kind == abi.KindBoth {
			offering = append([]*plugins.Inspection{recipe}, tools...)
		}
	}
	names, owner := map[string]bool{}, map[string]string{}
	var out []event.Plugin
	for _, t := range offering {
		name := t.Manifest.Name
		if t.Manifest.Kind == abi.KindRecipe {
			return nil, nil, &PluginSetError{fmt.Sprintf("plugin %q has no tools (its kind is recipe); give it with --recipe", name)}
		}
		if names[name] {
			return nil, nil, &PluginSetError{fmt.Sprintf("plugin %q is given twice; leave one out", name)}
		}
		names[name] = true
		for _, spec := range t.Manifest.Tools {
			if other, taken := owner[spec.Name]; taken {
				return nil, nil, &PluginSetError{fmt.Sprintf("tool %q is in plugin %q and in plugin %q; leave one of them out", spec.Name, other, name)}
			}
			owner[spec.Name] = name
		}
		out = append(out, describe(t))
	}
	return pinned, out, nil
}

func describe(i *plugins.Inspection) event.Plugin {
	p := event.Plugin{Name: i.Manifest.Name, Version: i.Manifest.Version, Digest: i.Digest}
	for _, h := range i.Manifest.Hooks {
		p.Hooks = append(p.Hooks, string(h))
	}
	for _, t := range i.Manifest.Tools {
		p.Tools = append(p.Tools, event.ToolSpec{
			Name: t.Name, Description: t.Description, Schema: t.InputSchema, Effect: string(t.Effect),
			Reconcile: t.Reconcile, Compensate: t.Compensate, Preview: t.Preview, Check: t.Check,
			Precondition: t.Precondition, Output: t.OutputSchema, Success: t.Success, Resources: t.Resources, Risk: t.Risk,
		})
	}
	return p
}

// load loads the plugins of a task beside each other: it checks what they are configured with, and compiles what no
// other task of this host has.
func (h *Host) load(ctx context.Context, all []wanted, grants []event.Grant, config *Config) (*loaded, error) {
	goal, err := newGoal(config.Goal)
	if err != nil {
		return nil, err
	}
	taken := make([]*sharedPlugin, len(all))
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for n, w := range all {
		wg.Go(func() { taken[n], errs[n] = h.take(ctx, w, config) })
	}
	wg.Wait()
	l := &loaded{byTool: map[string]*sharedPlugin{}, goal: goal, clients: map[*sharedPlugin]*fetch.Client{}, sharing: h.sharing}
	for n, p := range taken {
		if errs[n] != nil {
			continue
		}
		l.all = append(l.all, p)
		client, err := clientFor(p.Manifest().Name, grants)
		errs = append(errs, err)
		l.clients[p] = client
		if all[n].recipe {
			l.recipe = p
		}
		for _, t := range p.Manifest().Tools {
			l.byTool[t.Name] = p
		}
	}
	if err := errors.Join(errs...); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// take gives one plugin of a task.
func (h *Host) take(ctx context.Context, w wanted, config *Config) (*sharedPlugin, error) {
	object, where := config.Tools[w.name], "tools."+w.name
	if w.recipe {
		object, where = config.Recipe, "recipe"
	}
	opts := h.pluginOptions(object, config)
	key := shareKey{
		digest: w.digest, config: string(opts.Config), memory: opts.MemoryBytes, output: opts.OutputBytes,
		hook: opts.HookTimeout, tool: opts.ToolTimeout,
	}
	return h.sharing.take(ctx, key, func(s *sharedPlugin) error {
		i, err := w.inspect(ctx)
		if err != nil {
			return err
		}
		s.contracts = map[string]*contract{}
		if reasons := compileContracts(i.Manifest, s.contracts); len(reasons) > 0 {
			return i.Refuse(plugins.RefusedFormat, reasons...)
		}
		if err := checkConfig(i, opts.Config, where); err != nil {
			return err
		}
		s.Plugin, err = plugins.Load(ctx, i, opts)
		return err
	})
}

// configuredOnly refuses a configuration for plugins that are not given: a misspelt name would leave the right
// one without. A task pins both, so that only who begins one can be mistaken.
func configuredOnly(config *Config, recipe *plugins.Inspection, tools []*plugins.Inspection) error {
	for _, name := range slices.Sorted(maps.Keys(config.Tools)) {
		switch {
		case slices.ContainsFunc(tools, func(i *plugins.Inspection) bool { return i.Manifest.Name == name }):
		case recipe != nil && recipe.Manifest.Name == name:
			return &PluginSetError{fmt.Sprintf("the configuration has tools.%s, and plugin %q is the recipe; set it under recipe", name, name)}
		default:
			return &PluginSetError{fmt.Sprintf("the configuration has tools.%s, and no plugin of that name is given with --tool", name)}
		}
	}
	if recipe == nil && len(config.Recipe) > 0 {
		return &PluginSetError{"the configuration has recipe, and no plugin is given with --recipe"}
	}
	return nil
}

func (h *Host) pluginOptions(object map[string]any, config *Config) plugins.Options {
	raw := json.RawMessage("{}")
	if object != nil {
		raw, _ = json.Marshal(object) // came from JSON or YAML
	}
	return plugins.Options{
		CacheDir:    h.opts.CacheDir,
		MemoryBytes: config.Limits.PluginMemory,
		OutputBytes: config.Limits.PluginOutput,
		HookTimeout: time.Duration(config.Limits.HookTimeout) * time.Millisecond,
		ToolTimeout: time.Duration(config.Limits.ToolTimeout) * time.Millisecond,
		Config:      raw,
		Events: plugins.Events{
			Compiling: h.opts.Events.Compiling,
			Log:       h.opts.Events.PluginLog,
			Progress:  h.opts.Events.PluginProgress,
		},
	}
}
