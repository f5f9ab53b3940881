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
	recipe    *plugins.Plugin
	byTool    map[string]*plugins.Plugin
	contracts map[string]*contract // by tool
	all       []*plugins.Plugin
	goal      *goal
	// clients send the requests of plugins, to the hosts that each was granted.
	clients map[*plugins.Plugin]*fetch.Client
}

func (l *loaded) close() {
	for _, p := range l.all {
		_ = p.Close()
	}
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

// load checks what the plugins are configured with, and compiles them, beside each other.
func (h *Host) load(ctx context.Context, recipe *plugins.Inspection, tools []*plugins.Inspection, grants []event.Grant, config *Config) (*loaded, error) {
	inspections := tools
	if recipe != nil {
		inspections = append([]*plugins.Inspection{recipe}, tools...)
	}
	agreed, err := contracts(inspections)
	if err != nil {
		return nil, err
	}
	goal, err := newGoal(config.Goal)
	if err != nil {
		return nil, err
	}
	compiled := make([]*plugins.Plugin, len(inspections))
	errs := make([]error, len(inspections))
	var wg sync.WaitGroup
	for n, i := range inspections {
		object, where := config.Tools[i.Manifest.Name], "tools."+i.Manifest.Name
		if i == recipe {
			object, where = config.Recipe, "recipe"
		}
		opts := h.pluginOptions(object, config)
		if errs[n] = checkConfig(i, opts.Config, where); errs[n] != nil {
			continue
		}
		wg.Go(func() { compiled[n], errs[n] = plugins.Load(ctx, i, opts) })
	}
	wg.Wait()
	l := &loaded{byTool: map[string]*plugins.Plugin{}, contracts: agreed, goal: goal, clients: map[*plugins.Plugin]*fetch.Client{}}
	for n, p := range compiled {
		if p == nil {
			continue
		}
		l.all = append(l.all, p)
		client, err := clientFor(p.Manifest().Name, grants)
		errs = append(errs, err)
		l.clients[p] = client
		if inspections[n] == recipe {
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
